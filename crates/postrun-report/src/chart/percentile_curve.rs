//! Distributions as curves of percentiles, with a tail in which each nine takes the same room.

use super::axis::{Axis, amount};
use super::figure::{Mark, Panel, Spot};
use super::ink::Ink;

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
    let most = curves.iter().map(|c| c.count).max().unwrap_or(1) as f64;
    // The last value of n lies at 1 - 1/n, where an axis of nines has a place for it.
    let top = (100.0 * (1.0 - 1.0 / most)).clamp(90.0, 99.9999);
    let x = Axis::log(unit.axis, curves.iter().flat_map(|c| &c.points).map(|(_, v)| (unit.of)(*v)));
    let y = Axis::tail("Percentile", top);
    let mut marks =
        vec![Mark::Key(curves.iter().map(|c| (c.ink, format!("{} (n {})", c.name, amount(c.count as f64)))).collect())];
    let mut spots = Vec::new();
    for c in curves {
        let own = 100.0 * (1.0 - 1.0 / c.count.max(2) as f64);
        marks.push(Mark::line(drawn_to(c, top, unit.of).1, c.ink, ""));
        for p in NAMED.iter().filter(|p| **p <= own) {
            let Some(v) = value_at(&c.points, *p) else { continue };
            let place = (unit.of)(v);
            marks.push(Mark::Dots { points: vec![(place, *p)], ink: c.ink, size: 2.6, alpha: 1.0 });
            let near = (x.to / x.from).powf(0.012);
            spots.push(Spot {
                panel: Some(0),
                x: (place / near, place * near),
                y: Some((p - (100.0 - p) * 0.2, p + (100.0 - p) * 0.2)),
                text: format!("{} P{p}: {} {} (n {})", c.name, (unit.text)(v), unit.name, c.count),
            });
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
