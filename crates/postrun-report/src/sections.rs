//! What a person reads of one run, section by section, for terminal and Markdown alike.

use crate::client_section;
use crate::diagnosis_section;
use crate::distributions::{self, Columns, Distribution};
use crate::headline::headline;
use crate::pause_section;
use crate::quantity::{chosen_time, ms, number, percent, percentile_name, plain, seconds};
use crate::report::{Parts, Report};
use crate::section::{Grid, Section};
use crate::server_section;
use crate::spark::spark;
use crate::wording::{cell, few_mark, metric_label, token_range, unit_name};
use crate::workload_section;
use postrun_analysis::{METRICS, Metric, MetricSummary, RunAnalysis, RunValue, Summary, TimelineWindow};
use postrun_schema::{Issue, IssueCode, Severity, Table, counted, grouped};

/// Room that a timeline needs beside its curves.
const BESIDE_CURVE: usize = 50;

/// The sections of one run, for text of `width` columns.
pub(crate) fn of_run(report: &Report, parts: Parts, width: usize) -> Vec<Section> {
    let (a, diagnosis) = (&report.run, &report.diagnosis);
    let mut out = vec![headline(a)];
    if a.window.is_none() {
        out.push(diagnosis_section::verdict(report));
    }
    out.extend(diagnosis_section::findings(diagnosis, parts));
    if parts == Parts::Diagnosis {
        out.extend(diagnosis_section::rest(diagnosis));
        return out;
    }
    out.extend(figures(report, width).into_iter().map(|(_, section)| section));
    out
}

/// Every figure, each section with a stable id.
pub(crate) fn figures(report: &Report, width: usize) -> Vec<(&'static str, Section)> {
    let a = &report.run;
    let whole = a.has_latencies().then(|| latency("Latency in ms", &a.metrics, a));
    let sections = [
        ("latency", whole),
        ("reported", client_section::latency(a)),
        ("throughput", throughput(a)),
        ("server", server_section::of_run(a)),
        ("pauses", pause_section::of_run(a)),
        ("steady", steady_latency(a)),
        ("goodput", goodput(a)),
        ("workload", workload_section::of_run(a)),
        ("buckets", buckets(a)),
        ("timeline", timeline(a, width)),
        ("parity", client_section::parity(a)),
        ("quality", data_quality(a)),
        ("unavailable", unavailable(a)),
    ];
    sections.into_iter().filter_map(|(id, section)| Some((id, section?))).collect()
}

/// How fast requests were answered, with the 95 % intervals of the percentiles.
fn latency(title: &str, metrics: &[MetricSummary], a: &RunAnalysis) -> Section {
    let mut section = distributions::section(title, &latency_rows(metrics, a), a, Columns::default());
    let closed = a.manifest.load.max_concurrency.filter(|_| a.manifest.load.request_rate.is_none());
    if let Some(limit) = closed.filter(|_| metrics.iter().any(|m| m.metric == "client_queue_ms")) {
        let places = counted(limit as u64, "request");
        section.notes.push(format!(
            "Client queue: the wait for a place among the {places} that the client keeps in flight, no lateness of the client."
        ));
    }
    if a.requests.failed > 0 {
        let rate = percent(a.value("failure_rate").unwrap_or(0.0));
        section.notes.push(format!("Failed requests ({rate}) are in no latency."));
    }
    section
}

/// The two kinds of ITL are one row where they are the same.
fn latency_rows<'a>(metrics: &'a [MetricSummary], a: &RunAnalysis) -> Vec<Distribution<'a>> {
    let find = |id: &str| metrics.iter().find(|m| m.metric == id).map(|m| &m.summary);
    let same = find("itl_ms").zip(find("itl_per_token_ms")).is_some_and(|(a, b)| look_alike(a, b));
    let smoothed = a.manifest.issues.iter().any(|i| i.code == IssueCode::SmoothedGaps);
    let label = |id: &'static str| match id {
        "itl_ms" if !a.convention.itl_is_gaps() => "ITL (request mean)",
        "itl_ms" if same && smoothed => "ITL (client's means)",
        "itl_ms" if same => "ITL",
        id => metric_label(id),
    };
    let latencies = metrics.iter().filter(|m| !m.is_of_the_load());
    let shown = latencies.filter(|m| !(same && m.metric == "itl_per_token_ms"));
    shown.map(|m| Distribution { id: m.metric, label: label(m.metric), summary: &m.summary }).collect()
}

