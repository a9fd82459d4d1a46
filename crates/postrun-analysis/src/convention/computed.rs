//! The figures of a whole run by any definition.

use super::facts::{Columns, Fact, RequestFacts};
use super::load_curves;
use super::prepared::{Prepared, made_of};
use super::quantity::{self, Quantity};
use super::recipe::{Lengths, Peak, Recipe, Span, Which};
use super::weighted::{Weighted, summarise};
use crate::facts::RunFacts;
use crate::figure::RunValue;
use crate::gap_rule::GapRule;
use crate::gaps::ChunkFacts;
use crate::requests::{Outcome, Requests};
use crate::summary::Summary;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What figures are computed from.
pub(crate) struct Computed<'a> {
    pub requests: &'a Requests,
    pub columns: &'a Columns,
    /// By postrun's definitions.
    pub facts: &'a RunFacts,
    /// By postrun's definitions.
    pub values: &'a [RunValue],
    pub chunks: Option<&'a ChunkFacts>,
    pub percentiles: &'a [f64],
    /// The most requests that the client kept under way.
    pub limit: Option<u32>,
    /// What is made of more than one request at a time.
    pub prepared: &'a Prepared,
    /// What was asked for before.
    pub known: Known,
}

/// Summaries and facts that were looked up once.
#[derive(Default)]
pub(crate) struct Known {
    summaries: RefCell<BTreeMap<(&'static str, Recipe), Option<Summary>>>,
    facts: RefCell<BTreeMap<(Fact, Which), bool>>,
}

/// AIPerf's thresholds, where no setting changes them: percent between two counts of the same tokens, percent of the limit asked
/// for, and tokens from it.
const APART_PERCENT: f64 = 10.0;
const OFF_PERCENT: f64 = 5.0;
const OFF_TOKENS: f64 = 50.0;

/// The server and the client counted far different lengths.
fn counts_are_apart(f: &RequestFacts) -> bool {
    let lengths = [(f.prompt, f.client_prompt), (f.output, f.client_output)];
    lengths.into_iter().any(|(server, client)| quantity::apart(server, client).is_some_and(|p| p > APART_PERCENT))
}

/// The output is far from as long as it was to be.
fn is_not_as_requested(f: &RequestFacts) -> bool {
    f.client_output.zip(f.requested).is_some_and(|(output, requested)| {
        let (output, requested) = (f64::from(output), f64::from(requested));
        (output - requested).abs() > (requested * OFF_PERCENT / 100.0).min(OFF_TOKENS)
    })
}

/// The gaps of the metric that is made of them.
const GAPS: &str = "itl_ms";

impl Computed<'_> {
    fn request(&self, i: usize) -> RequestFacts {
        let second_gaps = self.chunks.map_or(&[][..], |c| &c.second_gaps);
        self.columns.request(self.requests, i, second_gaps)
    }

    fn measured(&self) -> impl Iterator<Item = usize> {
        (0..self.requests.len()).filter(|i| self.requests.measured[*i])
    }

    /// Value and weight of every request, in the dataset's order.
    pub(crate) fn column(&self, quantity: &Quantity, recipe: &Recipe) -> Vec<Option<Weighted>> {
        let value = |i: usize| quantity.of(&self.request(i), recipe).filter(|_| self.requests.measured[i]);
        (0..self.requests.len()).map(value).collect()
    }

    /// A statistic, in the unit of the metric's id.
    pub(crate) fn stat(&self, metric: &str, stat: &str, recipe: &Recipe) -> Option<f64> {
        if stat == "value" {
            return self.run(metric, recipe);
        }
        if let Some(prepared) = self.prepared.get(metric, recipe) {
            return prepared.as_ref().ok().filter(|_| self.missing(metric, recipe).is_none())?.stat(stat);
        }
        let scale = if metric.ends_with("_ms") && stat != "count" { 1e-6 } else { 1.0 };
        // The spread of a sample of one is no number.
        self.summary(metric, recipe)?.stat(stat).filter(|value| !value.is_nan()).map(|value| value * scale)
    }

    fn summary(&self, metric: &str, recipe: &Recipe) -> Option<Summary> {
        if let (GAPS, Some(rule)) = (metric, GapRule::of(recipe)) {
            let chunks = self.chunks.filter(|_| self.missing(metric, recipe).is_none())?;
            return chunks.by_rule.iter().find(|(known, _)| *known == rule).and_then(|(_, summary)| summary.clone());
        }
        let quantity = quantity::find(metric)?;
        if let Some(known) = self.known.summaries.borrow().get(&(quantity.id, *recipe)) {
            return known.clone();
        }
        let mut values: Vec<Weighted> = self.column(quantity, recipe).into_iter().flatten().collect();
        if let Some(also) = quantity.also {
            let answered = self.measured().filter(|i| self.requests.status[*i] == Outcome::Ok);
            values.extend(answered.filter_map(|i| also(&self.request(i))));
        }
        let summary = summarise(&mut values, self.percentiles, recipe);
        self.known.summaries.borrow_mut().insert((quantity.id, *recipe), summary.clone());
        summary
    }

