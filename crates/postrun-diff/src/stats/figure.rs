//! One figure of one run: its value, and what every stretch of the run adds to it.
//!
//! Every figure here is a ratio of sums over requests: a mean is (sum of values) / (their number), a percentile is held by
//! the share of values at or below it, a rate is an amount over a time. So a resampled run need not be computed anew: its
//! figure deviates by the sum of what its stretches add.

use super::curve::Curve;

/// How a change of a figure is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As a ratio: the difference of logarithms.
    Ratio,
    /// As a difference: for shares, and for what can be 0.
    Difference,
}

impl Scale {
    pub(crate) fn of(self, value: f64) -> f64 {
        match self {
            Scale::Ratio if value > 0.0 => value.ln(),
            Scale::Ratio => f64::NEG_INFINITY,
            Scale::Difference => value,
        }
    }
}

/// A figure of one run.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// In its unit.
    pub value: f64,
    /// How many values it rests on.
    pub count: f64,
    /// What each stretch adds: to a mean or rate in its unit, to a percentile as a share of values.
    pub adds: Vec<f64>,
    /// For a percentile: which, and the distribution around it.
    pub percentile: Option<(f64, Curve)>,
}

/// Sums of two columns by stretch.
pub(crate) struct Sums {
    pub over: Vec<f64>,
    pub under: Vec<f64>,
}

impl Sums {
    pub(crate) fn new(stretches: usize) -> Sums {
        Sums { over: vec![0.0; stretches], under: vec![0.0; stretches] }
    }

    pub(crate) fn add(&mut self, stretch: usize, over: f64, under: f64) {
        if let (Some(o), Some(u)) = (self.over.get_mut(stretch), self.under.get_mut(stretch)) {
            *o += over;
            *u += under;
        }
    }

    fn under_all(&self) -> f64 {
        self.under.iter().sum()
    }

    /// What each stretch adds to the ratio, around the ratio of all.
    fn adds(&self, ratio: f64) -> Vec<f64> {
        let all = self.under_all();
        self.over.iter().zip(&self.under).map(|(o, u)| (o - ratio * u) / all).collect()
    }

    /// The ratio of both sums; `None` where there is nothing below the line.
    pub(crate) fn ratio(&self, count: f64) -> Option<Figure> {
        let all = self.under_all();
        let value = self.over.iter().sum::<f64>() / all;
        (all > 0.0 && value.is_finite()).then(|| Figure { value, count, adds: self.adds(value), percentile: None })
    }

    /// The percentile `q` (0 to 1) with value `value`, where `over` counts the values at or below it.
    pub(crate) fn percentile(&self, q: f64, value: f64, curve: Curve) -> Option<Figure> {
        let all = self.under_all();
        // Ties may put more than `q` at or below: what a stretch adds is taken around what there is.
        let held = self.over.iter().sum::<f64>() / all;
        (all > 0.0 && value.is_finite()).then(|| Figure {
            value,
            count: all,
            adds: self.adds(held),
            percentile: Some((q, curve)),
        })
    }
}

impl Figure {
    /// What one unit of `adds` is on the scale of comparison.
    pub(crate) fn slope(&self, scale: Scale) -> f64 {
        match &self.percentile {
            None if scale == Scale::Ratio => 1.0 / self.value,
            None => 1.0,
            Some((q, curve)) => {
                // Over the width in which the percentile may well lie: a single gap between values is no slope.
                let half = 2.0 * (q * (1.0 - q) / self.count.max(1.0)).sqrt() + 1.0 / self.count.max(1.0);
                let (low, high) = ((q - half).max(0.0), (q + half).min(1.0));
                let rise = scale.of(curve.at(high)) - scale.of(curve.at(low));
                if rise.is_finite() { -rise / (high - low) } else { 0.0 }
            }
        }
    }

    /// How far below and above its value it may lie on the scale of comparison, where `adds` may be off by `by`; infinite
    /// where the sample does not reach that far.
    pub(crate) fn reach(&self, scale: Scale, by: f64) -> (f64, f64) {
        match &self.percentile {
            None => {
                let d = (self.slope(scale) * by).abs();
                (d, d)
            }
            Some((q, curve)) => {
                let here = scale.of(self.value);
                let end =
                    |q: f64, inside: bool| if inside { (scale.of(curve.at(q)) - here).abs() } else { f64::INFINITY };
                (end(q - by, q - by >= 0.0), end(q + by, q + by <= 1.0))
            }
        }
    }
}
