//! What is wrong with one side and not with the other.

use crate::side::Side;
use postrun_diagnose::{Finding, Severity};
use serde::Serialize;

/// One finding in a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// Rule id.
    pub rule: String,
    /// Severity in the base; null: not found there.
    pub base: Option<Severity>,
    /// Severity in the candidate; null: not found there.
    pub candidate: Option<Severity>,
    /// The sentence of the side that has it; of the candidate where both have.
    pub summary: String,
}

/// Findings of both sides against each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FindingChanges {
    /// In the candidate alone.
    pub new: Vec<Changed>,
    /// In the base alone.
    pub gone: Vec<Changed>,
    /// Graver in the candidate.
    pub worse: Vec<Changed>,
    /// Milder in the candidate.
    pub milder: Vec<Changed>,
}

/// Rules that say that requests wait for the server.
const OF_WAITING: [&str; 4] = ["saturated", "queueing_dominates_ttft", "frequent_preemption", "memory_near_limit"];

impl FindingChanges {
    /// True where one side alone has a finding that says that requests wait.
    pub(crate) fn of_waiting(&self) -> bool {
        self.new.iter().chain(&self.gone).any(|c| OF_WAITING.contains(&c.rule.as_str()))
    }
}

/// Compares findings by rule; of repeats the first run speaks.
pub(crate) fn changes(base: &Side, candidate: &Side) -> FindingChanges {
    let of =
        |side: &Side| -> Vec<Finding> { side.runs.first().map(|r| r.diagnosis.findings.clone()).unwrap_or_default() };
    let (a, b) = (of(base), of(candidate));
    let mut out = FindingChanges::default();
    for f in &b {
        let before = a.iter().find(|x| x.rule == f.rule);
        let changed = Changed {
            rule: f.rule.clone(),
            base: before.map(|x| x.severity),
            candidate: Some(f.severity),
            summary: f.summary.clone(),
        };
        match before.map(|x| f.severity.cmp(&x.severity)) {
            None => out.new.push(changed),
            Some(std::cmp::Ordering::Greater) => out.worse.push(changed),
            Some(std::cmp::Ordering::Less) => out.milder.push(changed),
            Some(std::cmp::Ordering::Equal) => {}
        }
    }
    for f in a.iter().filter(|f| !b.iter().any(|x| x.rule == f.rule)) {
        out.gone.push(Changed {
            rule: f.rule.clone(),
            base: Some(f.severity),
            candidate: None,
            summary: f.summary.clone(),
        });
    }
    out
}