    /// The first fact that a definition needs and the recording lacks.
    pub(crate) fn missing(&self, metric: &str, recipe: &Recipe) -> Option<Fact> {
        if let Some(Err(fact)) = self.prepared.get(made_of(metric), recipe) {
            return Some(*fact);
        }
        let facts = match (quantity::find(metric), load_curves::find(metric)) {
            (Some(quantity), _) => (quantity.needs)(recipe),
            (None, Some(curve)) => curve.needs().to_vec(),
            (None, None) => self.needs_of_run(metric, recipe),
        };
        facts.into_iter().find(|fact| {
            let known = self.known.facts.borrow().get(&(*fact, recipe.which)).copied();
            !known.unwrap_or_else(|| {
                let has = self.has(*fact, recipe);
                self.known.facts.borrow_mut().insert((*fact, recipe.which), has);
                has
            })
        })
    }

    fn needs_of_run(&self, metric: &str, recipe: &Recipe) -> Vec<Fact> {
        let whole = recipe.span == Span::LastResponse;
        let mut facts: Vec<Fact> = if whole { vec![Fact::SendTimes, Fact::ResponseEnd] } else { Vec::new() };
        let lengths = |best, client| match recipe.lengths {
            Lengths::Best => best,
            Lengths::Client => client,
            Lengths::Counted => Fact::CountedTokens,
        };
        if metric.starts_with("prompt_tokens") || metric.starts_with("total_tokens") {
            facts.push(lengths(Fact::PromptTokens, Fact::ClientPromptTokens));
        }
        if metric.starts_with("output_tokens") || metric.starts_with("total_tokens") {
            facts.push(lengths(Fact::OutputTokens, Fact::ClientOutputTokens));
        }
        if metric == "mean_concurrency" {
            facts.extend(quantity::find("e2e_ms").map(|q| (q.needs)(recipe)).unwrap_or_default());
        }
        if metric == "duration_s" || metric.starts_with("peak_") {
            facts.push(Fact::SendTimes);
        }
        if metric == "peak_output_tokens_per_s" {
            facts.push(Fact::ChunkTimes);
        }
        facts
    }

    fn has(&self, fact: Fact, recipe: &Recipe) -> bool {
        let any = |known: fn(&RequestFacts) -> bool| self.measured().any(|i| known(&self.request(i)));
        match fact {
            Fact::FirstToken => any(|f| f.first_token.is_some()),
            Fact::LastToken => any(|f| f.last_token.is_some()),
            Fact::ResponseEnd if recipe.which == Which::Ok => any(|f| f.answered && f.response_end.is_some()),
            Fact::ResponseEnd => any(|f| f.response_end.is_some()),
            Fact::Schedule => any(|f| f.waited.is_some()),
            Fact::SendTimes => self.requests.first_send_ns().is_some(),
            Fact::WallClock => any(|f| f.unix[1].is_some()),
            Fact::PromptTokens => any(|f| f.prompt.is_some()),
            Fact::OutputTokens => any(|f| f.output.is_some()),
            Fact::ClientPromptTokens => any(|f| f.client_prompt.is_some()),
            Fact::ClientOutputTokens => any(|f| f.client_output.is_some()),
            Fact::ChunkTimes => self.chunks.is_some(),
            Fact::ChunkTokens => self.chunks.is_some_and(|c| c.tokens_known),
            Fact::Reasoning => any(|f| f.reasoning.is_some()),
            Fact::AnswerStart => {
                let mut answered = self.measured().map(|i| self.request(i)).filter(|f| f.answered).peekable();
                answered.peek().is_some() && answered.all(|f| f.reasoning == Some(0))
            }
            Fact::CountedChunks => any(|f| f.counted_chunks.is_some()),
            Fact::CountedTokens => any(|f| f.counted_events.is_some()),
            Fact::RequestedTokens => any(|f| f.requested.is_some()),
            // These are missed where the figures are made.
            Fact::OwnNumber | Fact::MeasuredFrom | Fact::Curve | Fact::RoomForGaps => true,
            Fact::StreamMeans => self.chunks.is_some() || any(|f| f.client_itl.is_some()),
        }
    }

