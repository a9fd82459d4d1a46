//! Changes with their intervals: an axis on which equal factors take equal room, and the mark of one change.

use super::super::axis::{Axis, Scale, amount};
use super::super::figure::{Mark, Way};
use super::super::ink::Ink;
use crate::comparison::Comparison;
use crate::diff_words::{change_text, interval_text, why_not};
use crate::quantity::percent;
use postrun_diff::{Delta, DeltaVerdict};

/// Ticks in percent, the most wanted first, of an axis on which nothing changes many times over.
const TICKS: [f64; 21] = [
    0.0, 100.0, -50.0, 50.0, -33.0, 25.0, -20.0, 10.0, -10.0, 20.0, 5.0, -5.0, 2.0, -2.0, 1.0, -1.0, 200.0, 400.0,
    -80.0, 900.0, -90.0,
];
/// The same of a longer axis: powers of ten of the ratio, then twice and five times of them.
const FAR_TICKS: [f64; 23] = [
    0.0, 900.0, -90.0, 9900.0, -99.0, 99_900.0, -99.9, 999_900.0, -99.99, -50.0, 100.0, -80.0, 400.0, -95.0, 1900.0,
    -98.0, 4900.0, -99.5, 19_900.0, -99.8, 49_900.0, 199_900.0, 499_900.0,
];
/// What is on the axis.
pub(super) const AXIS: &str = "change in % of the base (logarithmic: equal factors are equally far)";
/// From this length on an axis is long, as a logarithm of a ratio.
const LONG: f64 = 2.5;
/// The axis reaches at least so far on both sides.
const LEAST: f64 = 0.04;
/// Ends of intervals beyond so many times the farthest change are cut off: one that is hardly bounded would press all else
/// together.
const FARTHEST: f64 = 1.6;
/// It is never cut nearer than this.
const NEAREST_CUT: f64 = 0.7;

/// Where a change, a share of the base, lies on the axis.
pub(super) fn place(share: f64) -> f64 {
    share.max(-0.999_999).ln_1p()
}

/// An axis around these changes and around 0, with at most about `most` ticks and `headroom` beyond its largest value, as a
/// share of its length; and where that headroom begins.
pub(super) fn axis<'a>(label: &str, deltas: impl Iterator<Item = &'a Delta>, most: f64, headroom: f64) -> (Axis, f64) {
    let (mut farthest, mut low, mut high) = (0f64, -LEAST, LEAST);
    let mut ends = Vec::new();
    for d in deltas {
        let Some(change) = d.change_share.map(place).filter(|v| v.is_finite()) else { continue };
        farthest = farthest.max(change.abs());
        (low, high) = (low.min(change), high.max(change));
        ends.extend(d.interval_share.into_iter().flatten().map(place));
    }
    let cut = (farthest * FARTHEST).max(NEAREST_CUT);
    for end in ends {
        (low, high) = (low.min(end.max(-cut)), high.max(end.min(cut)));
    }
    let room = (high - low) * 0.04;
    let (from, end) = (low - room, high + room);
    let (ticks, label) = (ticks(from, end, most), label.to_string());
    (Axis { label, scale: Scale::Linear, from, to: end + (high - low) * headroom, ticks, grid: true }, end)
}

fn ticks(from: f64, to: f64, most: f64) -> Vec<(f64, String)> {
    let apart = (to - from) / most;
    let mut chosen: Vec<(f64, f64)> = Vec::new();
    let wanted = if to - from > LONG { FAR_TICKS.as_slice() } else { &TICKS };
    for percent in wanted.iter().copied() {
        let at = place(percent / 100.0);
        if (from..=to).contains(&at) && chosen.iter().all(|(other, _)| (other - at).abs() >= apart) {
            chosen.push((at, percent));
        }
    }
    chosen.sort_by(|a, b| a.0.total_cmp(&b.0));
    chosen.into_iter().map(|(at, percent)| (at, tick_text(percent))).collect()
}

