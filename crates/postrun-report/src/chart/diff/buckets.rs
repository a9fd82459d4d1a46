//! The change of each latency by prompt length, with its interval: where the change is, and where it is not.

use super::super::axis::Axis;
use super::super::figure::{Figure, Mark, Panel, Side, Spot};
use super::super::ink::Ink;
use super::super::{Build, Built, Chart};
use super::interval::{self, marks, place, short, words};
use crate::comparison::Comparison;
use crate::diff_sections::verdict_word;
use crate::diff_words::{scope_text, stat_text};
use crate::quantity::ms;
use crate::wording::metric_label;
use postrun_diff::{Delta, DeltaScope, DeltaVerdict, Reason};
use postrun_schema::Doc;

pub(super) static DIFF_BUCKETS: Chart = Chart {
    id: "diff_buckets",
    title: "Change by prompt length",
    shows: &["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"],
    doc: Doc::from_source(include_str!("buckets.rs")),
    build: Build::Diff(build),
};

const METRICS: [&str; 4] = ["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"];
/// Of the whole run these are shown; of a bucket the median.
const OF_ALL: [&str; 3] = ["mean", "p50", "p95"];
const ROW: f64 = 19.0;
/// To the right of the intervals, for the change in words, as a share of the axis.
const ROOM: f64 = 0.68;
/// Where its three columns begin, as shares of that room.
const COLUMNS: [f64; 3] = [0.0, 0.23, 0.69];

fn build(c: &Comparison<'_>) -> Built {
    let of = |metric: &str| -> Vec<&Delta> { c.diff.deltas.iter().filter(|d| shown(d, metric)).collect() };
    let groups: Vec<(&str, Vec<&Delta>)> =
        METRICS.into_iter().map(|m| (m, of(m))).filter(|(_, rows)| !rows.is_empty()).collect();
    if groups.is_empty() {
        return Err("no latency of single requests is recorded on both sides".to_string());
    }
    let all = || groups.iter().flat_map(|(_, rows)| rows.iter().copied());
    let last = groups.len() - 1;
    let mut panels: Vec<Panel> =
        groups.iter().enumerate().map(|(i, (metric, rows))| panel(c, metric, rows, i == last)).collect();
    if let Some(first) = panels.first_mut() {
        first.marks.push(interval::key(all()));
    }
    let axes: Vec<Axis> = panels.iter().map(|p| p.x.clone()).collect();
    let spots = groups.iter().enumerate().zip(&axes).flat_map(|((i, (_, rows)), axis)| spots(i, rows, axis)).collect();
    let described = all().filter(|d| d.scope == DeltaScope::All && d.stat == "p50");
    let described: Vec<String> = described.map(|d| format!("{}.", words(d).replace('\n', ", "))).collect();
    Ok(Figure {
        title: DIFF_BUCKETS.title.to_string(),
        subtitle: "In percent of the base; the median of each bucket of prompt tokens, and more of the whole run"
            .to_string(),
        panels,
        note: interval::note(c),
        spots,
        description: format!("Intervals of the change by prompt length. {}", described.join(" ")),
    })
}

fn shown(d: &Delta, metric: &str) -> bool {
    let stat = match d.scope {
        DeltaScope::All => OF_ALL.contains(&d.stat.as_str()),
        DeltaScope::Bucket { .. } => d.stat == "p50",
    };
    d.metric == metric && stat && d.change_share.is_some_and(|s| s.is_finite())
}

fn name(d: &Delta) -> String {
    match d.scope {
        DeltaScope::All => format!("all, {}", stat_text(&d.stat)),
        bucket => format!("{} tokens, P50", scope_text(bucket)),
    }
}

fn panel(c: &Comparison<'_>, metric: &str, rows: &[&Delta], last: bool) -> Panel {
    let names: Vec<String> = rows.iter().map(|d| name(d)).collect();
    let y = Axis { label: metric_label(metric).to_string(), ..Axis::rows(&names) };
    // Each metric has its own axis: one that is hardly bounded would press the others together.
    let (axis, end) = interval::axis("", rows.iter().copied(), 9.0, ROOM);
    let x = Axis { label: if last { interval::AXIS.to_string() } else { String::new() }, ..axis };
    let margin = place(c.diff.method.margin);
    let mut all = vec![
        Mark::Bars { bars: vec![[-margin, margin, y.from, y.to]], ink: Ink::Shade, alpha: 1.0 },
        Mark::Upright { x: 0.0, ink: Ink::Muted, label: String::new() },
    ];
    for (i, d) in rows.iter().enumerate() {
        let at = (rows.len() - i) as f64 - 0.5;
        all.extend(marks(d, (x.from, end), at, false));
        let change = d.change_share.map(short).unwrap_or_default();
        let texts = [change, format!("{} → {} ms", ms(d.base), ms(d.candidate)), said(d).to_string()];
        for (share, text) in COLUMNS.into_iter().zip(texts) {
            let from = end + (x.to - end) * share;
            all.push(Mark::Words { x: from, y: at, text, ink: interval::ink(d.verdict), side: Side::Right });
        }
    }
    Panel { height: ROW * rows.len() as f64, x, y, marks: all }
}

/// The verdict, and why it is no other where that takes few words.
fn said(d: &Delta) -> &'static str {
    match (d.verdict, d.reason) {
        (DeltaVerdict::Inconclusive, Some(Reason::TooFewRequests)) => "too few",
        (DeltaVerdict::Inconclusive, Some(Reason::RunNoise)) => "run noise",
        (DeltaVerdict::Inconclusive, Some(Reason::Drift)) => "may be drift",
        (DeltaVerdict::Inconclusive, Some(Reason::NotBounded)) => "not bounded",
        (verdict, _) => verdict_word(verdict),
    }
}

fn spots(panel: usize, rows: &[&Delta], axis: &Axis) -> Vec<Spot> {
    let spot = |(i, d): (usize, &&Delta)| {
        let at = (rows.len() - i) as f64;
        let text = format!("{}\n{}\nn {} → {}", name(d), words(d), d.counts[0], d.counts[1]);
        Spot { panel: Some(panel), x: (axis.from, axis.to), y: Some((at - 1.0, at)), text }
    };
    rows.iter().enumerate().map(spot).collect()
}