    /// One figure of the run.
    pub(crate) fn run(&self, metric: &str, recipe: &Recipe) -> Option<f64> {
        let f = self.facts;
        let not_ok = (f.requests - f.ok) as f64;
        match metric {
            "duration_s" => self.span(recipe),
            "requests_total" => Some(f.requests as f64),
            "requests_ok" if recipe.which == Which::All => Some(f.requests as f64),
            "requests_ok" => Some(f.ok as f64),
            "requests_failed" if recipe.which == Which::NotOk => Some(not_ok),
            "requests_failed" => Some(f.failed as f64),
            "requests_incomplete" => Some(not_ok - f.failed as f64),
            "failure_rate" if recipe.which == Which::NotOk && f.requests > 0 => Some(not_ok / f.requests as f64),
            "requests_per_s" if recipe.which == Which::All => self.rate(Some(f.requests as f64), recipe),
            "requests_per_s" => self.rate(Some(f.ok as f64), recipe),
            "prompt_tokens" | "output_tokens" | "total_tokens" | "answer_tokens" => self.tokens(metric, recipe),
            "prompt_tokens_per_s" => self.rate(self.tokens("prompt_tokens", recipe), recipe),
            "output_tokens_per_s" => self.rate(self.tokens("output_tokens", recipe), recipe),
            "total_tokens_per_s" => self.rate(self.tokens("total_tokens", recipe), recipe),
            "send_span_s" => self.send_span_s(),
            "sends_per_s" => self.send_span_s().filter(|s| *s > 0.0).map(|s| f.requests as f64 / s),
            "speculative_acceptance" => {
                let tokens = self.summary("tokens_per_step", recipe)?.mean;
                Some((1.0 - 1.0 / tokens).clamp(0.0, 1.0))
            }
            "usage_discrepancies" => self.count(|f| f.answered && counts_are_apart(f)),
            "requested_mismatches" => self.count(|f| f.answered && is_not_as_requested(f)),
            metric if made_of(metric) != metric => {
                let parts = self.prepared.get(made_of(metric), recipe)?.as_ref().ok()?;
                match metric {
                    "sampled_concurrency_share" => self.limit.map(|limit| parts.mean / f64::from(limit)),
                    rate if rate.ends_with("_per_s") => self.rate(parts.stat("sum"), recipe),
                    _ => parts.stat("sum"),
                }
            }
            "peak_output_tokens_per_s" if recipe.peak == Peak::BySecond => self.known_value("peak_chunks_per_s"),
            "peak_concurrency" if recipe.peak == Peak::BySecond => self.known_value("peak_requests_in_1s"),
            "mean_concurrency" if self.requests.len() > 0 => self.rate(self.busy_s(recipe), recipe),
            _ => self.known_value(metric),
        }
    }

    /// By postrun's definition.
    fn known_value(&self, metric: &str) -> Option<f64> {
        self.values.iter().find(|v| v.metric == metric).map(|v| v.value)
    }

    /// From the first send to the last.
    fn send_span_s(&self) -> Option<f64> {
        let sends = || self.measured().filter_map(|i| self.requests.sent_ns[i]);
        Some(sends().max()?.saturating_sub(sends().min()?) as f64 / 1e9)
    }

    fn count(&self, of: impl Fn(&RequestFacts) -> bool) -> Option<f64> {
        let rows = self.requests.len() > 0;
        rows.then(|| self.measured().filter(|i| of(&self.request(*i))).count() as f64)
    }

    fn rate(&self, amount: Option<f64>, recipe: &Recipe) -> Option<f64> {
        let seconds = match recipe.span {
            Span::Measured => self.facts.duration_s,
            Span::LastToken | Span::LastResponse => self.span(recipe),
        };
        Some(amount? / seconds.filter(|s| *s > 0.0)?)
    }

    /// All tokens of one kind; `None` unless every request that takes part has them.
    fn tokens(&self, metric: &str, recipe: &Recipe) -> Option<f64> {
        if recipe.lengths == Lengths::Best && recipe.which == Which::Ok && metric != "answer_tokens" {
            let (prompt, output) = (self.facts.prompt_tokens.map(|n| n as f64), self.facts.output_tokens);
            return match metric {
                "prompt_tokens" => prompt,
                "output_tokens" => output,
                _ => Some(prompt? + output?),
            };
        }
        if self.requests.len() == 0 {
            return None;
        }
        let quantity = quantity::find(metric)?;
        let takes_part = |i: &usize| recipe.which.admits(self.requests.status[*i] == Outcome::Ok);
        self.measured().filter(takes_part).map(|i| quantity.of(&self.request(i), recipe).map(|(value, _)| value)).sum()
    }

    fn busy_s(&self, recipe: &Recipe) -> Option<f64> {
        self.summary("e2e_ms", recipe)?.stat("sum").map(|ns| ns / 1e9)
    }

    fn span(&self, recipe: &Recipe) -> Option<f64> {
        if recipe.span != Span::LastResponse {
            return self.requests.span().map(|span| span.seconds());
        }
        let end = |i: usize| {
            let f = self.request(i);
            Some(self.requests.sent_ns[i]?.saturating_add(f.response_end?))
        };
        let from = self.requests.first_send_ns()?;
        // A last response is only known where those of answered requests are.
        self.measured().filter(|i| self.requests.status[*i] == Outcome::Ok).find_map(end)?;
        let to = self.measured().filter_map(end).max()?;
        Some((to - from) as f64 / 1e9)
    }
}
