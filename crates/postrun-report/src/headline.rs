//! What a run is, in a few lines.

use crate::quantity::{bytes, number, percent, seconds, setting};
use crate::section::Section;
use postrun_analysis::{RunAnalysis, without_client};
use postrun_schema::{counted, grouped};

/// Tool, model, requests, load and files.
pub(crate) fn headline(a: &RunAnalysis) -> Section {
    let m = &a.manifest;
    let mut s = Section::new(m.label.clone());
    let mut what = vec![m.tool.name.clone()];
    what.extend(m.model.clone());
    what.extend(m.load.backend.as_ref().map(|b| format!("backend {b}")));
    s.lines.push(what.join(", "));
    s.lines.extend(not_whole(a));
    if a.convention.is_another() {
        s.lines.push(format!(
            "metrics as {} defines them ({}); `postrun explain NAME` shows how",
            a.convention.id, a.convention.title
        ));
    }
    if let Some(w) = a.window {
        let (from, to) = (seconds(w.start_ns as f64 / 1e9), seconds(w.end_ns as f64 / 1e9));
        s.lines.push(format!("only the window from {from} to {to} after the first send"));
    }
    let r = a.requests;
    let all = counted(r.total, "request");
    let mut requests = format!("{all}: {} ok, {} failed", grouped(r.ok), grouped(r.failed));
    if r.failed > 0 {
        requests.push_str(&format!(" ({})", percent(a.value("failure_rate").unwrap_or(0.0))));
    }
    if r.incomplete > 0 {
        requests.push_str(&format!(", {} incomplete", grouped(r.incomplete)));
    }
    if r.not_measured > 0 {
        requests.push_str(&format!("; {} more were warm-up, cool-down or probes", grouped(r.not_measured)));
    }
    if without_client(m) {
        let known = if r.total > 0 {
            format!("{all}, as the server recorded {}", if r.total == 1 { "it" } else { "them" })
        } else {
            "no records of requests".to_string()
        };
        s.lines.push(format!("{known}; no file of a benchmark client"));
    } else if a.is_workload() {
        s.lines.push(workload_line(a));
    } else {
        s.lines.push(match a.counts_requests() {
            true => requests,
            false => "number of requests not recorded".to_string(),
        });
        s.lines.push(load_line(a));
    }
    let file = |f: &postrun_schema::SourceFile| format!("{} ({}, {})", f.name, bytes(f.bytes), f.format);
    s.lines.push(format!("from {}", m.sources.iter().map(file).collect::<Vec<_>>().join(", ")));
    s
}

/// That a part of the recording is missing: everything below is about the rest.
pub(crate) fn not_whole(a: &RunAnalysis) -> Option<String> {
    let losses: Vec<&str> = a.manifest.issues.iter().filter_map(|i| i.code.loss()).collect();
    (!losses.is_empty())
        .then(|| format!("NOT WHOLE: {}. All figures are about what is there; see data quality.", losses.join("; ")))
}

fn load_line(a: &RunAnalysis) -> String {
    let load = &a.manifest.load;
    let mut parts = vec![match (load.request_rate, load.unbounded) {
        (Some(rate), _) => format!("{} {}/s", setting(rate), if rate == 1.0 { "request" } else { "requests" }),
        (None, true) => "unbounded request rate".to_string(),
        (None, false) => "request rate not recorded".to_string(),
    }];
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
    if let (Some(prompt), Some(output)) = (a.facts.mean_prompt_tokens, a.facts.mean_output_tokens) {
        parts.push(format!("mean {} prompt and {} output tokens", number(prompt), number(output)));
    }
    format!("load: {}", parts.join(", "))
}

/// Nobody knows whether such requests were answered, so none is called ok; a trace may mark some as failed.
fn workload_line(a: &RunAnalysis) -> String {
    let r = a.requests;
    let failed = if r.failed > 0 { format!(", {} of them marked as failed", grouped(r.failed)) } else { String::new() };
    format!("a workload of {}{failed}; no answer is recorded", counted(r.total, "request"))
}
