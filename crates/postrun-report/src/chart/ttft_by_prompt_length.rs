//! TTFT against prompt length: points or a density, medians and P95 of the buckets over it, and the fitted line.

use super::axis::{Axis, Scale};
use super::figure::{Figure, Mark, Panel, Spot};
use super::ink::Ink;
use super::palette::TTFT;
use super::{Build, Built, Chart, lacking, shapes};
use crate::quantity::{ms, number};
use crate::report::Report;
use postrun_analysis::{Density, DensityAxis, RunAnalysis};
use postrun_schema::{Doc, counted};

pub(super) static TTFT_BY_PROMPT_LENGTH: Chart = Chart {
    id: "ttft_by_prompt_length",
    title: "TTFT by prompt length",
    shows: &[
        "ttft_by_prompt_tokens",
        "ttft_per_1k_prompt_tokens",
        "step_in_prompt_tokens",
        "prompt_tokens",
        "ttft_ms",
        "prefill_ms",
    ],
    doc: Doc::from_source(include_str!("ttft_by_prompt_length.rs")),
    build: Build::Run(build),
};

/// Shades of the density, each for twice and more the requests of the one before.
const SHADES: [f64; 6] = [0.13, 0.26, 0.42, 0.58, 0.76, 0.95];
const LINE_POINTS: usize = 40;

fn build(report: &Report) -> Built {
    let a = &report.run;
    let d = shapes(a)?
        .ttft_by_prompt
        .as_ref()
        .ok_or_else(|| lacking(a, "prompt lengths or times to first token are not recorded"))?;
    let x = axis("prompt tokens", &d.x, 1.0);
    let line = fitted(a, d, x.scale);
    // The line may begin below the fastest request.
    let lowest = line.iter().flatten().filter_map(|(_, v)| *v).map(|ms| ms * 1e6).fold(d.y.from, f64::min);
    let y = axis("TTFT, ms", &DensityAxis { from: lowest, ..d.y }, 1e6);
    let mut marks = Vec::new();
    let mut key = Vec::new();
    if d.points.is_empty() {
        marks.extend(density(d));
        key.push((TTFT, "requests, stronger where more".to_string()));
    } else {
        let points = d.points.iter().map(|(x, y)| (*x, y / 1e6)).collect();
        let alpha = if d.points.len() > 100 { 0.45 } else { 0.8 };
        marks.push(Mark::Dots { points, ink: TTFT, size: 2.8, alpha });
        key.push((TTFT, "a request".to_string()));
    }
    let mut spots = Vec::new();
    for (p, width, name) in [(95.0, 1.2, "P95"), (50.0, 2.6, "median")] {
        marks.push(Mark::line_of_width(steps(a, d, p), Ink::Text, width, name));
    }
    spots.extend(bucket_spots(a, &x));
    if let Some(points) = line {
        marks.push(Mark::Line { points, ink: Ink::Text, width: 1.4, dashed: true, label: "fitted".to_string() });
    }
    marks.push(Mark::Key(key));
    let subtitle = counted(d.requests, "answered request");
    let note = match &a.evidence.ttft {
        Some(t) => format!(
            "The dashed line is fitted to {}: {} ms and {} ms for each 1000 prompt tokens. What lies above it waited, was held up, or was computed beside others.",
            if t.queue_recorded { "the server's prefill times" } else { "the requests sent at low load" },
            number(t.base_ms),
            number(t.ms_per_1k_tokens)
        ),
        None => "Too few requests for a fitted line.".to_string(),
    };
    let note = format!("Level lines are the median and P95 of a bucket. {note}");
    let description = format!(
        "TTFT from {} to {} ms, prompts from {} to {} tokens. {note}",
        ms(d.y.from),
        ms(d.y.to),
        d.x.from,
        d.x.to
    );
    let panels = vec![Panel { height: 310.0, x, y, marks }];
    Ok(Figure { title: TTFT_BY_PROMPT_LENGTH.title.to_string(), subtitle, panels, note, spots, description })
}

