//! What a client estimates of all its requests together: values that no request has by itself.
//!
//! inference-profiler takes the lowest TTFT of the requests whose prompts are about as long for the prefill of each of them, and
//! the rest of its TTFT for its wait. It counts the requests under way every quarter of a second.

use super::facts::{Columns, Fact};
use crate::requests::Requests;
use std::collections::BTreeMap;

const SECOND_NS: f64 = 1e9;
/// Prompts in one stretch of so many tokens count as equally long.
const LENGTH_TOKENS: u32 = 128;
const STEP_NS: f64 = SECOND_NS / 4.0;
/// A longer run is not followed.
const MOST_STEPS: usize = 1 << 24;

/// An estimate, and the values it sums up.
pub(crate) struct Estimate {
    /// Name under which clients report it.
    pub id: &'static str,
    /// In the unit of the name.
    pub values: fn(&Requests, &Columns) -> Vec<f64>,
    pub needs: Fact,
}

/// Every estimate.
pub(crate) static ESTIMATES: &[Estimate] = &[
    Estimate {
        id: "estimated_prefill_ms",
        values: |requests, _| lowest_ttft(requests).into_iter().map(|(lowest, _)| lowest).collect(),
        needs: Fact::FirstToken,
    },
    Estimate {
        id: "estimated_wait_ms",
        values: |requests, _| lowest_ttft(requests).into_iter().map(|(lowest, ttft)| ttft - lowest).collect(),
        needs: Fact::FirstToken,
    },
    Estimate { id: "sampled_concurrency", values: sampled_concurrency, needs: Fact::SendTimes },
];

pub(crate) fn find(id: &str) -> Option<&'static Estimate> {
    ESTIMATES.iter().find(|e| e.id == id)
}

/// Of each answered request the lowest TTFT of those as long as it, and its own, in milliseconds.
fn lowest_ttft(requests: &Requests) -> Vec<(f64, f64)> {
    let of = |i: usize| Some((requests.prompt_tokens[i]? / LENGTH_TOKENS, requests.ttft_ns[i]? as f64 / 1e6));
    let known = || (0..requests.len()).filter(|i| requests.counts(*i)).filter_map(of);
    let mut lowest: BTreeMap<u32, f64> = BTreeMap::new();
    for (length, ttft) in known() {
        let least = lowest.entry(length).or_insert(ttft);
        *least = least.min(ttft);
    }
    known().map(|(length, ttft)| (lowest.get(&length).copied().unwrap_or(ttft), ttft)).collect()
}

/// How many requests were under way at every step from the first send to the last end.
fn sampled_concurrency(requests: &Requests, columns: &Columns) -> Vec<f64> {
    let span = |i: usize| {
        let f = columns.request(requests, i, &[]);
        let (sent, lasted) = (requests.sent_ns[i]?, f.response_end.or(f.last_token)?);
        (lasted > 0).then(|| (sent as f64, sent.saturating_add(lasted) as f64))
    };
    let spans = || (0..requests.len()).filter(|i| requests.measured[*i]).filter_map(span);
    let Some(first) = spans().map(|(sent, _)| sent).reduce(f64::min) else { return Vec::new() };
    let last = spans().map(|(_, end)| end).fold(first, f64::max);
    // The first step that is not before a point.
    let step = |at: f64| ((at - first) / STEP_NS).ceil() as usize;
    let steps = step(last + STEP_NS);
    if steps > MOST_STEPS {
        return Vec::new();
    }
    let mut under_way = vec![0.0; steps + 1];
    for (sent, end) in spans() {
        under_way[step(sent).min(steps)] += 1.0;
        under_way[step(end).min(steps)] -= 1.0;
    }
    let mut level = 0.0;
    for change in &mut under_way {
        level += *change;
        *change = level;
    }
    under_way.truncate(steps);
    under_way
}