/// Equal in every figure that is shown.
fn look_alike(a: &Summary, b: &Summary) -> bool {
    let figures = |s: &Summary| {
        let percentiles = s.percentiles.iter().map(|p| p.value);
        [s.mean, s.std, s.min, s.max].into_iter().chain(percentiles).map(ms).collect::<Vec<_>>()
    };
    a.count == b.count && figures(a) == figures(b)
}

fn throughput(a: &RunAnalysis) -> Option<Section> {
    let steady = a.steady.as_ref().ok().filter(|_| a.window.is_none());
    let mut grid = Grid::new(&["", "unit", if a.window.is_some() { "window" } else { "whole run" }]);
    grid.text_columns = vec![0, 1];
    if steady.is_some() {
        grid.header.push("steady state".to_string());
    }
    for metric in METRICS.iter().filter(|m| is_throughput(m)) {
        let Some(whole) = a.value(metric.id) else { continue };
        let mut row = vec![metric.label.to_string(), unit_name(metric.id).to_string(), figure(metric.id, whole)];
        if let Some(steady) = steady {
            let value = steady.values.iter().find(|v: &&RunValue| v.metric == metric.id);
            row.push(cell(value.map(|v| figure(metric.id, v.value))));
        }
        grid.push_about(metric.id, row);
    }
    if grid.rows.is_empty() {
        return None;
    }
    let mut section = Section::new("Throughput and load");
    section.table = Some(grid);
    if a.window.is_none() && a.has_latencies() {
        section.notes.push(match &a.steady {
            Ok(s) => format!(
                "Steady state: {} to {} after the first send; ramp-up is {} of the run, drain tail {}.",
                seconds(s.window.start_ns as f64 / 1e9),
                seconds(s.window.end_ns as f64 / 1e9),
                percent(s.ramp_share),
                percent(s.drain_share)
            ),
            Err(why) => format!("No steady state: {why}."),
        });
    }
    Some(section)
}

/// What the client saw; the server's side has a section of its own.
fn is_throughput(m: &Metric) -> bool {
    let of_server =
        |(table, column): &(Table, &str)| *table == Table::Samples || *column == "preemptions" || *column == "queue_ns";
    let elsewhere =
        ["failure_rate", "goodput_requests_per_s"].contains(&m.id) || workload_section::RATES.contains(&m.id);
    !elsewhere && !m.requires.iter().any(of_server)
}

/// Peaks are counts, everything else is a mean or a rate.
fn figure(id: &str, value: f64) -> String {
    if id.starts_with("peak_") { plain(value) } else { number(value) }
}

/// Shown only where ramp and drain are a notable part of the run: else it repeats the whole.
fn steady_latency(a: &RunAnalysis) -> Option<Section> {
    let steady = a.steady.as_ref().ok()?;
    let notable = steady.ramp_share + steady.drain_share > 0.1
        && steady.metrics.iter().any(|m| !m.is_of_the_load())
        && a.window.is_none();
    notable.then(|| latency("Latency in the steady state, in ms", &steady.metrics, a))
}

fn goodput(a: &RunAnalysis) -> Option<Section> {
    if a.objectives.is_empty() {
        return None;
    }
    let mut section = Section::new("Goodput");
    let objective =
        |o: &postrun_analysis::Objective| format!("{} ≤ {}", metric_label(o.metric), chosen_time(o.at_most_ns));
    let all: Vec<String> = a.objectives.iter().map(objective).collect();
    let all = all.join(" and ");
    section.lines.push(match (a.facts.good, a.value("goodput_requests_per_s")) {
        (Some(good), rate) => {
            let share = if a.facts.requests > 0 { good as f64 / a.facts.requests as f64 } else { 0.0 };
            let rate = cell(rate.map(number));
            format!(
                "{rate} req/s: {} of {} ({}) met {all}",
                grouped(good),
                counted(a.facts.requests, "request"),
                percent(share)
            )
        }
        (None, _) if a.requests.total > 0 && a.requests.ok == 0 => {
            format!("Not available for {all}: no request was answered.")
        }
        (None, _) => format!("Not available for {all}: this recording does not hold a value that it is about."),
    });
    Some(section)
}

