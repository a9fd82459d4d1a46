//! The server's side of a run (or of a window) in figures.

use super::clock::{self, ClockFacts};
use super::kv_tokens::{self, KvTokens};
use super::level;
use super::tracks::{Track, Tracks};
use crate::requests::Requests;
use crate::stall::StallFindings;
use crate::window::Window;
use postrun_schema::Manifest;
use serde::Serialize;
use std::collections::BTreeMap;

/// KV cache usage from here on is called full.
pub const FULL_SHARE: f64 = 0.9;

/// What preemption did to the run. Null: not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preemption {
    /// Preemptions in all.
    pub total: Option<f64>,
    /// Requests preempted at least once.
    pub requests_hit: Option<u64>,
    /// Requests that were preempted at the least, where not all can be found.
    pub requests_hit_at_least: Option<u64>,
    /// Seconds lost before first tokens, over all requests.
    pub prefill_s: Option<f64>,
    /// Seconds lost after first tokens, over all requests.
    pub decode_s: Option<f64>,
    /// Where the figures come from.
    pub source: String,
}

/// Use of the KV cache over time, as fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KvCacheUsage {
    /// Mean over time.
    pub mean: Option<f64>,
    /// Largest sample.
    pub max: Option<f64>,
    /// Share of the time at 0.9 or more.
    pub share_over_90: Option<f64>,
    /// `recorded`, or `rebuilt from requests in flight`.
    pub source: &'static str,
}

/// A level over time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Mean over time; null: too few samples for one.
    pub mean: Option<f64>,
    /// Largest sample.
    pub max: f64,
}

/// Everything of the server's side; `None` where no recording tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerFacts {
    /// The clocks.
    pub clock: Option<ClockFacts>,
    /// Preemption.
    pub preemption: Option<Preemption>,
    /// KV cache over time.
    pub kv_cache_usage: Option<KvCacheUsage>,
    /// Tokens in the KV cache, rebuilt from the client's trace.
    pub kv_tokens: Option<KvTokens>,
    /// Requests in the running batch.
    pub running: Option<Level>,
    /// Requests in the server's queue.
    pub waiting: Option<Level>,
    /// Share of prompt tokens found in the prefix cache.
    pub prefix_cache_hit_rate: Option<f64>,
    /// Sum of queue times over the sum of TTFTs.
    pub queue_share_of_ttft: Option<f64>,
    /// Mean queue time in milliseconds by the server's own sums, where single queue times are not recorded.
    pub queue_mean_ms: Option<f64>,
    /// Requests that the server finished.
    pub requests_finished: Option<f64>,
    /// Most device memory in use, over all devices.
    pub gpu_memory_peak_bytes: Option<f64>,
    /// Device memory there is.
    pub gpu_memory_total_bytes: Option<f64>,
    /// Mean share of time in which the devices computed.
    pub gpu_utilization: Option<f64>,
    /// Mean size of the running batch that a generated token saw.
    pub batch_size_seen: Option<f64>,
}

/// What is asked for.
pub(crate) struct Question<'a> {
    pub tracks: &'a Tracks,
    pub requests: &'a Requests,
    pub manifest: &'a Manifest,
    pub window: Option<Window>,
    /// What the client's streams show.
    pub stalls: Option<&'a StallFindings>,
}

