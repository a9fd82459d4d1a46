//! What a person reads, section by section, for terminal and Markdown alike.

use crate::quantity::{TimeUnit, bytes, chosen_time, count, number, percent, percentile_name, plain, seconds, time};
use crate::section::{Grid, Section};
use crate::spark::spark;
use postrun_analysis::{METRICS, MetricSummary, Percentile, RunAnalysis, RunValue, Summary};
use postrun_schema::{Severity, Unit};
use std::collections::BTreeMap;

const SPARK_WIDTH: usize = 48;

/// How much a report shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    /// Room for std, min and the outer percentiles.
    pub wide: bool,
}

/// All sections of one run.
pub(crate) fn of_run(a: &RunAnalysis, detail: Detail) -> Vec<Section> {
    let mut out = vec![headline(a)];
    if !a.metrics.is_empty() {
        out.push(latency("Latency", &a.metrics, a, detail));
    }
    out.extend(throughput(a));
    out.extend(steady_latency(a, detail));
    out.extend(goodput(a));
    out.extend(buckets(a, detail));
    out.extend(timeline(a));
    out.extend(reported(a));
    out.extend(data_quality(a));
    out.extend(unavailable(a));
    out
}

pub(crate) fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_string())
}

fn headline(a: &RunAnalysis) -> Section {
    let m = &a.manifest;
    let mut s = Section::new(m.label.clone());
    let mut what = vec![m.tool.name.clone()];
    what.extend(m.model.clone());
    what.extend(m.load.backend.as_ref().map(|b| format!("backend {b}")));
    s.lines.push(what.join(", "));
    let r = a.requests;
    let mut requests = format!("{} requests: {} ok, {} failed", count(r.total), count(r.ok), count(r.failed));
    if r.failed > 0 {
        requests.push_str(&format!(" ({})", percent(a.value("failure_rate").unwrap_or(0.0))));
    }
    if r.incomplete > 0 {
        requests.push_str(&format!(", {} incomplete", count(r.incomplete)));
    }
    if r.not_measured > 0 {
        requests.push_str(&format!("; {} more were warm-up, cool-down or probes", count(r.not_measured)));
    }
    s.lines.push(requests);
    s.lines.push(load_line(a));
    if let Some(w) = a.window {
        let (from, to) = (w.start_ns as f64 / 1e9, w.end_ns as f64 / 1e9);
        s.lines.push(format!("only the window from {} to {} of the run", seconds(from), seconds(to)));
    }
    let file = |f: &postrun_schema::SourceFile| format!("{} ({}, {})", f.name, bytes(f.bytes), f.format);
    s.lines.push(format!("from {}", m.sources.iter().map(file).collect::<Vec<_>>().join(", ")));
    s
}

fn load_line(a: &RunAnalysis) -> String {
    let load = &a.manifest.load;
    let mut parts = Vec::new();
    parts.push(match (load.request_rate, load.unbounded) {
        (Some(rate), _) => format!("{rate} requests/s"),
        (None, true) => "unbounded request rate".to_string(),
        (None, false) => "request rate not recorded".to_string(),
    });
    if let Some(c) = load.max_concurrency {
        parts.push(format!("at most {c} in flight"));
    }
    if let Some(s) = a.facts.duration_s {
        let how = match (a.window.is_some(), a.duration_is_clients) {
            (true, _) => "length of the window",
            (_, Some(true)) => "as the client measured it",
            _ => "first send to last token",
        };
        parts.push(format!("{} ({how})", seconds(s)));
    }
    if let (Some(prompt), Some(output)) = (a.facts.prompt_tokens, a.facts.output_tokens)
        && a.requests.ok > 0
        && !a.metrics.is_empty()
    {
        let mean = |total: f64| number(total / a.requests.ok as f64);
        parts.push(format!("mean {} prompt and {} output tokens", mean(prompt as f64), mean(output)));
    }
    format!("load: {}", parts.join(", "))
}

fn metric_label(id: &str) -> &'static str {
    METRICS.iter().find(|m| m.id == id).map_or("", |m| m.label)
}