fn buckets(a: &RunAnalysis) -> Option<Section> {
    if a.buckets.is_empty() || a.buckets.iter().all(|b| b.lo.is_none()) {
        return None;
    }
    let columns = [
        ("ttft_ms", 50.0),
        ("ttft_ms", 95.0),
        ("tpot_ms", 50.0),
        ("tpot_ms", 95.0),
        ("itl_ms", 95.0),
        ("e2e_ms", 50.0),
        ("e2e_ms", 95.0),
    ];
    let shown: Vec<(&str, f64)> = columns.into_iter().filter(|(id, _)| a.metric(id).is_some()).collect();
    if shown.is_empty() {
        return None;
    }
    let mut grid = Grid::new(&["Prompt tokens", "n", "failed"]);
    for (id, p) in &shown {
        let name = if *id == "itl_ms" { "ITL" } else { metric_label(id) };
        grid.header.push(format!("{name}\n{} ms", percentile_name(*p)));
    }
    let position = |wanted: (&str, f64)| shown.iter().position(|c| *c == wanted).map(|i| i + 3);
    let dropped = [("e2e_ms", 50.0), ("tpot_ms", 95.0), ("itl_ms", 95.0), ("e2e_ms", 95.0), ("tpot_ms", 50.0)];
    grid.drop_order = dropped.into_iter().filter_map(position).collect();
    for b in &a.buckets {
        let mut row = vec![token_range(b.lo, b.hi), b.requests.to_string(), b.failed.to_string()];
        for (id, p) in &shown {
            let summary = b.metrics.iter().find(|m| m.metric == *id).map(|m| &m.summary);
            let found = summary.and_then(|s| s.percentile(*p));
            row.push(cell(found.map(|x| format!("{}{}", ms(x.value), few_mark(x)))));
        }
        grid.push(row);
    }
    if grid.rows.len() < 2 {
        // One row would say the table of latencies again.
        return None;
    }
    let mut section = Section::new("By prompt length");
    section.table = Some(grid);
    Some(section)
}

fn timeline(a: &RunAnalysis, width: usize) -> Option<Section> {
    let t = a.timeline.as_ref().filter(|t| t.windows.len() > 2 && a.window.is_none())?;
    type Get = fn(&TimelineWindow) -> Option<f64>;
    let curves: [(&str, Get); 10] = [
        ("In flight", |w| w.mean_concurrency),
        ("Sent, req/s", |w| Some(w.sent as f64)),
        ("Ended, req/s", |w| w.ended.map(|n| n as f64)),
        ("Output, tok/s", |w| w.output_tokens_per_s),
        ("Running", |w| w.server.running),
        ("Waiting", |w| w.server.waiting),
        ("KV cache, %", |w| w.server.kv_cache_usage.map(|share| share * 100.0)),
        ("Preemptions", |w| w.server.preemptions),
        ("TTFT P95, ms", |w| w.ttft.as_ref()?.stat("p95")),
        ("ITL P95, ms", |w| w.itl.as_ref()?.stat("p95")),
    ];
    let mut grid = Grid::new(&["", "over the run", "median", "highest", "at"]);
    grid.text_columns = vec![0, 1];
    grid.drop_order = vec![4, 2];
    for (name, get) in curves {
        let scale = if name.ends_with("req/s") { 1.0 / t.width_s } else { 1.0 };
        let values: Vec<Option<f64>> = t.windows.iter().map(|w| get(w).map(|v| v * scale)).collect();
        let mut known: Vec<(f64, f64)> =
            values.iter().zip(&t.windows).filter_map(|(v, w)| Some(((*v)?, w.start_s))).collect();
        // The first of equal peaks is the one to look at.
        known.sort_by(|x, y| x.0.total_cmp(&y.0).then(y.1.total_cmp(&x.1)));
        let (Some(middle), Some(top)) = (known.get(known.len() / 2), known.last()) else { continue };
        let text = |v: f64| if name.ends_with("ms") { ms(v) } else { number(v) };
        let curve = spark(&values, width.saturating_sub(BESIDE_CURVE).clamp(12, 60));
        grid.push(vec![name.to_string(), curve, text(middle.0), text(top.0), seconds(top.1)]);
    }
    let mut section = Section::new(format!("Over time, in windows of {}", seconds(t.width_s)));
    section.table = Some(grid);
    Some(section)
}

/// One line on an issue: `warning[failed_requests]: …`.
pub fn issue_text(issue: &Issue) -> String {
    let severity = match issue.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let (id, text) = (issue.code.id(), issue.code.meaning());
    format!("{severity}[{id}]: {text} ({}×; {}: {})", issue.count, issue.at, issue.example)
}

fn data_quality(a: &RunAnalysis) -> Option<Section> {
    if a.manifest.issues.is_empty() {
        return None;
    }
    let mut section = Section::new("Data quality");
    section.lines = a.manifest.issues.iter().map(issue_text).collect();
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