impl Question<'_> {
    pub(crate) fn answer(&self) -> ServerFacts {
        let window = self.window.or_else(|| self.requests.extent());
        let track = |name: &str| self.track(name);
        let level = |name: &str| {
            let track = track(name)?;
            Some(Level { mean: level::sound_mean(track, window), max: level::max(track, window)? })
        };
        let kv_tokens = self.kv_tokens();
        let memory = track("gpu_memory_used_bytes");
        ServerFacts {
            clock: clock::of(self.manifest),
            preemption: self.preemption(window),
            kv_cache_usage: track("kv_cache_usage")
                .and_then(|t| recorded_usage(t, window))
                .or_else(|| rebuilt(&kv_tokens)),
            kv_tokens,
            running: level("running"),
            waiting: level("waiting"),
            prefix_cache_hit_rate: self.prefix_cache_hit_rate(window),
            queue_share_of_ttft: self.queue_share_of_ttft().or_else(|| self.queue_share_by_sums(window)),
            queue_mean_ms: self.queue_mean_ms(window),
            requests_finished: track("requests_finished_total").and_then(|t| level::increase(t, window)),
            gpu_memory_peak_bytes: memory.and_then(|t| level::max(t, window)),
            gpu_memory_total_bytes: track("gpu_memory_total_bytes").and_then(|t| level::max(t, window)),
            gpu_utilization: track("gpu_utilization").and_then(|t| level::sound_mean(t, window)),
            batch_size_seen: self.batch_size_seen(window),
        }
    }

    /// A series that figures of the run can be made from.
    fn track(&self, name: &str) -> Option<&Track> {
        self.tracks.get(name).filter(|track| level::covers(track, self.requests.extent()))
    }

    /// From the server's records of requests where they tell, the total from its counter where there is one.
    fn preemption(&self, window: Option<Window>) -> Option<Preemption> {
        let counted = self.track("preemptions_total").and_then(|t| level::increase(t, window));
        let by_request = self.of_requests("preemptions");
        let seconds = |metric: &str| {
            let values = self.of_requests(metric);
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / 1e9)
        };
        if counted.is_none() && by_request.is_empty() {
            return None;
        }
        if let (Some(total), true, None) = (counted, by_request.is_empty(), self.window)
            && total > 0.0
        {
            return Some(self.preemption_by_pauses(total));
        }
        // A counter that did not move says of every request that it was not preempted.
        let none = counted == Some(0.0);
        let recorded = !by_request.is_empty();
        let source = match (counted.is_some(), recorded) {
            (true, true) => "counter of the server, requests from its records",
            (true, false) => "counter of the server",
            (false, _) => "the server's records of requests",
        };
        let zero = none.then_some(0.0);
        Some(Preemption {
            total: counted.or_else(|| recorded.then(|| by_request.iter().sum())),
            requests_hit: match recorded {
                true => Some(by_request.iter().filter(|n| **n > 0.0).count() as u64),
                false => none.then_some(0),
            },
            requests_hit_at_least: None,
            prefill_s: seconds("preempted_prefill_ms").or(zero),
            decode_s: seconds("preempted_decode_ms").or(zero),
            source: source.to_string(),
        })
    }

    /// The server's counter says how many, the pauses of the client's streams say whom they hit. Where the pauses explain
    /// less than three quarters of the counter, most struck before the first token, and only a lower bound is known.
    fn preemption_by_pauses(&self, total: f64) -> Preemption {
        let none = StallFindings::default();
        let found = self.stalls.unwrap_or(&none);
        let mut hit: Vec<u32> = found.hit().collect();
        hit.sort_unstable();
        hit.dedup();
        let explained = !found.preempted.is_empty() && found.preempted.len() as f64 >= 0.75 * total;
        let lost_ns: i64 = found.preempted.iter().map(|(_, ns)| *ns).sum();
        let known = explained && !hit.is_empty();
        let source = match (known, hit.is_empty()) {
            (true, _) => "counter of the server; requests and time from pauses of the client's streams",
            (false, false) => "counter of the server; most struck before first tokens, where the client sees no pause",
            (false, true) => "counter of the server",
        };
        Preemption {
            total: Some(total),
            requests_hit: known.then_some(hit.len() as u64),
            requests_hit_at_least: (!known && !hit.is_empty()).then_some(hit.len() as u64),
            prefill_s: None,
            decode_s: (!hit.is_empty()).then_some(lost_ns as f64 / 1e9),
            source: source.to_string(),
        }
    }

    /// Values of a per-request metric over all measured requests of the scope: one that failed was preempted all the same.
    fn of_requests(&self, metric: &str) -> Vec<f64> {
        let r = self.requests;
        let Some(values) = r.metric(metric) else { return Vec::new() };
        (0..r.len()).filter(|i| r.belongs(*i, self.window)).map(|i| values[i]).filter(|v| v.is_finite()).collect()
    }

    fn prefix_cache_hit_rate(&self, window: Option<Window>) -> Option<f64> {
        let increase = |name: &str| self.track(name).and_then(|t| level::increase(t, window));
        let asked = increase("prefix_cache_queries_total").filter(|n| *n > 0.0);
        match (asked, increase("prefix_cache_hits_total")) {
            (Some(asked), Some(hits)) => Some(hits / asked),
            _ => {
                let prompt = increase("prompt_tokens_total").filter(|n| *n > 0.0);
                let cached = increase("cached_prompt_tokens_total");
                let ratio = prompt.zip(cached).map(|(prompt, cached)| cached / prompt);
                ratio.or_else(|| level::sound_mean(self.track("prefix_cache_hit_rate")?, window))
            }
        }
    }

    /// Over the requests that have both, so that neither is divided by what it was not part of.
    fn queue_share_of_ttft(&self) -> Option<f64> {
        let r = self.requests;
        let (queue, ttft) = (r.metric("queue_ms")?, r.metric("ttft_ms")?);
        let (mut queued, mut waited) = (0.0, 0.0);
        for i in (0..r.len()).filter(|i| r.in_scope(*i, self.window)) {
            if queue[i].is_finite() && ttft[i].is_finite() {
                queued += queue[i];
                waited += ttft[i];
            }
        }
        (waited > 0.0).then(|| queued / waited)
    }

    /// Mean of the server's queue times over the run, by its counters.
    fn queue_mean_ms(&self, window: Option<Window>) -> Option<f64> {
        let increase = |name: &str| level::increase(self.track(name)?, window);
        let requests = increase("queue_requests_total").filter(|n| *n > 0.0)?;
        Some(increase("queue_seconds_total")? / requests * 1e3)
    }

    /// The mean queue time over the client's mean TTFT.
    fn queue_share_by_sums(&self, window: Option<Window>) -> Option<f64> {
        let ttft = self.of_requests("ttft_ms");
        let mean_ms = ttft.iter().sum::<f64>() / ttft.len().max(1) as f64 / 1e6;
        (mean_ms > 0.0).then(|| self.queue_mean_ms(window).map(|queue| (queue / mean_ms).min(1.0)))?
    }

    /// Running requests at each sample, weighted by the tokens generated since the sample before.
    fn batch_size_seen(&self, window: Option<Window>) -> Option<f64> {
        let (running, tokens) = (self.track("running")?, self.track("output_tokens_total")?);
        let inside = |at: i64| window.filter(|_| running.aligned).is_none_or(|w| w.contains(at));
        let (mut sum, mut weight) = (0.0, 0.0);
        for pair in running.points.windows(2) {
            let (from, to) = (pair[0].0, pair[1].0);
            let grown = level::counter_at(tokens, to)? - level::counter_at(tokens, from).unwrap_or(0.0);
            if inside(to) && grown > 0.0 {
                sum += grown * (pair[0].1 + pair[1].1) / 2.0;
                weight += grown;
            }
        }
        (weight > 0.0).then(|| sum / weight)
    }

    fn kv_tokens(&self) -> Option<KvTokens> {
        let prefill = self.requests.metric("prefill_ms");
        let prefill: Vec<Option<i64>> =
            prefill.into_iter().flatten().map(|v| v.is_finite().then_some(*v as i64)).collect();
        let capacity = capacity_tokens(&self.manifest.server)
            .or_else(|| self.tracks.get("kv_cache_capacity_tokens")?.points.iter().map(|p| p.1).reduce(f64::max));
        let block = number(&self.manifest.server, "block_size").filter(|b| *b > 1.0 && *b < 1e5).unwrap_or(0.0);
        kv_tokens::rebuild(self.requests, &prefill, capacity, block, self.window)
    }
}

