//! The figures of a part of a run: the whole, a window, the steady state.

use crate::arrivals::Arrivals;
use crate::convention::redefined::Redefined;
use crate::facts::RunFacts;
use crate::figure::MetricSummary;
use crate::gaps::{ChunkFacts, GapSummaries};
use crate::in_flight::InFlight;
use crate::metric::{Compute, GapValue};
use crate::metrics::METRICS;
use crate::objective::Objective;
use crate::requests::{Outcome, Requests};
use crate::summary::Summary;
use crate::window::Window;
use postrun_schema::{IssueCode, Manifest, TokenSource};

/// A sum over the requests that have the value.
#[derive(Default)]
struct Sum {
    total: u64,
    known: u64,
}

impl Sum {
    fn add(&mut self, value: Option<u32>) {
        self.total += value.map_or(0, u64::from);
        self.known += u64::from(value.is_some());
    }

    fn mean(&self) -> Option<f64> {
        (self.known > 0).then(|| self.total as f64 / self.known as f64)
    }
}

/// The part of a run that a set of figures is about.
pub(crate) struct Scope<'a> {
    pub requests: &'a Requests,
    pub in_flight: &'a InFlight,
    pub window: Option<Window>,
    /// Output tokens of the chunks that arrived inside the window.
    pub window_tokens: Option<f64>,
    pub percentiles: &'a [f64],
    /// Metrics by another convention than postrun's.
    pub redefined: &'a Redefined,
}

