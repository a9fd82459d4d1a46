//! Many runs at a glance: one row a run.

use crate::quantity::{TimeUnit, count, number, percentile_name};
use crate::section::{Grid, Section};
use crate::sections::{Detail, cell};
use postrun_analysis::RunAnalysis;

/// One row a run. Where a file holds the client's summary only, the client's figure stands in, marked.
pub(crate) fn overview(runs: &[RunAnalysis], detail: Detail) -> Section {
    let columns: [(&str, &str, f64); 4] =
        [("TTFT", "ttft_ms", 50.0), ("TTFT", "ttft_ms", 99.0), ("TPOT", "tpot_ms", 50.0), ("E2E", "e2e_ms", 99.0)];
    let mut grid = Grid::new(&["Run", "load", "ok", "fail", "req/s", "out\ntok/s"]);
    grid.text_columns = vec![0, 1];
    let mut units = Vec::new();
    for (label, id, p) in columns {
        let mut known: Vec<f64> = runs.iter().filter_map(|a| Some(latency_of(a, id, p)?.0)).collect();
        known.sort_by(f64::total_cmp);
        let unit = TimeUnit::fitting(known.get(known.len() / 2).copied().unwrap_or(0.0));
        grid.header.push(format!("{label}\n{} {}", percentile_name(p), unit.name()));
        units.push(unit);
    }
    let mut borrowed = false;
    for a in runs {
        let mut mark = |found: Option<(f64, bool)>, show: &dyn Fn(f64) -> String| {
            borrowed |= found.is_some_and(|(_, theirs)| theirs);
            cell(found.map(|(v, theirs)| format!("{}{}", show(v), if theirs { "†" } else { "" })))
        };
        let rate = |id: &str| a.value(id).map(|v| (v, false)).or_else(|| Some((reported_value(a, id, "value")?, true)));
        let mut row = vec![ellipsis(&a.manifest.label, if detail.wide { 48 } else { 16 }), load_short(a)];
        row.extend([count(a.requests.ok), count(a.requests.failed)]);
        row.extend(["requests_per_s", "output_tokens_per_s"].map(|id| mark(rate(id), &number)));
        for ((_, id, p), unit) in columns.iter().zip(&units) {
            row.push(mark(latency_of(a, id, *p), &|ns| number(unit.of(ns))));
        }
        grid.push(row);
    }
    let mut section = Section::new(format!("{} runs", runs.len()));
    section.table = Some(grid);
    if borrowed {
        section.notes.push("† as the client reported it: the file holds no records to compute it from.".to_string());
    }
    section
}

/// A percentile in nanoseconds, and whether it is only the client's word.
fn latency_of(a: &RunAnalysis, id: &str, p: f64) -> Option<(f64, bool)> {
    let ours = a.metric(id).and_then(|s| s.percentile(p)).map(|x| (x.value, false));
    ours.or_else(|| reported_value(a, id, &format!("p{p}")).filter(|_| a.requests.ok > 0).map(|ms| (ms * 1e6, true)))
}

fn reported_value(a: &RunAnalysis, metric: &str, stat: &str) -> Option<f64> {
    a.reported.iter().find(|f| f.metric == metric && f.stat == stat).and_then(|f| f.reported)
}

/// `text` with its middle left out where it is longer than `most` characters.
fn ellipsis(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_string();
    }
    let (head, tail) = (most / 2, most - most / 2 - 1);
    let (start, end): (String, String) = (chars[..head].iter().collect(), chars[chars.len() - tail..].iter().collect());
    format!("{start}…{end}")
}

fn load_short(a: &RunAnalysis) -> String {
    let load = &a.manifest.load;
    let mut parts = Vec::new();
    match load.request_rate {
        Some(rate) => parts.push(format!("{rate}/s")),
        None if load.unbounded => parts.push("∞".to_string()),
        None => {}
    }
    if let Some(c) = load.max_concurrency {
        parts.push(format!("≤{c}"));
    }
    if parts.is_empty() { "-".to_string() } else { parts.join(" ") }
}