fn number(facts: &BTreeMap<String, String>, key: &str) -> Option<f64> {
    facts.get(key)?.parse().ok().filter(|v: &f64| v.is_finite() && *v > 0.0)
}

/// Tokens that fit the KV cache, as the server says or as its blocks make them.
fn capacity_tokens(facts: &BTreeMap<String, String>) -> Option<f64> {
    number(facts, "kv_cache_capacity_tokens")
        .or_else(|| Some(number(facts, "num_gpu_blocks")? * number(facts, "block_size")?))
}

fn recorded_usage(track: &Track, window: Option<Window>) -> Option<KvCacheUsage> {
    let max = level::max(track, window)?;
    Some(KvCacheUsage {
        mean: level::sound_mean(track, window),
        max: Some(max),
        share_over_90: level::share_at_least(track, window, FULL_SHARE),
        source: "recorded",
    })
}

fn rebuilt(tokens: &Option<KvTokens>) -> Option<KvCacheUsage> {
    let tokens = tokens.as_ref()?;
    let capacity = tokens.capacity_tokens?;
    Some(KvCacheUsage {
        mean: Some((tokens.mean_tokens / capacity).min(1.0)),
        max: Some((tokens.peak_tokens / capacity).min(1.0)),
        share_over_90: tokens.share_over_90,
        source: "rebuilt from requests in flight",
    })
}
