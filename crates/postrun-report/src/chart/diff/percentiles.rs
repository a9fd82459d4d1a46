//! How far each percentile of the latencies moved, with its interval: the shift function of both sides.

use super::super::axis::{Axis, Scale};
use super::super::figure::{Figure, Mark, Panel, Side, Spot};
use super::super::ink::Ink;
use super::super::{Build, Built, Chart};
use super::interval::{self, marks, place, short, words};
use crate::comparison::Comparison;
use crate::diff_words::stat_text;
use crate::quantity::{ms, signed_percent};
use crate::wording::metric_label;
use postrun_diff::{Delta, Shift};
use postrun_schema::Doc;

pub(super) static DIFF_PERCENTILES: Chart = Chart {
    id: "diff_percentiles",
    title: "How far each percentile moved",
    shows: &["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"],
    doc: Doc::from_source(include_str!("percentiles.rs")),
    build: Build::Diff(build),
};

const HEIGHT: f64 = 122.0;
/// Above the marks, for the changes in figures.
const HEADROOM: f64 = 0.22;
/// Where these stand, in pixels below the top.
const FIGURES_AT: f64 = 20.0;

fn build(c: &Comparison<'_>) -> Built {
    let shifts: Vec<&Shift> = c.diff.shifts.iter().filter(|s| s.points.iter().any(drawable)).collect();
    if shifts.is_empty() {
        return Err("no latency of single requests is recorded on both sides".to_string());
    }
    let mut names: Vec<String> = Vec::new();
    // The longest list names all: a shorter one lacks the percentiles that its recording does not show.
    for s in &shifts {
        if s.points.len() > names.len() {
            names = s.points.iter().map(|d| stat_text(&d.stat)).collect();
        }
    }
    let last = shifts.len() - 1;
    let mut panels: Vec<Panel> = shifts.iter().enumerate().map(|(i, s)| panel(c, s, &names, i == last)).collect();
    let all = || shifts.iter().flat_map(|s| &s.points);
    if let Some(first) = panels.first_mut() {
        first.marks.push(interval::key(all()));
    }
    let spots = shifts.iter().enumerate().flat_map(|(i, s)| spots(i, s, &names)).collect();
    Ok(Figure {
        title: DIFF_PERCENTILES.title.to_string(),
        subtitle: format!("Up: {}; flat: all requests alike; rising: the tail grew", interval::AXIS),
        panels,
        note: interval::note(c),
        spots,
        description: shifts.iter().map(|s| in_words(s)).collect::<Vec<_>>().join(" "),
    })
}

fn drawable(d: &Delta) -> bool {
    d.change_share.is_some_and(|s| s.is_finite())
}

fn x_axis(names: &[String], last: bool) -> Axis {
    let ticks = names.iter().enumerate().map(|(i, name)| (i as f64 + 0.5, name.clone())).collect();
    let label = if last { "percentile".to_string() } else { String::new() };
    let to = names.len().max(1) as f64;
    let axis = Axis { label, scale: Scale::Linear, from: 0.0, to, ticks, grid: false };
    if last { axis } else { axis.quiet() }
}

/// The place of a point on the axis of percentiles.
fn at(d: &Delta, names: &[String]) -> Option<f64> {
    let name = stat_text(&d.stat);
    names.iter().position(|n| *n == name).map(|i| i as f64 + 0.5)
}

fn panel(c: &Comparison<'_>, s: &Shift, names: &[String], last: bool) -> Panel {
    let points: Vec<(f64, &Delta)> =
        s.points.iter().filter(|d| drawable(d)).filter_map(|d| Some((at(d, names)?, d))).collect();
    let x = x_axis(names, last);
    let (y, end) = interval::axis(&label(s), points.iter().map(|(_, d)| *d), 6.5, HEADROOM);
    let margin = place(c.diff.method.margin);
    let mut all = vec![
        Mark::Bars { bars: vec![[x.from, x.to, -margin, margin]], ink: Ink::Shade, alpha: 1.0 },
        Mark::Line {
            points: vec![(x.from, Some(0.0)), (x.to, Some(0.0))],
            ink: Ink::Muted,
            width: 0.8,
            dashed: false,
            label: String::new(),
        },
        Mark::Line {
            points: points.iter().map(|(at, d)| (*at, d.change_share.map(place))).collect(),
            ink: Ink::Muted,
            width: 1.0,
            dashed: false,
            label: String::new(),
        },
    ];
    all.extend(points.iter().flat_map(|(at, d)| marks(d, (y.from, end), *at, true)));
    all.extend(points.iter().map(|(at, d)| Mark::Words {
        x: *at,
        y: y.to - (y.to - y.from) * FIGURES_AT / HEIGHT,
        text: d.change_share.map(short).unwrap_or_default(),
        ink: interval::ink(d.verdict),
        side: Side::Above,
    }));
    Panel { height: HEIGHT, x, y, marks: all }
}

/// `TTFT, change in %`, with the median in milliseconds.
fn label(s: &Shift) -> String {
    let median = s.points.iter().find(|d| d.stat == "p50");
    let shown = median.map(|d| format!(" (P50 {} → {} ms)", ms(d.base), ms(d.candidate))).unwrap_or_default();
    format!("{}{shown}", metric_label(s.metric))
}

fn spots(panel: usize, s: &Shift, names: &[String]) -> Vec<Spot> {
    let spot = |d: &Delta| {
        let middle = at(d, names)?;
        let text = format!("{}\n{} → {} ms", words(d), ms(d.base), ms(d.candidate));
        Some(Spot { panel: Some(panel), x: (middle - 0.5, middle + 0.5), y: None, text })
    };
    s.points.iter().filter_map(spot).collect()
}

fn in_words(s: &Shift) -> String {
    let one = |stat: &str| {
        let d = s.points.iter().find(|d| d.stat == stat)?;
        Some(format!("{} {}", stat_text(stat), d.change_share.map(signed_percent)?))
    };
    let parts: Vec<String> = ["p5", "p50", "p95", "p99"].into_iter().filter_map(one).collect();
    format!("{}: {}.", metric_label(s.metric), parts.join(", "))
}
