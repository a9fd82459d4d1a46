//! ITL over time, with the long pauses, each in the colour of what it looks like.

use super::axis::amount;
use super::figure::{Figure, Mark, Panel, Spot};
use super::over_time::{percentile_ms, points, ramp_and_drain, said, spots, spread_axis, time_axis, timeline, values};
use super::palette::{ITL, PERCENTILES, of_pause};
use super::{Build, Built, Chart, lacking};
use crate::pause_section::words;
use crate::quantity::{ms, seconds};
use crate::report::Report;
use postrun_analysis::{Stall, StallClass, TimelineWindow};
use postrun_schema::{Doc, counted};

pub(super) static ITL_OVER_TIME: Chart = Chart {
    id: "itl_over_time",
    title: "ITL and long pauses over time",
    shows: &["stalls.*", "itl_ms"],
    doc: Doc::from_source(include_str!("itl_over_time.rs")),
    build: Build::Run(build),
};

/// Pauses drawn, the longest first.
const DRAWN: usize = 500;
/// Pauses with a text of their own.
const NAMED: usize = 60;

fn build(report: &Report) -> Built {
    let a = &report.run;
    let t = timeline(a)?;
    if t.windows.iter().all(|w| w.itl.is_none()) {
        return Err(lacking(a, "times of single chunks are not recorded"));
    }
    let stalls: Vec<(f64, &Stall)> = a.stalls.iter().flat_map(|s| &s.longest).take(DRAWN).filter_map(at).collect();
    let lines = PERCENTILES.map(|(p, _, _)| points(t, |w| percentile_ms(w.itl.as_ref(), p)));
    let lengths: Vec<f64> = stalls.iter().map(|(_, s)| s.length_ns as f64 / 1e6).collect();
    let all: Vec<f64> = values(&lines).chain(lengths).collect();
    let (x, y) = (time_axis(t), spread_axis("Gap, ms", all.iter().copied()));
    let mut marks = ramp_and_drain(a, x.to, false);
    let mut key = Vec::new();
    for class in StallClass::ALL {
        let points: Vec<(f64, f64)> =
            stalls.iter().filter(|(_, s)| s.class == class).map(|(at, s)| (*at, s.length_ns as f64 / 1e6)).collect();
        if !points.is_empty() {
            let count = a.stalls.as_ref().map_or(0, |s| s.count(class));
            key.push((of_pause(class), format!("{} ({})", words(class), amount(count as f64))));
            let alpha = if points.len() > 150 { 0.5 } else { 0.85 };
            marks.push(Mark::Dots { points, ink: of_pause(class), size: 2.6, alpha });
        }
    }
    let labelled = lines.into_iter().zip(PERCENTILES);
    marks.extend(labelled.map(|(line, (_, label, width))| Mark::line_of_width(line, ITL, width, label)));
    marks.push(Mark::Key(key));
    let text = |w: &TimelineWindow| {
        let parts: Vec<String> = PERCENTILES
            .iter()
            .filter_map(|(p, label, _)| said(label, percentile_ms(w.itl.as_ref(), *p), " ms"))
            .collect();
        format!("ITL {} (n {})", parts.join(", "), w.itl.as_ref().map_or(0, |s| s.count))
    };
    let near = (x.to * 0.006, if all.is_empty() { 1.0 } else { 1.06 });
    let mut all_spots = spots(t, text);
    all_spots.extend(stalls.iter().take(NAMED).map(|(at, s)| pause_spot(*at, s, near)));
    let total = a.stalls.as_ref().map_or(0, |s| s.total);
    let drawn = match stalls.len() as u64 {
        n if n < total => format!("; the {n} longest of {}", counted(total, "long pause")),
        0 => String::new(),
        n => format!("; {}", counted(n, "long pause")),
    };
    Ok(Figure {
        title: ITL_OVER_TIME.title.to_string(),
        subtitle: format!("Percentiles of gaps in windows of {}{drawn}", seconds(t.width_s)),
        panels: vec![Panel { height: 260.0, x, y, marks }],
        note: match stalls.is_empty() {
            true => "No stream paused for long.",
            false => {
                "A dot is one pause of one stream, at its start; for how they are told apart: postrun explain stalls."
            }
        }
        .to_string(),
        spots: all_spots,
        description: format!(
            "Lines of P50, P95 and P99 of gaps over time, and {} of streams.",
            counted(total, "long pause")
        ),
    })
}

fn at(s: &Stall) -> Option<(f64, &Stall)> {
    s.at_ns.map(|at| (at as f64 / 1e9, s))
}

fn pause_spot(at: f64, s: &Stall, (wide, high): (f64, f64)) -> Spot {
    let length = s.length_ns as f64 / 1e6;
    let text = format!(
        "request {}: {} ms at {}\n{} ({:.0} % sure): {}",
        s.request,
        ms(s.length_ns as f64),
        seconds(at),
        words(s.class),
        s.confidence * 100.0,
        s.why
    );
    Spot { panel: Some(0), x: (at - wide, at + wide), y: Some((length / high, length * high)), text }
}
