//! Distributions as curves of percentiles, with a tail in which each nine takes the same room.

use super::axis::{Axis, amount};
use super::figure::{Mark, Panel, Spot};
use super::ink::Ink;
use postrun_analysis::{GapBin, Shapes};

/// Percentiles named when hovering.
pub(super) const NAMED: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// How to read the scale.
pub(super) const SCALE_NOTE: &str = "The scale widens towards 100: from P90 to P99 and from P99 to P99.9 are equally far. A curve ends where one value is left above it.";

/// One distribution.
pub(super) struct Curve {
    pub name: String,
    pub ink: Ink,
    pub count: u64,
    /// Percentile and value.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// Of a latency or a length of the requests, by its metric; `None` where no request has it.
    pub(super) fn of_metric(shapes: &Shapes, metric: &str, name: &str, ink: Ink) -> Option<Curve> {
        let q = shapes.quantiles.iter().find(|q| q.metric == metric)?;
        Some(Curve { name: name.to_string(), ink, count: q.count, points: q.points.clone() })
    }

    /// Of the gaps between chunks; `None` without gaps.
    pub(super) fn of_gaps(shapes: &Shapes, name: &str, ink: Ink) -> Option<Curve> {
        let count: u64 = shapes.gaps.iter().map(|b| b.count).sum();
        (count > 0).then(|| Curve { name: name.to_string(), ink, count, points: cumulative(&shapes.gaps, count) })
    }
}

/// Shares below the upper ends of bins; of those so close that nobody sees them apart, one.
fn cumulative(bins: &[GapBin], count: u64) -> Vec<(f64, f64)> {
    let mut below = 0;
    let mut out: Vec<(f64, f64)> = bins.first().map(|b| (0.0, GapBin::start_ns(b.place))).into_iter().collect();
    for bin in bins {
        below += bin.count;
        out.push((100.0 * below as f64 / count as f64, GapBin::start_ns(bin.place + 1)));
    }
    out
}

/// Where a latency is drawn: in milliseconds, above 0, the axis being logarithmic.
pub(super) fn in_ms(ns: f64) -> f64 {
    (ns / 1e6).max(1e-3)
}

/// The highest percentile of an axis for these curves: the last value of n lies at 1 - 1/n, where an axis of nines has a place
/// for it.
pub(super) fn top<'a>(curves: impl Iterator<Item = &'a Curve>) -> f64 {
    let most = curves.map(|c| c.count).max().unwrap_or(1) as f64;
    (100.0 * (1.0 - 1.0 / most)).clamp(90.0, 99.9999)
}

/// What hovering over the percentile `p`, drawn at `place`, shows.
pub(super) fn spot(panel: usize, x: &Axis, (place, p): (f64, f64), text: String) -> Spot {
    let near = (x.to / x.from).powf(0.012);
    let beyond = (100.0 - p) * 0.2;
    Spot { panel: Some(panel), x: (place / near, place * near), y: Some((p - beyond, p + beyond)), text }
}

/// What the values are.
pub(super) struct CurveUnit {
    pub axis: &'static str,
    pub name: &'static str,
    /// Where a value is drawn: above 0, the axis being logarithmic.
    pub of: fn(f64) -> f64,
    pub text: fn(f64) -> String,
}

/// The curves against each other, and what hovering shows.
pub(super) fn panel(curves: &[Curve], unit: &CurveUnit) -> (Panel, Vec<Spot>) {
    let top = top(curves.iter());
    let x = Axis::log(unit.axis, curves.iter().flat_map(|c| &c.points).map(|(_, v)| (unit.of)(*v)));
    let y = Axis::tail("Percentile", top);
    let mut marks =
        vec![Mark::Key(curves.iter().map(|c| (c.ink, format!("{} (n {})", c.name, amount(c.count as f64)))).collect())];
    let mut spots = Vec::new();
    for c in curves {
        let (end, points) = drawn_to(c, top, unit.of);
        marks.push(Mark::line(points, c.ink, ""));
        for p in NAMED.iter().filter(|p| **p <= end) {
            let Some(v) = value_at(&c.points, *p) else { continue };
            let place = (unit.of)(v);
            marks.push(Mark::Dots { points: vec![(place, *p)], ink: c.ink, size: 2.6, alpha: 1.0 });
            let text = format!("{} P{p}: {} {} (n {})", c.name, (unit.text)(v), unit.name, c.count);
            spots.push(spot(0, &x, (place, *p), text));
        }
    }
    (Panel { height: 300.0, x, y, marks }, spots)
}

/// The points of a curve up to where one value is left above it, at most up to `top`, with that end; `of` gives the place of a
/// value.
pub(super) fn drawn_to(c: &Curve, top: f64, of: fn(f64) -> f64) -> (f64, Vec<(f64, Option<f64>)>) {
    let end = (100.0 * (1.0 - 1.0 / c.count.max(2) as f64)).min(top);
    let inside = c.points.iter().filter(|(p, _)| *p < end).map(|(p, v)| (of(*v), Some(*p)));
    let last = value_at(&c.points, end).map(|v| (of(v), Some(end)));
    (end, inside.chain(last).collect())
}

/// Median and P99 of each curve.
pub(super) fn in_words(curves: &[Curve], unit: &CurveUnit) -> String {
    let one = |c: &Curve| {
        let at = |p: f64| value_at(&c.points, p).map(unit.text).unwrap_or_default();
        format!("{}: median {} {u}, P99 {} {u}.", c.name, at(50.0), at(99.0), u = unit.name)
    };
    curves.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The value at a percentile, between the nearest two points.
pub(super) fn value_at(points: &[(f64, f64)], p: f64) -> Option<f64> {
    let after = points.iter().position(|(at, _)| *at >= p)?;
    let (p1, v1) = points[after];
    let (p0, v0) = if after > 0 { points[after - 1] } else { (p1, v1) };
    Some(if p1 > p0 { v0 + (v1 - v0) * (p - p0) / (p1 - p0) } else { v1 })
}
