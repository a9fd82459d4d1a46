//! The diagnosis for a person: a verdict of three lines, then the evidence.

use crate::quantity::{number, plain};
use crate::report::{Parts, Report};
use crate::section::Section;
use postrun_diagnose::{Advice, Diagnosis, Evidence, Finding, Severity};
use postrun_schema::counted;

/// Measures, evidence and rules named before "and n more".
const NAMED: usize = 4;
/// From here on a finding can be relied upon.
const SURE: f64 = 0.7;

/// Of a recording without answers.
const WORKLOAD: &str = "This is a workload, not a result: it holds when requests arrived and how long they were, and no answer. \
     No server can be judged by it; replay it with a benchmark client and report on what that saves.";

/// Three lines that a tired engineer understands.
pub(crate) fn verdict(report: &Report) -> Section {
    let d = &report.diagnosis;
    let mut section = Section::new("Verdict");
    let Some(primary) = d.findings.iter().find(|f| f.severity > Severity::Info) else {
        section.lines.push(if report.run.is_workload() { WORKLOAD.to_string() } else { nothing(d) });
        return section;
    };
    let how_sure = if primary.confidence >= SURE { "" } else { "probably " };
    section.lines.push(format!("{}: {how_sure}{}.", severity(primary.severity), primary.summary));
    let effect = primary.effect.as_ref().map(|e| format!("{}.", capital(&e.text)));
    let explained: Vec<&str> =
        d.findings.iter().filter(|f| f.caused_by.contains(&primary.rule)).map(|f| f.rule.as_str()).collect();
    let others =
        if explained.is_empty() { String::new() } else { format!(" It contributes to {}.", explained.join(", ")) };
    let second = format!("{}{others}", effect.unwrap_or_default());
    section.lines.extend(Some(second.trim().to_string()).filter(|line| !line.is_empty()));
    let first: Vec<String> = primary.measures.iter().take(2).map(measure).collect();
    section.lines.push(format!("Try first: {}.", first.join("; ")));
    section
}

/// The knee of a sweep.
pub(crate) fn sweep(f: &Finding) -> Section {
    let mut section = Section::new("The sweep");
    section.lines.extend(lines(f));
    section
}

/// Nothing found is not nothing wrong.
fn nothing(d: &Diagnosis) -> String {
    let (clear, not) = (d.cleared.len(), d.not_checked.len());
    let missing = d.not_checked.iter().flat_map(|n| n.missing.first()).next();
    let next = missing.map(|m| format!(" Most useful next: {m}.")).unwrap_or_default();
    match (clear, not) {
        (0, not) => {
            format!("No verdict: none of {} could be judged from this recording.{next}", counted(not as u64, "rule"))
        }
        (1, 0) => "Nothing is wrong by the only rule.".to_string(),
        (clear, 0) => format!("Nothing is wrong by any of {clear} rules."),
        (1, not) => format!("Nothing wrong by the one rule that could be judged; {not} could not.{next}"),
        (clear, not) => format!("Nothing wrong by the {clear} rules that could be judged; {not} could not.{next}"),
    }
}

/// All findings, each with evidence and measures.
pub(crate) fn findings(d: &Diagnosis, parts: Parts) -> Option<Section> {
    if d.findings.is_empty() {
        return None;
    }
    let mut section = Section::new("Findings");
    for (i, f) in d.findings.iter().enumerate() {
        if i > 0 {
            section.lines.push(String::new());
        }
        section.lines.extend(lines(f));
    }
    if parts == Parts::All {
        section.notes.push(counts(d));
    }
    Some(section)
}

fn lines(f: &Finding) -> Vec<String> {
    let sure = format!("{:.0} % sure", (f.confidence * 100.0).min(99.0));
    let scope = if f.scope == "whole run" { String::new() } else { format!(", {}", f.scope) };
    let mut out = vec![format!("{}[{}] {} ({sure}{scope})", severity(f.severity), f.rule, f.summary)];
    if !f.caused_by.is_empty() {
        out.push(format!("  caused by  {}", f.caused_by.join(", ")));
    }
    out.extend(f.effect.as_ref().map(|e| format!("  effect     {}", e.text)));
    let shown: Vec<String> = f.evidence.iter().take(NAMED).map(evidence).collect();
    out.push(format!("  evidence   {}", shown.join("; ")));
    if !f.ruled_out.is_empty() {
        out.push(format!("  not        {}", f.ruled_out.join("; ")));
    }
    // What its cause calls for comes first; a symptom's own measures are in the JSON report.
    let tried: Vec<String> = f.measures.iter().take(NAMED).map(measure).collect();
    if f.caused_by.is_empty() {
        out.push(format!("  try        {}", tried.join("; ")));
    }
    out
}

/// What was looked at and found in order, and what could not be judged.
pub(crate) fn rest(d: &Diagnosis) -> Option<Section> {
    if d.cleared.is_empty() && d.not_checked.is_empty() {
        return None;
    }
    let mut section = Section::new("Looked at as well");
    if !d.cleared.is_empty() {
        let names: Vec<&str> = d.cleared.iter().map(|c| c.rule.as_str()).collect();
        section.lines.push(format!("clear: {}", names.join(", ")));
    }
    for n in &d.not_checked {
        section.lines.push(format!("not judged: {}: needs {}", n.rule, n.missing.join("; ")));
    }
    Some(section)
}

fn counts(d: &Diagnosis) -> String {
    let not = match d.not_checked.len() {
        0 => String::new(),
        n => format!(", {n} could not be judged (`postrun diagnose` says why)"),
    };
    let clear =
        format!("{} {}", counted(d.cleared.len() as u64, "rule"), if d.cleared.len() == 1 { "is" } else { "are" });
    format!("{clear} clear{not}.")
}

/// A severity in a word.
pub(crate) fn severity(s: Severity) -> &'static str {
    match s {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Critical => "critical",
    }
}

/// What to try, with the flag and what it stands at.
pub(crate) fn measure(a: &Advice) -> String {
    let now = a.now.as_ref().map(|now| format!(", now {now}")).unwrap_or_default();
    match a.flag {
        Some(flag) => format!("{} ({flag}{now})", a.text),
        None => a.text.to_string(),
    }
}

/// `ttft_ms p95 4200 ms (threshold 500)`.
pub(crate) fn evidence(e: &Evidence) -> String {
    let one = e.value == 1.0 && !e.unit.contains([' ', '/']) && !["s", "ms"].contains(&e.unit);
    let unit = match e.unit {
        "" | "share" => String::new(),
        unit if one => format!(" {}", unit.strip_suffix('s').unwrap_or(unit)),
        unit => format!(" {unit}"),
    };
    let value = |v: f64| if e.unit == "share" { format!("{} %", number(v * 100.0)) } else { plain(v) };
    let stat = if e.stat == "value" { String::new() } else { format!(" {}", e.stat) };
    let against = e.compared_with.as_ref().map(|r| format!(" ({} {})", r.what, value(r.value))).unwrap_or_default();
    let requests = match e.requests.as_slice() {
        [] => String::new(),
        list => format!(", requests {}", list.iter().take(NAMED).map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    format!("{}{stat} {}{unit}{against}{requests}", e.metric, value(e.value))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