/// Distributions, a row each, with the 95 % intervals of the percentiles below.
fn latency(title: &str, metrics: &[MetricSummary], a: &RunAnalysis, detail: Detail) -> Section {
    let shown: Vec<f64> =
        a.percentiles.iter().copied().filter(|p| detail.wide || *p < 99.9 || a.percentiles.len() < 5).collect();
    let mut header = vec!["".to_string(), "unit".to_string(), "n".to_string(), "mean".to_string()];
    if detail.wide {
        header.extend(["std", "min"].map(String::from));
    }
    header.extend(shown.iter().map(|p| percentile_name(*p)));
    header.push("max".to_string());
    let mut grid = Grid { header, rows: Vec::new(), text_columns: vec![0, 1] };
    let mut few = false;
    for m in metrics {
        let s = &m.summary;
        let unit = TimeUnit::fitting(s.percentile(50.0).map_or(s.mean, |p| p.value));
        let value = |ns: f64| number(unit.of(ns));
        let mut row = vec![metric_label(m.metric).to_string(), unit.name().to_string(), count(s.count), value(s.mean)];
        let mut interval = vec![
            if detail.wide { "  95 % interval" } else { "  95 %" }.to_string(),
            String::new(),
            String::new(),
            String::new(),
        ];
        if detail.wide {
            row.extend([value(s.std), value(s.min)]);
            interval.extend([String::new(), String::new()]);
        }
        for p in &shown {
            let found = s.percentile(*p);
            few |= found.is_some_and(|x| x.few_samples);
            row.push(cell(found.map(|x| format!("{}{}", value(x.value), few_mark(x)))));
            interval.push(found.map(|x| interval_text(x, &value)).unwrap_or_default());
        }
        row.push(value(s.max));
        interval.push(String::new());
        grid.push(row);
        if detail.wide {
            grid.push(interval);
        }
    }
    let mut section = Section::new(title);
    section.table = Some(grid);
    if few {
        section.notes.push(
            "* fewer than 5 values are expected beyond this percentile: it rests on single requests.".to_string(),
        );
    }
    if a.requests.failed > 0 {
        let rate = percent(a.value("failure_rate").unwrap_or(0.0));
        section.notes.push(format!("Failed requests ({rate}) are in no latency."));
    }
    section
}

fn interval_text(p: &Percentile, value: &impl Fn(f64) -> String) -> String {
    match (p.low, p.high) {
        (Some(low), Some(high)) => format!("{}–{}", value(low), value(high)),
        (Some(low), None) => format!("≥{}", value(low)),
        (None, Some(high)) => format!("≤{}", value(high)),
        (None, None) => String::new(),
    }
}

fn throughput(a: &RunAnalysis) -> Option<Section> {
    let rows: Vec<_> = METRICS.iter().filter(|m| !["failure_rate", "goodput_requests_per_s"].contains(&m.id)).collect();
    let steady = a.steady.as_ref().ok();
    let mut grid = Grid::new(&["", "unit", if a.window.is_some() { "window" } else { "whole run" }]);
    grid.text_columns = vec![0, 1];
    if steady.is_some() {
        grid.header.push("steady state".to_string());
    }
    for metric in rows {
        let Some(whole) = a.value(metric.id) else { continue };
        let mut row = vec![metric.label.to_string(), unit_text(metric.unit).to_string(), figure(metric.unit, whole)];
        if let Some(steady) = steady {
            let value = steady.values.iter().find(|v: &&RunValue| v.metric == metric.id);
            row.push(cell(value.map(|v| figure(metric.unit, v.value))));
        }
        grid.push(row);
    }
    if grid.rows.is_empty() {
        return None;
    }
    let mut section = Section::new("Throughput and load");
    section.table = Some(grid);
    section.notes.push(match &a.steady {
        Ok(s) => format!(
            "Steady state: {} to {} after the first send, about {} in flight; ramp-up {} and drain tail {} of the run.",
            seconds(s.window.start_ns as f64 / 1e9),
            seconds(s.window.end_ns as f64 / 1e9),
            s.level,
            percent(s.ramp_share),
            percent(s.drain_share)
        ),
        Err(why) => format!("Steady state not found: {why}."),
    });
    Some(section)
}

/// Counts without decimals, rates with them.
fn figure(unit: Unit, value: f64) -> String {
    if matches!(unit, Unit::Requests | Unit::Tokens) { plain(value) } else { number(value) }
}