impl Scope<'_> {
    pub(crate) fn facts(&self, manifest: &Manifest, objectives: &[Objective]) -> RunFacts {
        let r = self.requests;
        let tokens_known = manifest.output_tokens_source != TokenSource::Requested;
        let has = |column: &str| r.present.contains(column);
        let mut facts = RunFacts::default();
        let (mut prompt, mut output) = (Sum::default(), Sum::default());
        let (mut n_chunks, mut in_chunks, mut busy_s, mut good) = (0u64, 0u64, 0.0f64, 0);
        for i in 0..r.len() {
            if !r.belongs(i, self.window) {
                continue;
            }
            facts.requests += 1;
            facts.failed += u64::from(r.status[i] == Outcome::Failed);
            if r.status[i] != Outcome::Ok {
                continue;
            }
            facts.ok += 1;
            prompt.add(r.prompt_tokens[i]);
            output.add(r.output_tokens[i]);
            // An answer in one piece says nothing of the chunks of a stream.
            if let (Some(n), Some(out), true) = (r.chunks[i], r.output_tokens[i], r.streamed[i] != Some(false)) {
                n_chunks += u64::from(n);
                in_chunks += u64::from(out);
            }
            busy_s += r.e2e_ns[i].map_or(0.0, |ns| ns as f64 / 1e9);
            good += u64::from(objectives.iter().all(|o| o.met(r, self.redefined, i)));
        }
        let arrivals = Arrivals::of(r, self.window);
        facts.arrivals = arrivals.as_ref().map(|a| a.sends);
        facts.arrivals_per_s = arrivals.as_ref().and_then(Arrivals::per_s);
        facts.interarrival_cv = arrivals.as_ref().and_then(Arrivals::variation);
        facts.prompt_tokens = (has("prompt_tokens") && prompt.known == facts.ok).then_some(prompt.total);
        facts.output_tokens =
            (has("output_tokens") && tokens_known && output.known == facts.ok).then_some(output.total as f64);
        facts.mean_prompt_tokens = prompt.mean();
        facts.mean_output_tokens = output.mean().filter(|_| tokens_known);
        // Gaps that the client spread over tokens no longer say how many chunks there were.
        let smoothed = manifest.issues.iter().any(|i| i.code == IssueCode::SmoothedGaps);
        facts.chunks = (has("chunks") && !smoothed).then_some(n_chunks);
        facts.ended = facts.ok;
        facts.output_tokens_in_chunks = (has("output_tokens") && tokens_known).then_some(in_chunks);
        facts.busy_s = has("e2e_ns").then_some(busy_s);
        let measurable = objectives.iter().all(|o| o.measured_in(r));
        facts.good = (!objectives.is_empty() && r.len() > 0 && measurable).then_some(good);
        match self.window {
            None => {
                let client = manifest.duration_ns.map(|ns| ns as f64 / 1e9);
                facts.duration_s = client.or_else(|| r.span().map(|s| s.seconds()));
                if r.len() == 0 {
                    facts.ok = manifest.counted.completed.unwrap_or(0);
                    facts.failed = manifest.counted.failed.unwrap_or(0);
                    facts.requests = facts.ok + facts.failed;
                    facts.ended = facts.ok;
                    facts.prompt_tokens = manifest.counted.prompt_tokens;
                    // Lengths that were asked for are not lengths that came.
                    facts.output_tokens = manifest.counted.output_tokens.filter(|_| tokens_known).map(|t| t as f64);
                    facts.mean_output_tokens = None;
                }
            }
            Some(window) => {
                // Events inside the window, whichever request they belong to.
                facts.duration_s = r.span().map(|_| window.seconds());
                let ended = (0..r.len()).filter(|i| r.counts(*i) && r.end_ns(*i).is_some_and(|at| window.contains(at)));
                facts.ended = ended.count() as u64;
                facts.output_tokens = self.window_tokens.filter(|_| tokens_known);
                facts.busy_s = Some(self.in_flight.area(window.start_ns, window.end_ns) / 1e9);
            }
        }
        facts
    }

    /// Of every request of the scope.
    pub(crate) fn metrics(
        &self,
        chunks: Option<&ChunkFacts>,
        gaps: impl Fn(&GapSummaries) -> Option<Summary>,
    ) -> Vec<MetricSummary> {
        let between_sends = Arrivals::of(self.requests, self.window).and_then(|a| a.summary(self.percentiles));
        self.summaries(|_| true, chunks, gaps, between_sends)
    }

    /// Of some of its requests.
    pub(crate) fn metrics_where(
        &self,
        inside: impl Fn(usize) -> bool,
        chunks: Option<&ChunkFacts>,
        gaps: impl Fn(&GapSummaries) -> Option<Summary>,
    ) -> Vec<MetricSummary> {
        self.summaries(inside, chunks, gaps, None)
    }

    fn summaries(
        &self,
        inside: impl Fn(usize) -> bool,
        chunks: Option<&ChunkFacts>,
        gaps: impl Fn(&GapSummaries) -> Option<Summary>,
        between_sends: Option<Summary>,
    ) -> Vec<MetricSummary> {
        let rows: Vec<usize> =
            (0..self.requests.len()).filter(|i| inside(*i) && self.requests.in_scope(*i, self.window)).collect();
        let mut out = Vec::new();
        for (position, metric) in METRICS.iter().enumerate() {
            let summary = match metric.compute {
                _ if self.redefined.has(position) => self.redefined.summary(position, &rows, self.percentiles),
                Compute::PerRequest(_) => {
                    let column = &self.requests.values[position];
                    let mut values: Vec<f64> = rows.iter().map(|i| column[*i]).filter(|v| v.is_finite()).collect();
                    Summary::of(&mut values, self.percentiles)
                }
                Compute::PerGap(GapValue::Chunk) => chunks.and_then(|c| gaps(&c.chunk)),
                Compute::PerGap(GapValue::Token) if !self.requests.present.contains("output_tokens") => None,
                Compute::PerGap(GapValue::Token) => chunks.and_then(|c| gaps(&c.token)),
                Compute::BetweenSends => between_sends.clone(),
                Compute::PerRun(_) => None,
            };
            out.extend(summary.map(|summary| MetricSummary { metric: metric.id, summary }));
        }
        out
    }
}
