//! What the slowest requests have in common that the others do not.

use super::Preempted;
use super::rank::quantile;
use crate::requests::Requests;
use serde::Serialize;
use std::collections::BTreeSet;

const FEWEST: usize = 50;
/// The slow ones: one in a hundred, but enough to have something in common, and never more than a tenth.
const SLOW_SHARE: f64 = 0.01;
const SLOW_AT_LEAST: usize = 5;
const NAMED: usize = 5;

/// The tail of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tail {
    /// Metric id.
    pub metric: &'static str,
    /// Requests with the value.
    pub requests: u64,
    /// Median of all, in milliseconds.
    pub p50_ms: f64,
    /// P99 of all, in milliseconds.
    pub p99_ms: f64,
    /// How many are called slow.
    pub slow: u64,
    /// The slowest ones.
    pub slowest: Vec<u32>,
    /// What they have in common, the strongest first.
    pub features: Vec<Feature>,
}

/// A property of requests, and how often the slow ones have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Feature {
    /// `queued`, `preempted`, `long_prompt`, `long_output`, `one_time_span` or `one_worker`.
    pub name: &'static str,
    /// Share of the slow requests that have it.
    pub of_slow: f64,
    /// Share of the others.
    pub of_rest: f64,
    /// The one over the other; at most 100.
    pub lift: f64,
}

pub(crate) fn of(r: &Requests, metric: &'static str, preempted: Preempted<'_>) -> Option<Tail> {
    let values = r.metric(metric)?;
    let mut rows: Vec<(f64, usize)> =
        (0..r.len()).filter(|i| r.counts(*i)).map(|i| (values[i] / 1e6, i)).filter(|(v, _)| v.is_finite()).collect();
    if rows.len() < FEWEST {
        return None;
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let slow = ((rows.len() as f64 * SLOW_SHARE).ceil() as usize).max(SLOW_AT_LEAST);
    let (slow_rows, rest) = rows.split_at(slow);
    let indices = |part: &[(f64, usize)]| part.iter().map(|(_, i)| *i).collect::<Vec<usize>>();
    let mut all: Vec<f64> = rows.iter().map(|(v, _)| *v).collect();
    let mut features = features(r, &indices(slow_rows), &indices(rest), preempted);
    features.sort_by(|a, b| (b.of_slow - b.of_rest).total_cmp(&(a.of_slow - a.of_rest)));
    Some(Tail {
        metric,
        requests: rows.len() as u64,
        p50_ms: quantile(&mut all, 0.5)?,
        p99_ms: quantile(&mut all, 0.99)?,
        slow: slow as u64,
        slowest: slow_rows.iter().take(NAMED).map(|(_, i)| *i as u32).collect(),
        features,
    })
}

fn features(r: &Requests, slow: &[usize], rest: &[usize], preempted: Preempted<'_>) -> Vec<Feature> {
    let mut out = Vec::new();
    let mut add = |name: &'static str, has: &dyn Fn(usize) -> bool| {
        let share = |part: &[usize]| part.iter().filter(|i| has(**i)).count() as f64 / part.len().max(1) as f64;
        let (of_slow, of_rest) = (share(slow), share(rest));
        let lift = if of_rest > 0.0 {
            (of_slow / of_rest).min(100.0)
        } else if of_slow > 0.0 {
            100.0
        } else {
            1.0
        };
        out.push(Feature { name, of_slow, of_rest, lift });
    };
    let top_tenth = |values: &dyn Fn(usize) -> Option<f64>| {
        let mut known: Vec<f64> = slow.iter().chain(rest).filter_map(|i| values(*i)).collect();
        let median = quantile(&mut known, 0.5)?;
        // Lengths that hardly differ make nobody long.
        quantile(&mut known, 0.9).filter(|limit| *limit > 1.3 * median)
    };
    let prompt = |i: usize| r.prompt_tokens[i].map(f64::from);
    let output = |i: usize| r.output_tokens[i].map(f64::from);
    for (name, values) in [("long_prompt", &prompt as &dyn Fn(usize) -> Option<f64>), ("long_output", &output)] {
        if let Some(limit) = top_tenth(values) {
            add(name, &|i| values(i).is_some_and(|v| v >= limit));
        }
    }
    if let Some(queue) = r.metric("queue_ms") {
        let waited = |i: usize| queue[i].is_finite() && queue[i] > 0.5 * r.ttft_ns[i].unwrap_or(i64::MAX) as f64;
        add("queued", &waited);
    }
    let hit: BTreeSet<u32> = preempted.iter().copied().collect();
    let recorded = r.metric("preemptions");
    if recorded.is_some() || !hit.is_empty() {
        add("preempted", &|i| hit.contains(&(i as u32)) || recorded.is_some_and(|n| n[i] > 0.0));
    }
    if let Some((from, to)) = densest_tenth(r, slow) {
        add("one_time_span", &|i| r.sent_ns[i].is_some_and(|at| (from..=to).contains(&at)));
    }
    out
}

/// The tenth of the run in which most of the slow requests were sent.
fn densest_tenth(r: &Requests, slow: &[usize]) -> Option<(i64, i64)> {
    let span = r.span()?;
    let width = (span.end_ns - span.start_ns) / 10;
    let mut sends: Vec<i64> = slow.iter().filter_map(|i| r.sent_ns[*i]).collect();
    sends.sort_unstable();
    let inside = |from: i64| sends.iter().filter(|at| (from..=from.saturating_add(width)).contains(*at)).count();
    let from = sends.iter().copied().max_by_key(|from| (inside(*from), std::cmp::Reverse(*from)))?;
    Some((from, from.saturating_add(width)))
}