fn unit_text(unit: Unit) -> &'static str {
    match unit {
        Unit::TokensPerSecond => "tok/s",
        Unit::RequestsPerSecond => "req/s",
        Unit::ChunksPerSecond => "chunks/s",
        Unit::Requests => "requests",
        Unit::Tokens => "tokens",
        _ => "",
    }
}

/// Shown only where ramp and drain are a notable part of the run: else it repeats the whole.
fn steady_latency(a: &RunAnalysis, detail: Detail) -> Option<Section> {
    let steady = a.steady.as_ref().ok()?;
    let notable = steady.ramp_share + steady.drain_share > 0.1 && !steady.metrics.is_empty() && a.window.is_none();
    notable.then(|| latency("Latency in the steady state", &steady.metrics, a, detail))
}

fn goodput(a: &RunAnalysis) -> Option<Section> {
    let good = a.facts.good?;
    let mut section = Section::new("Goodput");
    let objective =
        |o: &postrun_analysis::Objective| format!("{} ≤ {}", metric_label(o.metric), chosen_time(o.at_most_ns));
    let all: Vec<String> = a.objectives.iter().map(objective).collect();
    let share = if a.requests.total > 0 { good as f64 / a.requests.total as f64 } else { 0.0 };
    let rate = cell(a.value("goodput_requests_per_s").map(number));
    section.lines.push(format!(
        "{rate} req/s: {} of {} requests ({}) met {}",
        count(good),
        count(a.requests.total),
        percent(share),
        all.join(" and ")
    ));
    Some(section)
}

fn buckets(a: &RunAnalysis, detail: Detail) -> Option<Section> {
    if a.buckets.is_empty() {
        return None;
    }
    let columns = [
        ("ttft_ms", 50.0, true),
        ("ttft_ms", 95.0, true),
        ("tpot_ms", 50.0, true),
        ("tpot_ms", 95.0, false),
        ("itl_ms", 95.0, true),
        ("e2e_ms", 50.0, false),
        ("e2e_ms", 95.0, true),
    ];
    let shown = |(id, _, narrow): &(&str, f64, bool)| a.metric(id).is_some() && (*narrow || detail.wide);
    let columns: Vec<(&str, f64)> = columns.into_iter().filter(shown).map(|(id, p, _)| (id, p)).collect();
    let short = |id: &str| if id == "itl_ms" { "ITL" } else { metric_label(id) };
    let units: BTreeMap<&str, TimeUnit> = columns
        .iter()
        .filter_map(|(id, _)| Some((*id, TimeUnit::fitting(a.metric(id)?.percentile(50.0)?.value))))
        .collect();
    let mut grid = Grid::new(&["Prompt tokens", "n", "failed"]);
    for (id, p) in &columns {
        let unit = units.get(id).map_or("", |u| u.name());
        grid.header.push(format!("{} {}\n{unit}", short(id), percentile_name(*p)));
    }
    for b in &a.buckets {
        let mut row = vec![range(b.lo, b.hi), count(b.requests), count(b.failed)];
        for (id, p) in &columns {
            let summary: Option<&Summary> = b.metrics.iter().find(|m| m.metric == *id).map(|m| &m.summary);
            let found = summary.and_then(|s| s.percentile(*p)).zip(units.get(id));
            row.push(cell(found.map(|(x, u)| format!("{}{}", number(u.of(x.value)), few_mark(x)))));
        }
        grid.push(row);
    }
    let mut section = Section::new("By prompt length");
    section.table = Some(grid);
    Some(section)
}

/// Marks a percentile that rests on single requests.
fn few_mark(p: &Percentile) -> &'static str {
    if p.few_samples { "*" } else { "" }
}

fn range(lo: Option<u32>, hi: Option<u32>) -> String {
    match (lo, hi) {
        (Some(0), None) => "all".to_string(),
        (Some(lo), Some(hi)) => format!("{lo}–{}", hi.saturating_sub(1)),
        (Some(lo), None) => format!("≥ {lo}"),
        (None, _) => "not recorded".to_string(),
    }
}

