//! All rules over one run: findings ranked by cause, what is clear, what could not be judged.

use crate::finding::{Evidence, Finding, Severity, Verdict};
use crate::rule_set::RuleSet;
use crate::rules::RULES;
use crate::view::RunView;
use postrun_analysis::{RunAnalysis, find_metric};
use postrun_schema::Table;
use serde::Serialize;
use std::collections::BTreeSet;

/// A rule that found nothing wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cleared {
    /// Rule id.
    pub rule: String,
    /// The figures that say so.
    pub evidence: Vec<Evidence>,
}

/// A rule that could not judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotChecked {
    /// Rule id.
    pub rule: String,
    /// What is missing.
    pub missing: Vec<String>,
}

/// What is wrong with a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The primary cause first, symptoms after what causes them.
    pub findings: Vec<Finding>,
    /// In the order of the rules.
    pub cleared: Vec<Cleared>,
    /// In the order of the rules.
    pub not_checked: Vec<NotChecked>,
}

/// Runs every rule on `run`. Of a workload without answers none can judge anything; only a user's own rules are asked.
pub fn diagnose(run: &RunAnalysis, set: &RuleSet) -> Diagnosis {
    let mut out = Diagnosis::default();
    for rule in RULES {
        let view = RunView { run, thresholds: &set.thresholds, rule };
        let verdict = match run.is_workload() {
            true => Verdict::NotChecked(vec!["answers: the recording is a workload alone".to_string()]),
            false => (rule.check)(&view),
        };
        match verdict {
            Verdict::Found(mut finding) => {
                finding.rule = rule.id.to_string();
                out.findings.push(if view.is_unaligned() { of_whole_recording(*finding, run) } else { *finding });
            }
            Verdict::Clear(evidence) => out.cleared.push(Cleared { rule: rule.id.to_string(), evidence }),
            Verdict::NotChecked(missing) => out.not_checked.push(NotChecked { rule: rule.id.to_string(), missing }),
        }
    }
    for rule in &set.user_rules {
        match rule.check(run) {
            Verdict::Found(finding) => out.findings.push(*finding),
            Verdict::Clear(evidence) => out.cleared.push(Cleared { rule: rule.id.clone(), evidence }),
            Verdict::NotChecked(missing) => out.not_checked.push(NotChecked { rule: rule.id.clone(), missing }),
        }
    }
    rank(&mut out.findings);
    out
}

/// The most that a finding is sure of where it rests on samples whose place in the run is not known.
const UNALIGNED_CONFIDENCE: f64 = 0.5;

/// A finding of a run whose server's clock is not aligned. One that rests on the server's samples says so, and how much
/// less it can be sure: the recording may hold other times, or another server.
fn of_whole_recording(finding: Finding, run: &RunAnalysis) -> Finding {
    let rebuilt = run.facts.server.kv_cache_usage.as_ref().is_some_and(|kv| kv.source != "recorded");
    let rests_on_samples = finding.evidence.first().and_then(|e| find_metric(&e.metric)).is_some_and(|metric| {
        let of_samples = |(table, _): &(Table, &str)| *table == Table::Samples;
        metric.requires.iter().any(of_samples) && !(rebuilt && metric.id.starts_with("kv_cache"))
    });
    if !rests_on_samples {
        return finding;
    }
    Finding {
        severity: finding.severity.min(Severity::Warning),
        confidence: finding.confidence.min(UNALIGNED_CONFIDENCE),
        summary: format!(
            "{}; counted over the server's whole recording, which is not aligned to the client's clock and may be of another time",
            finding.summary
        ),
        ..finding
    }
}

/// Links symptoms to the causes that were found too, and puts causes first: by severity, then by how much they explain.
pub(crate) fn rank(findings: &mut Vec<Finding>) {
    let found: BTreeSet<String> = findings.iter().filter(|f| !f.explains_nothing).map(|f| f.rule.clone()).collect();
    for finding in findings.iter_mut() {
        let causes = RULES.iter().find(|r| r.id == finding.rule).map_or(&[][..], |r| r.explained_by);
        let applies = |c: &&&str| found.contains(**c) && !finding.not_caused_by.contains(*c);
        finding.caused_by = causes.iter().filter(applies).map(|c| c.to_string()).collect();
    }
    let mut order: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut rest = std::mem::take(findings);
    // Stable and total: severity, weight times confidence, then the registry's order.
    let place = |f: &Finding| RULES.iter().position(|r| r.id == f.rule).unwrap_or(RULES.len());
    rest.sort_by(|a, b| {
        let strength = |f: &Finding| f.weight * f.confidence;
        (b.severity.cmp(&a.severity)).then(strength(b).total_cmp(&strength(a))).then(place(a).cmp(&place(b)))
    });
    while !rest.is_empty() {
        let placed: BTreeSet<&str> = order.iter().map(|f| f.rule.as_str()).collect();
        let ready = |f: &Finding| f.caused_by.iter().all(|c| placed.contains(c.as_str()));
        // Causes in a circle cannot wait for each other.
        let next = rest.iter().position(ready).unwrap_or(0);
        order.push(rest.remove(next));
    }
    *findings = order;
}
