//! What a rule says: a finding with its evidence and measures, a clean bill with its evidence, or what is missing.

use crate::measure::Advice;
use serde::Serialize;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing when reading the figures.
    Info,
    /// Users of the server notice, or figures mislead.
    Warning,
    /// The server cannot do what was asked of it.
    Critical,
}

/// A figure that speaks for or against a finding. Every one can be found in the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// Metric id, or the key of the report where it stands.
    pub metric: String,
    /// `p95`, `mean`, `max`, `value` …
    pub stat: &'static str,
    /// Its value, in `unit`.
    pub value: f64,
    /// `ms`, `s`, `share`, `requests` …
    pub unit: &'static str,
    /// What it is compared with.
    pub compared_with: Option<Reference>,
    /// How many values it rests on.
    pub samples: Option<u64>,
    /// The requests that show it best.
    pub requests: Vec<u32>,
}

/// The other side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reference {
    /// In the unit of the evidence.
    pub value: f64,
    /// `threshold`, `P50`, `shortest fifth of prompts` …
    pub what: String,
}

impl Evidence {
    /// A figure by itself.
    pub fn new(metric: &str, stat: &'static str, value: f64, unit: &'static str) -> Evidence {
        Evidence { metric: metric.into(), stat, value, unit, compared_with: None, samples: None, requests: Vec::new() }
    }

    /// Beside what it is compared with.
    pub fn against(mut self, value: f64, what: &str) -> Evidence {
        self.compared_with = Some(Reference { value, what: what.to_string() });
        self
    }

    /// Resting on this many values.
    pub fn of(mut self, samples: u64) -> Evidence {
        self.samples = Some(samples);
        self
    }

    /// Shown best by these requests.
    pub fn shown_by(mut self, requests: &[u32]) -> Evidence {
        self.requests = requests.to_vec();
        self
    }
}

/// The size of an effect in the user's own units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// What it acts on.
    pub metric: &'static str,
    /// How much, in `unit`.
    pub amount: f64,
    /// Unit of `amount`.
    pub unit: &'static str,
    /// Share of the metric that it makes up, where that can be said.
    pub share: Option<f64>,
    /// As a sentence: `queueing adds 4.1 s to P95 TTFT, 83 % of it`.
    pub text: String,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Rule id.
    pub rule: String,
    /// Always `found`.
    pub status: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// Which requests, bucket or time span.
    pub scope: String,
    /// One plain sentence.
    pub summary: String,
    /// Size of the effect.
    pub effect: Option<Effect>,
    /// Never empty.
    pub evidence: Vec<Evidence>,
    /// Never empty, the most fitting first.
    pub measures: Vec<Advice>,
    /// Other findings that explain this one.
    pub caused_by: Vec<String>,
    /// What was considered and does not hold.
    pub ruled_out: Vec<String>,
    /// Share of what users wait for, or read, that it explains, 0 to 1: ranks findings of one severity.
    #[serde(skip)]
    pub weight: f64,
    /// Rules whose findings usually explain one of this rule, and do not explain this one.
    #[serde(skip)]
    pub not_caused_by: Vec<&'static str>,
    /// It explains no other finding, whatever its rule usually explains.
    #[serde(skip)]
    pub explains_nothing: bool,
}

impl Finding {
    /// A finding cannot be without evidence or without a measure.
    pub fn new(severity: Severity, summary: String, first: Evidence, measure: Advice) -> Finding {
        Finding {
            rule: String::new(),
            status: "found",
            severity,
            confidence: 1.0,
            scope: "whole run".to_string(),
            summary,
            effect: None,
            evidence: vec![first],
            measures: vec![measure],
            caused_by: Vec::new(),
            ruled_out: Vec::new(),
            weight: 0.0,
            not_caused_by: Vec::new(),
            explains_nothing: false,
        }
    }

    /// How sure, 0 to 1.
    pub fn sure(mut self, confidence: f64) -> Finding {
        self.confidence = confidence.clamp(0.0, 1.0);
        self
    }

    /// One more figure.
    pub fn and(mut self, evidence: Evidence) -> Finding {
        self.evidence.push(evidence);
        self
    }

    /// One more figure, where there is one.
    pub fn and_if(mut self, evidence: Option<Evidence>) -> Finding {
        self.evidence.extend(evidence);
        self
    }

    /// More measures; what the server has on already is left out.
    pub fn try_also(mut self, measures: impl IntoIterator<Item = Advice>) -> Finding {
        self.measures.extend(measures.into_iter().filter(|m| !m.in_force));
        self
    }

    /// The size of its effect; the share is its weight too.
    pub fn with_effect(mut self, effect: Effect) -> Finding {
        self.weight = effect.share.unwrap_or(self.weight).clamp(0.0, 1.0);
        self.effect = Some(effect);
        self
    }

    /// Share of what users wait for, where the effect does not say.
    pub fn weighing(mut self, weight: f64) -> Finding {
        self.weight = weight.clamp(0.0, 1.0);
        self
    }

    /// Something that does not explain it.
    pub fn rules_out(mut self, what: &str) -> Finding {
        self.ruled_out.push(what.to_string());
        self
    }

    /// Something that does not explain it, where that is so.
    pub fn rules_out_if(self, so: bool, what: &str) -> Finding {
        if so { self.rules_out(what) } else { self }
    }

    /// Usual causes that its evidence does not point to.
    pub fn not_because_of(mut self, rules: &[&'static str]) -> Finding {
        self.not_caused_by.extend(rules);
        self
    }

    /// A note beside the figures: no cause of anything.
    pub fn as_note(mut self) -> Finding {
        self.explains_nothing = true;
        self
    }

    /// Which requests, bucket or time span.
    pub fn scoped(mut self, scope: String) -> Finding {
        self.scope = scope;
        self
    }
}

/// What a rule came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Something is wrong.
    Found(Box<Finding>),
    /// Nothing is wrong, and these figures say so.
    Clear(Vec<Evidence>),
    /// It cannot be judged: what is missing, each with the recording that would supply it.
    NotChecked(Vec<String>),
}

impl From<Finding> for Verdict {
    fn from(finding: Finding) -> Verdict {
        Verdict::Found(Box::new(finding))
    }
}
