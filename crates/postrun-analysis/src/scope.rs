//! The figures of a part of a run: the whole, a window, the steady state.

use crate::facts::RunFacts;
use crate::gaps::{ChunkFacts, GapSummaries};
use crate::metric::{Compute, GapValue};
use crate::metrics::METRICS;
use crate::objective::Objective;
use crate::requests::{Outcome, Requests};
use crate::run::MetricSummary;
use crate::summary::Summary;
use crate::window::Window;
use postrun_schema::{Manifest, TokenSource};

/// The part of a run that a set of figures is about.
pub(crate) struct Scope<'a> {
    pub requests: &'a Requests,
    pub window: Option<Window>,
    pub percentiles: &'a [f64],
}

impl Scope<'_> {
    pub(crate) fn facts(&self, manifest: &Manifest, chunks: Option<&ChunkFacts>, objectives: &[Objective]) -> RunFacts {
        let r = self.requests;
        let tokens_known = manifest.output_tokens_source != TokenSource::Requested;
        let has = |column: &str| r.present.contains(column);
        let mut facts = RunFacts::default();
        let (mut prompt, mut output, mut n_chunks, mut in_chunks, mut busy, mut good) =
            (0u64, 0u64, 0u64, 0u64, 0i64, 0);
        for i in 0..r.len() {
            let inside =
                self.window.is_none() || self.window.is_some_and(|w| r.decisive_ns(i).is_some_and(|at| w.contains(at)));
            if !r.measured[i] || !inside {
                continue;
            }
            facts.requests += 1;
            facts.failed += u64::from(r.status[i] == Outcome::Failed);
            if r.status[i] != Outcome::Ok {
                continue;
            }
            facts.ok += 1;
            prompt += r.prompt_tokens[i].map_or(0, u64::from);
            let out = r.output_tokens[i].map_or(0, u64::from);
            output += out;
            if let Some(n) = r.chunks[i] {
                n_chunks += u64::from(n);
                in_chunks += out;
            }
            busy += r.e2e_ns[i].unwrap_or(0);
            good += u64::from(objectives.iter().all(|o| o.met(r, i)));
        }
        facts.prompt_tokens = has("prompt_tokens").then_some(prompt);
        facts.output_tokens = (has("output_tokens") && tokens_known).then_some(output as f64);
        facts.chunks = has("chunks").then_some(n_chunks);
        facts.output_tokens_in_chunks = (has("output_tokens") && tokens_known).then_some(in_chunks);
        facts.busy_s = has("e2e_ns").then_some(busy as f64 / 1e9);
        facts.good = (!objectives.is_empty() && r.len() > 0).then_some(good);
        match self.window {
            None => {
                let client = manifest.duration_ns.map(|ns| ns as f64 / 1e9);
                facts.duration_s = client.or_else(|| r.span().map(|s| s.seconds()));
                if r.len() == 0 {
                    facts.ok = manifest.counted.completed.unwrap_or(0);
                    facts.failed = manifest.counted.failed.unwrap_or(0);
                    facts.requests = facts.ok + facts.failed;
                }
            }
            Some(window) => {
                // Events inside the window, whichever request they belong to.
                facts.duration_s = Some(window.seconds());
                let ended = (0..r.len()).filter(|i| r.counts(*i) && r.end_ns(*i).is_some_and(|at| window.contains(at)));
                facts.ok = ended.count() as u64;
                facts.output_tokens = chunks.filter(|_| tokens_known).map(|c| c.tokens);
                facts.busy_s = None;
            }
        }
        facts
    }

    pub(crate) fn metrics(
        &self,
        chunks: Option<&ChunkFacts>,
        gaps: impl Fn(&GapSummaries) -> Option<Summary>,
    ) -> Vec<MetricSummary> {
        self.metrics_where(|_| true, chunks, gaps)
    }

    pub(crate) fn metrics_where(
        &self,
        inside: impl Fn(usize) -> bool,
        chunks: Option<&ChunkFacts>,
        gaps: impl Fn(&GapSummaries) -> Option<Summary>,
    ) -> Vec<MetricSummary> {
        let rows: Vec<usize> =
            (0..self.requests.len()).filter(|i| inside(*i) && self.requests.in_scope(*i, self.window)).collect();
        let mut out = Vec::new();
        for (position, metric) in METRICS.iter().enumerate() {
            let summary = match metric.compute {
                Compute::PerRequest(_) => {
                    let column = &self.requests.values[position];
                    let mut values: Vec<f64> = rows.iter().map(|i| column[*i]).filter(|v| v.is_finite()).collect();
                    Summary::of(&mut values, self.percentiles)
                }
                Compute::PerGap(GapValue::Chunk) => chunks.and_then(|c| gaps(&c.chunk)),
                Compute::PerGap(GapValue::Token) if !self.requests.present.contains("output_tokens") => None,
                Compute::PerGap(GapValue::Token) => chunks.and_then(|c| gaps(&c.token)),
                Compute::PerRun(_) => None,
            };
            out.extend(summary.map(|summary| MetricSummary { metric: metric.id, summary }));
        }
        out
    }
}