fn timeline(a: &RunAnalysis) -> Option<Section> {
    let t = a.timeline.as_ref().filter(|t| t.windows.len() > 2)?;
    type Get = fn(&postrun_analysis::TimelineWindow) -> Option<f64>;
    let curves: [(&str, Get, bool); 5] = [
        ("In flight", |w| Some(w.mean_concurrency), false),
        ("Requests ended/s", |w| Some(w.ended as f64), false),
        ("Output tokens/s", |w| w.output_tokens_per_s, false),
        ("TTFT P95", |w| w.ttft.as_ref()?.stat("p95"), true),
        ("ITL P95 (chunk gap)", |w| w.itl.as_ref()?.stat("p95"), true),
    ];
    let mut grid = Grid::new(&["", "over the run", "median", "highest"]);
    grid.text_columns = vec![0, 1];
    for (name, get, is_time) in curves {
        let scale = if name == "Requests ended/s" { 1.0 / t.width_s } else { 1.0 };
        let values: Vec<Option<f64>> = t.windows.iter().map(|w| get(w).map(|v| v * scale)).collect();
        let mut known: Vec<f64> = values.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        let (Some(middle), Some(top)) = (known.get(known.len() / 2), known.last()) else { continue };
        let text = |v: f64| if is_time { time(v) } else { number(v) };
        grid.push(vec![name.to_string(), spark(&values, SPARK_WIDTH), text(*middle), text(*top)]);
    }
    let mut section = Section::new(format!("Over time, in windows of {}", seconds(t.width_s)));
    section.table = Some(grid);
    Some(section)
}

fn reported(a: &RunAnalysis) -> Option<Section> {
    if a.reported.is_empty() {
        return None;
    }
    let mut section = Section::new("What the client reported");
    let compared = a.reported.iter().filter(|f| f.agrees.is_some()).count();
    let agree = a.reported.iter().filter(|f| f.agrees == Some(true)).count();
    section.lines.push(match compared {
        0 => format!("{} figures; none can be recomputed from this file:", a.reported.len()),
        _ => format!(
            "{agree} of {compared} figures that can be recomputed agree to 1e-6; {} cannot be recomputed.",
            a.reported.len() - compared
        ),
    });
    let mut grid = Grid::new(&["Client's name", "reported", "recomputed", "unit"]);
    grid.text_columns = vec![0, 3];
    let differing = a.reported.iter().filter(|f| f.agrees == Some(false) || compared == 0);
    let mut whys: Vec<String> = Vec::new();
    for f in differing {
        let value = |v: Option<f64>| cell(v.map(plain));
        grid.push(vec![f.key.clone(), value(f.reported), value(f.computed), f.unit.clone()]);
        whys.extend(f.why.clone().filter(|w| !whys.contains(w)));
    }
    if !grid.rows.is_empty() {
        section.table = Some(grid);
    }
    section.notes.extend(whys.into_iter().map(|w| format!("Why: {w}.")));
    Some(section)
}

fn data_quality(a: &RunAnalysis) -> Option<Section> {
    if a.manifest.issues.is_empty() {
        return None;
    }
    let mut section = Section::new("Data quality");
    for issue in &a.manifest.issues {
        let severity = match issue.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        section.lines.push(format!(
            "{severity}: {} ({}×; {}: {})",
            issue.code.meaning(),
            count(issue.count),
            issue.at,
            issue.example
        ));
    }
    Some(section)
}

fn unavailable(a: &RunAnalysis) -> Option<Section> {
    if a.unavailable.is_empty() {
        return None;
    }
    // One line a kind of recording that would help.
    let mut by_need: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for u in &a.unavailable {
        if !by_need.iter().any(|(needed, _, _)| *needed == u.needed) {
            by_need.push((u.needed, Vec::new(), Vec::new()));
        }
        let Some((_, ids, reasons)) = by_need.iter_mut().find(|(needed, _, _)| *needed == u.needed) else { continue };
        ids.push(u.metric);
        if !reasons.contains(&u.missing.as_str()) {
            reasons.push(&u.missing);
        }
    }
    let mut section = Section::new("Not available");
    for (needed, ids, reasons) in by_need {
        section.lines.push(format!("{}: {}. Needed: {needed}.", ids.join(", "), reasons.join("; ")));
    }
    Some(section)
}
