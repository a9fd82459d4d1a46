//! The latencies of both sides as curves of percentiles over each other, with a tail in which each nine takes the same room.

use super::super::axis::{Axis, amount};
use super::super::figure::{Figure, Mark, Panel, Spot};
use super::super::percentile_curve::{Curve, NAMED, SCALE_NOTE, drawn_to, in_ms, spot, top, value_at};
use super::super::{Build, Built, Chart};
use super::{Drawn, left_out};
use crate::comparison::Comparison;
use crate::quantity::ms;
use crate::wording::metric_label;
use postrun_analysis::{RunAnalysis, Shapes};
use postrun_schema::Doc;

pub(super) static DIFF_DISTRIBUTIONS: Chart = Chart {
    id: "diff_distributions",
    title: "Latency percentiles of both sides",
    shows: &["e2e_ms", "tpot_ms", "ttft_ms", "itl_ms"],
    doc: Doc::from_source(include_str!("distributions.rs")),
    build: Build::Diff(build),
};

const METRICS: [&str; 4] = ["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"];
const HEIGHT: f64 = 150.0;
/// Ticks nearer to each other than this, in pixels, cover each other.
const NARROW: f64 = 14.0;
/// Points nearer to each other than this, as shares of both axes, are one.
const NEAR: f64 = 0.003;

/// A line: of which side, and its curve.
struct Line {
    side: usize,
    curve: Curve,
}

fn build(c: &Comparison<'_>) -> Built {
    let sides = Drawn::both(c);
    let groups: Vec<(&str, Vec<Line>)> = METRICS
        .into_iter()
        .map(|metric| (metric, lines(metric, &sides)))
        .filter(|(_, lines)| (0..sides.len()).all(|side| lines.iter().any(|l| l.side == side)))
        .collect();
    if groups.is_empty() {
        return Err("no latency of single requests is recorded on both sides".to_string());
    }
    let last = groups.len() - 1;
    let (mut panels, mut spots, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (metric, lines)) in groups.iter().enumerate() {
        let (panel, shown) = panel(metric, lines, &sides, i);
        panels.push(Panel {
            x: Axis { label: if i == last { "ms".to_string() } else { String::new() }, ..panel.x },
            ..panel
        });
        spots.extend(shown);
        said.push(in_words(metric, lines, &sides));
    }
    for (i, panel) in panels.iter_mut().enumerate() {
        let name = |s: &Drawn<'_>| if i == 0 { s.key() } else { (s.ink, s.who.to_string()) };
        panel.marks.push(Mark::Key(sides.iter().map(name).collect()));
    }
    let repeats = sides.iter().any(|s| s.side.runs.len() > 1);
    Ok(Figure {
        title: DIFF_DISTRIBUTIONS.title.to_string(),
        subtitle: format!(
            "How many percent of the values lie below; {} and {} answered requests{}",
            amount(c.diff.base.ok as f64),
            amount(c.diff.candidate.ok as f64),
            if repeats { "; a line a run" } else { "" }
        ),
        panels,
        note: format!("{SCALE_NOTE} The candidate's line is the thicker one.{}", left_out(&sides)),
        spots,
        description: said.join(" "),
    })
}

fn lines(metric: &str, sides: &[Drawn<'_>; 2]) -> Vec<Line> {
    let of = |(side, drawn): (usize, &Drawn<'_>)| {
        let lines = drawn.runs().filter_map(|run| curve(metric, run, drawn));
        lines.map(move |curve| Line { side, curve }).collect::<Vec<_>>()
    };
    sides.iter().enumerate().flat_map(of).collect()
}

fn curve(metric: &str, run: &RunAnalysis, drawn: &Drawn<'_>) -> Option<Curve> {
    // By some conventions inter-token latency is no distribution of gaps, or tokens weigh.
    let weighs = run.rows.iter().any(|c| c.metric == metric && c.weights.is_some());
    if weighs || (metric == "itl_ms" && !run.convention.itl_is_gaps()) {
        return None;
    }
    let shapes: &Shapes = run.shapes.as_ref()?;
    let name = &run.manifest.label;
    match metric {
        "itl_ms" => Curve::of_gaps(shapes, name, drawn.ink),
        _ => Curve::of_metric(shapes, metric, name, drawn.ink).filter(|c| c.count > 0),
    }
}

fn panel(metric: &str, lines: &[Line], sides: &[Drawn<'_>; 2], number: usize) -> (Panel, Vec<Spot>) {
    let top = top(lines.iter().map(|l| &l.curve));
    // Of many values the smallest hundredth may be next to nothing: chunks that came together.
    let within = |(p, v): &(f64, f64)| (*p >= 1.0).then(|| in_ms(*v));
    let x = Axis::log("", lines.iter().flat_map(|l| &l.curve.points).filter_map(within));
    let mut y = Axis::tail(&format!("{}, ms", metric_label(metric)), top);
    // Nobody needs to be told where 0 % is, and with many nines there is no room for it.
    if y.place(50.0) * HEIGHT < NARROW {
        y.ticks.retain(|(p, _)| *p > 0.0);
    }
    let (mut marks, mut spots) = (Vec::new(), Vec::new());
    // The candidate's thick lines below the base's thin ones: where both are equal, both are seen.
    for l in lines.iter().rev() {
        let (end, points) = drawn_to(&l.curve, top, in_ms);
        let points = thinned(points, &x, &y);
        let drawn = &sides[l.side];
        marks.push(Mark::Line { points, ink: drawn.ink, width: drawn.width, dashed: false, label: String::new() });
        for p in NAMED.iter().filter(|p| **p <= end) {
            let Some(v) = value_at(&l.curve.points, *p) else { continue };
            let text = format!("{}, {} P{p}: {} ms (n {})", drawn.who, metric_label(metric), ms(v), l.curve.count);
            spots.push(spot(number, &x, (in_ms(v), *p), text));
        }
    }
    (Panel { height: HEIGHT, x, y, marks }, spots)
}

/// Without points that nobody sees apart.
fn thinned(points: Vec<(f64, Option<f64>)>, x: &Axis, y: &Axis) -> Vec<(f64, Option<f64>)> {
    let last = points.len().saturating_sub(1);
    let mut out: Vec<(f64, Option<f64>)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (i, (at, v)) in points.into_iter().enumerate() {
        let here = (x.place(at), v.map_or(0.0, |v| y.place(v)));
        let near = before.is_some_and(|b| (b.0 - here.0).abs() < NEAR && (b.1 - here.1).abs() < NEAR);
        if !near || i == last {
            out.push((at, v));
            before = Some(here);
        }
    }
    out
}

fn in_words(metric: &str, lines: &[Line], sides: &[Drawn<'_>; 2]) -> String {
    let one = |(side, drawn): (usize, &Drawn<'_>)| {
        let curve = &lines.iter().find(|l| l.side == side)?.curve;
        let at = |p: f64| value_at(&curve.points, p).map(ms).unwrap_or_default();
        Some(format!("{} median {} ms, P99 {} ms", drawn.who, at(50.0), at(99.0)))
    };
    let both: Vec<String> = sides.iter().enumerate().filter_map(one).collect();
    format!("{}: {}.", metric_label(metric), both.join("; "))
}
