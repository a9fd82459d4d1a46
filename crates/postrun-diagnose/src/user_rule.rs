//! A rule of the user's own: a condition over figures of the report.

use crate::condition::{Answer, Condition};
use crate::finding::{Evidence, Finding, Severity, Verdict};
use crate::measure::{Advice, Measure, Server};
use postrun_analysis::{BucketResult, RunAnalysis};

/// A rule from a rules file.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRule {
    /// Its id.
    pub id: String,
    /// What a finding of it says.
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    pub(crate) condition: Condition,
    pub(crate) measures: Vec<Step>,
}

/// What to try.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// One of ours.
    Known(Measure),
    /// The user's words.
    Text(String),
}

impl UserRule {
    /// Looks at one run.
    pub fn check(&self, run: &RunAnalysis) -> Verdict {
        let held = self.condition.held(run);
        let evidence = self.evidence(run, held.bucket);
        match held.answer {
            Answer::Unknown(missing) => Verdict::NotChecked(missing),
            Answer::No => Verdict::Clear(evidence),
            Answer::Yes => self.finding(run, evidence, held.bucket),
        }
    }

    fn finding(&self, run: &RunAnalysis, evidence: Vec<Evidence>, bucket: Option<&BucketResult>) -> Verdict {
        let mut evidence = evidence.into_iter();
        let server = Server::named(run.manifest.server.get("name").map(String::as_str), &run.manifest.tool.name);
        let mut measures = self.measures.iter().map(|step| match step {
            Step::Known(measure) => measure.on(server),
            Step::Text(text) => Advice::in_words(text),
        });
        // A condition has a figure (or compares constants, which is the user's joke), a rule a measure.
        let first = evidence
            .next()
            .unwrap_or_else(|| Evidence::new("requests", "total", run.requests.total as f64, "requests"));
        let Some(measure) = measures.next() else { return Verdict::Clear(vec![first]) };
        let mut finding = Finding::new(self.severity, self.title.clone(), first, measure).try_also(measures);
        finding.rule.clone_from(&self.id);
        finding.evidence.extend(evidence);
        if let Some(bucket) = bucket {
            let lo = bucket.lo.map_or("unknown".to_string(), |lo| lo.to_string());
            let hi = bucket.hi.map_or(String::new(), |hi| hi.to_string());
            finding.scope = format!("prompts of {lo}..{hi} tokens");
        }
        // What the user asks for stands before what is guessed, among findings of one severity.
        finding.weighing(1.0).into()
    }

    /// The figures of the condition that the run has.
    fn evidence(&self, run: &RunAnalysis, bucket: Option<&BucketResult>) -> Vec<Evidence> {
        let mut out: Vec<Evidence> = Vec::new();
        for (figure, constant) in self.condition.figures() {
            let Ok(value) = figure.value(run, bucket) else { continue };
            let (metric, stat, unit) = figure.parts();
            let evidence = Evidence::new(&metric, stat, value, unit);
            let evidence = match constant {
                Some(limit) => evidence.against(limit, "threshold"),
                None => evidence,
            };
            if !out.contains(&evidence) {
                out.push(evidence);
            }
        }
        out
    }
}