fn tick_text(percent: f64) -> String {
    match percent {
        0.0 => "0".to_string(),
        p if p < 0.0 => format!("−{} %", -p),
        p => format!("+{} %", amount(p)),
    }
}

/// A change in few characters: `+62 %`, `−3.1 %`, `+1120 %`, and `130×` from a hundred times as much on.
pub(super) fn short(share: f64) -> String {
    let p = share * 100.0;
    match p {
        p if p >= 9899.5 => format!("{}×", amount((1.0 + share).round())),
        p if p >= 999.5 => format!("+{} %", amount(p.round())),
        p if p.abs() < 0.05 => "0 %".to_string(),
        // Rounded to −100 % nothing would be left.
        p if p < -99.0 => format!("−{} %", ((-p * 100.0).floor() / 100.0)),
        p if p.abs() < 9.95 => format!("{p:+.1} %").replace('-', "−"),
        p => format!("{p:+.0} %").replace('-', "−"),
    }
}

/// The colour of a verdict.
pub(super) fn ink(v: DeltaVerdict) -> Ink {
    match v {
        DeltaVerdict::Better => Ink::Green,
        DeltaVerdict::Worse => Ink::Vermillion,
        DeltaVerdict::Different => Ink::Purple,
        DeltaVerdict::Same => Ink::Text,
        DeltaVerdict::Inconclusive => Ink::Muted,
    }
}

/// What the colours of these changes mean, only those that are there.
pub(super) fn key<'a>(deltas: impl Iterator<Item = &'a Delta> + Clone) -> Mark {
    let all = [
        (DeltaVerdict::Worse, "worse"),
        (DeltaVerdict::Better, "better"),
        (DeltaVerdict::Different, "different"),
        (DeltaVerdict::Same, "same"),
        (DeltaVerdict::Inconclusive, "inconclusive (hollow)"),
    ];
    let there = all.iter().filter(|(v, _)| deltas.clone().any(|d| d.verdict == *v));
    Mark::Key(there.map(|(v, name)| (ink(*v), (*name).to_string())).collect())
}

/// The marks of one change at `at` of the other axis: a thin line for the interval, a thick one for what of it the runs
/// themselves show, a dot for the change, all between the ends `room`. `upright`: changes rise upwards, else to the right.
pub(super) fn marks(d: &Delta, room: (f64, f64), at: f64, upright: bool) -> Vec<Mark> {
    let Some(change) = d.change_share.map(place) else { return Vec::new() };
    let point = |v: f64| if upright { (at, v) } else { (v, at) };
    let line = |[low, high]: [Option<f64>; 2], width: f64| {
        let (low, high) = (low.map_or(room.0, place), high.map_or(room.1, place));
        let inside = |v: f64| v.max(room.0).min(room.1);
        let points = [inside(low), inside(high)].map(point).map(|(x, y)| (x, Some(y))).to_vec();
        Mark::Line { points, ink: ink(d.verdict), width, dashed: false, label: String::new() }
    };
    let mut out = Vec::new();
    if has_interval(d) {
        out.push(line(d.interval_share, 1.2));
        // Without an allowance both are the same, and the thick one is it.
        out.push(line(d.within_runs_share, 3.2));
        let ends = d.interval_share.map(|end| end.map(place));
        let ways = if upright { [Way::Down, Way::Up] } else { [Way::Left, Way::Right] };
        for ((end, edge), way) in ends.into_iter().zip([room.0, room.1]).zip(ways) {
            let beyond = end.is_none_or(|v| v < room.0 || v > room.1);
            if beyond {
                let (x, y) = point(edge);
                out.push(Mark::Arrow { x, y, way, endless: end.is_none(), ink: ink(d.verdict) });
            }
        }
    }
    let dot = |ink, size| Mark::Dots { points: vec![point(change)], ink, size, alpha: 1.0 };
    out.push(dot(ink(d.verdict), 4.2));
    if d.verdict == DeltaVerdict::Inconclusive {
        out.push(dot(Ink::Surface, 2.4));
    }
    out
}