fn axis(label: &str, d: &DensityAxis, unit: f64) -> Axis {
    let (from, to) = (d.from / unit, d.to / unit);
    let room = (to - from).max(to * 0.02).max(1e-3) * 0.03;
    match d.log {
        true => Axis::log(label, [from, to].into_iter()),
        // Zero is worth seeing where it is near.
        false if from < 0.4 * to => Axis::linear(label, 0.0, to + room),
        false => Axis::linear(label, (from - room).max(0.0), to + room),
    }
}

fn density(d: &Density) -> Vec<Mark> {
    let most = d.cells.iter().map(|c| c.count).max().unwrap_or(1) as f64;
    let shade = |count: u64| {
        let share = (count as f64).ln_1p() / most.ln_1p();
        ((share * SHADES.len() as f64).ceil() as usize).clamp(1, SHADES.len()) - 1
    };
    let mut bars: Vec<Vec<[f64; 4]>> = vec![Vec::new(); SHADES.len()];
    let mut cells = d.cells.iter().peekable();
    while let Some(first) = cells.next() {
        // Neighbours of one shade are one rectangle.
        let (mut end, level) = (first.column + 1, shade(first.count));
        while cells.next_if(|c| c.row == first.row && c.column == end && shade(c.count) == level).is_some() {
            end += 1;
        }
        let y = |row: usize| d.y.edge(row) / 1e6;
        bars[level].push([d.x.edge(first.column), d.x.edge(end), y(first.row), y(first.row + 1)]);
    }
    let mark = |(bars, alpha): (Vec<[f64; 4]>, f64)| Mark::Bars { bars, ink: TTFT, alpha };
    bars.into_iter().zip(SHADES).filter(|(bars, _)| !bars.is_empty()).map(mark).collect()
}

/// A level line over each bucket, as far as it has prompts.
fn steps(a: &RunAnalysis, d: &Density, p: f64) -> Vec<(f64, Option<f64>)> {
    let mut out = Vec::new();
    for b in &a.buckets {
        let (Some(lo), Some(summary)) = (b.lo, b.metrics.iter().find(|m| m.metric == "ttft_ms")) else { continue };
        let carried = super::over_time::carries(summary.summary.count, p);
        let Some(v) = summary.summary.percentile(p).filter(|_| carried).map(|x| x.value / 1e6) else { continue };
        let (from, to) = within((d.x.from, d.x.to), lo, b.hi);
        out.extend([(from, Some(v)), (to, Some(v)), (to, None)]);
    }
    out
}

fn within((from, to): (f64, f64), lo: u32, hi: Option<u32>) -> (f64, f64) {
    (f64::from(lo).max(from), hi.map_or(to, f64::from).min(to))
}

fn bucket_spots(a: &RunAnalysis, x: &Axis) -> Vec<Spot> {
    let spot = |b: &postrun_analysis::BucketResult| {
        let lo = b.lo?;
        let s = &b.metrics.iter().find(|m| m.metric == "ttft_ms")?.summary;
        let at = |p: f64| s.percentile(p).map(|x| ms(x.value)).unwrap_or_default();
        let range = crate::wording::token_range(b.lo, b.hi);
        let text = format!("{range} prompt tokens\nTTFT median {} ms, P95 {} ms (n {})", at(50.0), at(95.0), s.count);
        Some(Spot { panel: Some(0), x: within((x.from, x.to), lo, b.hi), y: None, text })
    };
    a.buckets.iter().filter_map(spot).collect()
}

/// The fitted line over the prompts that there were.
fn fitted(a: &RunAnalysis, d: &Density, scale: Scale) -> Option<Vec<(f64, Option<f64>)>> {
    let t = a.evidence.ttft.as_ref().filter(|t| t.ms_per_1k_tokens > 0.0 && t.base_ms > 0.0)?;
    let at = |k: usize| {
        let share = k as f64 / LINE_POINTS as f64;
        let tokens = match scale {
            Scale::Log => d.x.from * (d.x.to / d.x.from).powf(share),
            _ => d.x.from + (d.x.to - d.x.from) * share,
        };
        (tokens, Some(t.base_ms + t.ms_per_1k_tokens * tokens / 1000.0))
    };
    Some((0..=LINE_POINTS).map(at).collect())
}
