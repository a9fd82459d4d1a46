//! How latencies are distributed: percentiles against milliseconds, with a tail in which each nine takes the same room.

use super::axis::{Axis, amount};
use super::figure::{Figure, Mark, Panel, Spot};
use super::ink::Ink;
use super::{Build, Built, Chart, lacking, shapes};
use crate::quantity::ms;
use crate::report::Report;
use crate::wording::metric_label;
use postrun_analysis::{GapBin, Shapes};
use postrun_schema::Doc;

pub(super) static LATENCY_CDF: Chart = Chart {
    id: "latency_cdf",
    title: "Latency percentiles",
    shows: &["e2e_ms", "tpot_ms", "itl_per_token_ms", "normalized_latency_ms", "ttft_ms", "itl_ms"],
    doc: Doc::from_source(include_str!("latency_cdf.rs")),
    build: Build::OfRun(build),
};

const SHOWN: [(&str, Ink); 3] = [("ttft_ms", Ink::Blue), ("tpot_ms", Ink::Green), ("e2e_ms", Ink::Orange)];
/// Percentiles named when hovering.
const NAMED: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

struct Curve {
    name: String,
    ink: Ink,
    count: u64,
    /// Percentile and nanoseconds.
    points: Vec<(f64, f64)>,
}

fn build(report: &Report) -> Built {
    let a = &report.run;
    let curves = curves(shapes(a)?);
    if curves.is_empty() {
        return Err(lacking(a, "no latency of single requests is recorded"));
    }
    let most = curves.iter().map(|c| c.count).max().unwrap_or(1) as f64;
    // The last value of n lies at 1 - 1/n, where an axis of nines has a place for it.
    let top = (100.0 * (1.0 - 1.0 / most)).clamp(90.0, 99.9999);
    let drawable = |v: f64| (v / 1e6).max(1e-3);
    let x = Axis::log("ms", curves.iter().flat_map(|c| &c.points).map(|(_, v)| drawable(*v)));
    let y = Axis::tail("Percentile", top);
    let mut marks =
        vec![Mark::Key(curves.iter().map(|c| (c.ink, format!("{} (n {})", c.name, amount(c.count as f64)))).collect())];
    let mut spots = Vec::new();
    for c in &curves {
        let own = 100.0 * (1.0 - 1.0 / c.count.max(2) as f64);
        let end = own.min(top);
        let inside = c.points.iter().filter(|(p, _)| *p < end).map(|(p, v)| (drawable(*v), Some(*p)));
        let last = value_at(&c.points, end).map(|v| (drawable(v), Some(end)));
        marks.push(Mark::line(inside.chain(last).collect(), c.ink, ""));
        for p in NAMED.iter().filter(|p| **p <= own) {
            let Some(v) = value_at(&c.points, *p) else { continue };
            marks.push(Mark::Dots { points: vec![(drawable(v), *p)], ink: c.ink, size: 2.6, alpha: 1.0 });
            let near = (x.to / x.from).powf(0.012);
            spots.push(Spot {
                panel: Some(0),
                x: (drawable(v) / near, drawable(v) * near),
                y: Some((p - (100.0 - p) * 0.2, p + (100.0 - p) * 0.2)),
                text: format!("{} P{p}: {} ms (n {})", c.name, ms(v), c.count),
            });
        }
    }
    Ok(Figure {
        title: LATENCY_CDF.title.to_string(),
        subtitle: format!("How many percent of the values lie below; {} answered requests", amount(a.requests.ok as f64)),
        panels: vec![Panel { height: 300.0, x, y, marks }],
        note: "The scale widens towards 100: from P90 to P99 and from P99 to P99.9 are equally far. A curve ends where one value is left above it. ITL is drawn in bins of 2 %."
            .to_string(),
        spots,
        description: description(&curves),
    })
}

fn curves(shapes: &Shapes) -> Vec<Curve> {
    let of = |(id, ink): &(&str, Ink)| {
        let q = shapes.quantiles.iter().find(|q| q.metric == *id)?;
        Some(Curve { name: metric_label(id).to_string(), ink: *ink, count: q.count, points: q.points.clone() })
    };
    let mut out: Vec<Curve> = SHOWN.iter().filter_map(of).collect();
    let count: u64 = shapes.gaps.iter().map(|b| b.count).sum();
    if count > 0 {
        let points = cumulative(&shapes.gaps, count);
        out.push(Curve { name: "ITL".to_string(), ink: Ink::Purple, count, points });
    }
    out
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

/// The value at a percentile, between the nearest two points.
fn value_at(points: &[(f64, f64)], p: f64) -> Option<f64> {
    let after = points.iter().position(|(at, _)| *at >= p)?;
    let (p1, v1) = points[after];
    let (p0, v0) = if after > 0 { points[after - 1] } else { (p1, v1) };
    Some(if p1 > p0 { v0 + (v1 - v0) * (p - p0) / (p1 - p0) } else { v1 })
}

fn description(curves: &[Curve]) -> String {
    let one = |c: &Curve| {
        let at = |p: f64| value_at(&c.points, p).map(ms).unwrap_or_default();
        format!("{}: median {} ms, P99 {} ms.", c.name, at(50.0), at(99.0))
    };
    format!("Curves of percentiles. {}", curves.iter().map(one).collect::<Vec<_>>().join(" "))
}