/// False where nothing is known of how far the change may be off.
pub(super) fn has_interval(d: &Delta) -> bool {
    d.interval != [None; 2] || d.interval_share != [None; 2]
}

/// A change in words, for those who hover.
pub(super) fn words(d: &Delta) -> String {
    let interval = if has_interval(d) { format!("\n95 % interval {}", interval_text(d)) } else { String::new() };
    let reason = why_not(d).map(|text| format!(": {text}")).unwrap_or_default();
    format!("{}{interval}\n{}{reason}", change_text(d), crate::diff_sections::verdict_word(d.verdict))
}

/// How the marks are read.
pub(super) fn note(c: &Comparison<'_>) -> String {
    let m = &c.diff.method;
    if c.diff.same_recording {
        return "Both sides are the same recording.".to_string();
    }
    let lines = match m.run_noise > 0.0 {
        true => format!(
            "Thick line: where the change lies by what the two runs show; thin line: with {} for the noise between runs.",
            percent(m.run_noise)
        ),
        false => "Line: where the change lies, by the noise inside the runs and between the repeats.".to_string(),
    };
    format!(
        "{lines} An arrow: it goes on beyond the edge; a double one: it is not bounded there. A dot without a line: too few requests, or a run that drifts or is too short to bound it. Grey band: within {}, called the same.",
        percent(m.margin)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_apart() {
        let texts = |from: f64, to: f64, most: f64| {
            ticks(place(from), place(to), most).into_iter().map(|(_, t)| t).collect::<Vec<_>>()
        };
        assert_eq!(texts(-0.3, 1.2, 8.0), ["−20 %", "0", "+25 %", "+50 %", "+100 %"]);
        assert_eq!(texts(-0.04, 0.04, 6.0), ["−2 %", "0", "+2 %"]);
        assert_eq!(texts(-0.995, 12.0, 8.0), ["−99 %", "−90 %", "0", "+900 %"]);
        assert_eq!(texts(-0.97, 0.05, 7.0), ["−95 %", "−90 %", "−80 %", "−50 %", "0"]);
        assert_eq!((short(98.0), short(98.995), short(128.85)), ("+9800 %".into(), "100×".into(), "130×".into()));
        assert_eq!((short(-0.996), short(-0.99999)), ("−99.6 %".into(), "−99.99 %".into()));
        assert_eq!(
            (short(0.624), short(-0.031), short(11.2), short(0.0)),
            ("+62 %".into(), "−3.1 %".into(), "+1120 %".into(), "0 %".into())
        );
    }

    #[test]
    fn an_interval_that_goes_on_has_an_arrow() {
        let arrows = |low: Option<f64>, high: Option<f64>| -> Vec<(Way, bool)> {
            let delta = Delta {
                metric: "ttft_ms",
                stat: "p50".to_string(),
                scope: postrun_diff::DeltaScope::All,
                base: 1.0,
                candidate: 1.1,
                change: 0.1,
                change_share: Some(0.1),
                interval: [low, high],
                interval_share: [low, high],
                within_runs_share: [low, high],
                verdict: DeltaVerdict::Inconclusive,
                reason: None,
                counts: [100, 100],
            };
            let marks = marks(&delta, (-0.5, 0.5), 1.0, false);
            let way = |m: Mark| if let Mark::Arrow { way, endless, .. } = m { Some((way, endless)) } else { None };
            marks.into_iter().filter_map(way).collect()
        };
        assert_eq!(arrows(Some(-0.1), Some(0.2)), []);
        assert_eq!(arrows(Some(-0.9), Some(0.2)), [(Way::Left, false)]);
        assert_eq!(arrows(Some(-0.1), None), [(Way::Right, true)]);
        assert_eq!(arrows(None, Some(3.0)), [(Way::Left, true), (Way::Right, false)]);
    }
}
