//! Axes: where a value lies between two ends, and which values are written beside it.

use crate::quantity::plain;
use postrun_schema::grouped;

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
    /// Percentiles: each nine takes the same room.
    Tail,
}

/// An axis with its ticks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// Name and unit.
    pub label: String,
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
    pub ticks: Vec<(f64, String)>,
    /// Lines through the plot at the ticks.
    pub grid: bool,
}

/// Steps between ticks, of a power of ten.
const STEPS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

impl Axis {
    /// From 0 or the smallest value to a little beyond the largest.
    pub(crate) fn linear(label: &str, from: f64, to: f64) -> Axis {
        let to = if to > from { to } else { from + 1.0 };
        let every = |step: f64| {
            let first = (from / step).ceil();
            let ticks = (0..20).map(|k| (first + f64::from(k)) * step).take_while(|v| *v <= to + step * 1e-9);
            ticks.map(|v| (v, amount(v))).collect::<Vec<_>>()
        };
        let mut ticks = every(nice_step((to - from) / 4.5));
        if ticks.len() < 2 {
            // One says nothing of the scale.
            ticks = every(nice_step((to - from) / 9.0));
        }
        // So far from zero that a step is too small to change the value.
        ticks.dedup_by(|a, b| a.0 == b.0);
        Axis { label: label.to_string(), scale: Scale::Linear, from, to, ticks, grid: true }
    }

    /// From 0 to above the largest of `values`.
    pub(crate) fn from_zero(label: &str, values: impl Iterator<Item = f64>) -> Axis {
        let top = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        Axis::linear(label, 0.0, if top > 0.0 { top * 1.06 } else { 1.0 })
    }

    /// Around all `values`, which are above 0.
    pub(crate) fn log(label: &str, values: impl Iterator<Item = f64> + Clone) -> Axis {
        let known = values.filter(|v| v.is_finite() && *v > 0.0);
        let low = known.clone().fold(f64::INFINITY, f64::min);
        let high = known.fold(0.0, f64::max);
        let (low, high) = if low.is_finite() { (low, high) } else { (1.0, 10.0) };
        // Ends lie outside of the values, at least a factor of two apart.
        let wide = (high / low).max(2.0) / (high / low);
        let (from, to) = (low / wide.sqrt() / 1.08, high * wide.sqrt() * 1.08);
        Axis { label: label.to_string(), scale: Scale::Log, from, to, ticks: log_ticks(from, to), grid: true }
    }

    /// Seconds of a run.
    pub(crate) fn seconds(label: &str, to: f64) -> Axis {
        let (unit, scale) = if to > 7200.0 { ("min", 60.0) } else { ("s", 1.0) };
        let mut axis = Axis::linear(&format!("{label}, {unit}"), 0.0, to / scale);
        axis.ticks.iter_mut().for_each(|(v, _)| *v *= scale);
        (axis.from, axis.to, axis.grid) = (0.0, to.max(1e-9), false);
        axis
    }

    /// Percentiles up to `most`, below 100.
    pub(crate) fn tail(label: &str, most: f64) -> Axis {
        let known = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
        let ticks = known.into_iter().filter(|p| *p <= most).map(|p| (p, format!("P{p}"))).collect();
        Axis { label: label.to_string(), scale: Scale::Tail, from: 0.0, to: most, ticks, grid: true }
    }

    /// Rows from top to bottom, each one unit high.
    pub(crate) fn rows(names: &[String]) -> Axis {
        let n = names.len();
        let ticks = names.iter().enumerate().map(|(i, name)| ((n - i) as f64 - 0.5, name.clone())).collect();
        Axis { label: String::new(), scale: Scale::Linear, from: 0.0, to: n.max(1) as f64, ticks, grid: false }
    }

    /// The same without words at its ticks: another panel below has them.
    pub(crate) fn quiet(mut self) -> Axis {
        self.label.clear();
        self.ticks.iter_mut().for_each(|(_, text)| text.clear());
        self
    }

    /// Where a value lies: 0 at the start, 1 at the end; what is beyond is moved to the end.
    pub(crate) fn place(&self, v: f64) -> f64 {
        let at = |v: f64| match self.scale {
            Scale::Linear => v,
            Scale::Log => v.max(f64::MIN_POSITIVE).ln(),
            Scale::Tail => -(1.0 - v.min(self.to) / 100.0).max(1e-9).log10(),
        };
        let (from, to) = (at(self.from), at(self.to));
        let share = if to > from { (at(v) - from) / (to - from) } else { 0.5 };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

fn nice_step(rough: f64) -> f64 {
    let scale = 10f64.powf(rough.max(f64::MIN_POSITIVE).log10().floor());
    STEPS.iter().map(|s| s * scale).find(|s| *s >= rough).unwrap_or(10.0 * scale)
}

/// Powers of ten, with 2 and 5 between them where there is room.
fn log_ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    let decades = (to / from).log10();
    let between: &[f64] = if decades <= 2.2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (decades / 7.0).ceil().max(1.0) as i32;
    let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let powers = (first..=last).filter(|k| k.rem_euclid(every) == 0);
    let values = powers.flat_map(|k| between.iter().map(move |b| b * 10f64.powi(k)));
    let mut ticks: Vec<f64> = values.filter(|v| (from..=to).contains(v)).collect();
    if ticks.len() < 2 || ticks.len() < 3 && decades < 1.0 {
        // Within less than a decade: even steps say more.
        let even: Vec<f64> =
            Axis::linear("", from, to).ticks.into_iter().map(|(v, _)| v).filter(|v| *v > 0.0).collect();
        ticks = if even.len() > ticks.len() { even } else { ticks };
    }
    ticks.into_iter().map(|v| (v, amount(v))).collect()
}

/// A number beside an axis: thousands apart, no needless digits.
pub(crate) fn amount(v: f64) -> String {
    let rounded = (v * 1e9).round() / 1e9;
    if rounded.abs() >= 1e9 {
        return plain(rounded);
    }
    if rounded.fract() != 0.0 {
        return rounded.to_string();
    }
    let sign = if rounded < 0.0 { "−" } else { "" };
    format!("{sign}{}", grouped(rounded.abs() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, t)| t.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts(&Axis::linear("", 0.0, 93.0)), ["0", "50"]);
        assert_eq!(texts(&Axis::linear("", 101.0, 194.0)), ["120", "140", "160", "180"]);
        assert_eq!(texts(&Axis::linear("", 0.0, 0.4)), ["0", "0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(texts(&Axis::log("", [3.0, 40.0].into_iter())), ["5", "10", "20"]);
        assert_eq!(texts(&Axis::log("", [0.5, 1e6].into_iter())).len(), 7);
        assert_eq!(amount(12_500.0), "12\u{202f}500");
    }

    #[test]
    fn places_are_inside() {
        let tail = Axis::tail("", 99.9);
        assert_eq!((tail.place(0.0), tail.place(100.0)), (0.0, 1.0));
        assert!((tail.place(90.0) - 1.0 / 3.0).abs() < 1e-9 && (tail.place(99.0) - 2.0 / 3.0).abs() < 1e-9);
        let log = Axis::log("", [1.0, 1.0].into_iter());
        assert!(log.place(1.0) > 0.4 && log.place(1.0) < 0.6);
        for v in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0] {
            assert!((0.0..=1.0).contains(&log.place(v)) && (0.0..=1.0).contains(&tail.place(v)), "{v}");
        }
        assert!(Axis::linear("", f64::MAX, f64::MAX).ticks.len() <= 20);
    }
}
