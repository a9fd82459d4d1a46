//! The server's side of a run in the JSON report.

use postrun_analysis::{ClockFacts, KvCacheUsage, KvTokens, Level, Preemption, RunAnalysis, Stall};
use serde::Serialize;

/// Keys that stand directly under a run. Null where no recording tells.
#[derive(Serialize)]
pub(crate) struct ServerKeys<'a> {
    clock: Option<&'a ClockFacts>,
    preemption: Option<&'a Preemption>,
    kv_cache_usage: Option<&'a KvCacheUsage>,
    kv_cache_tokens: Option<&'a KvTokens>,
    waiting: Option<Level>,
    running: Option<Level>,
    prefix_cache_hit_rate: Option<f64>,
    queue_share_of_ttft: Option<f64>,
    batch_size_seen: Option<f64>,
    device: Device,
    stalls: Option<Vec<StallRow>>,
    stalls_total: Option<u64>,
}

#[derive(Serialize)]
struct Device {
    memory_peak_bytes: Option<f64>,
    memory_total_bytes: Option<f64>,
    utilization_mean: Option<f64>,
}

#[derive(Serialize)]
struct StallRow {
    request: u32,
    at_s: Option<f64>,
    length_ms: f64,
    class: &'static str,
    confidence: f64,
}

pub(crate) fn keys(a: &RunAnalysis) -> ServerKeys<'_> {
    let s = &a.facts.server;
    ServerKeys {
        clock: s.clock.as_ref(),
        preemption: s.preemption.as_ref(),
        kv_cache_usage: s.kv_cache_usage.as_ref(),
        kv_cache_tokens: s.kv_tokens.as_ref(),
        waiting: s.waiting,
        running: s.running,
        prefix_cache_hit_rate: s.prefix_cache_hit_rate,
        queue_share_of_ttft: s.queue_share_of_ttft,
        batch_size_seen: s.batch_size_seen,
        device: Device {
            memory_peak_bytes: s.gpu_memory_peak_bytes,
            memory_total_bytes: s.gpu_memory_total_bytes,
            utilization_mean: s.gpu_utilization,
        },
        stalls: a.stalls.as_ref().map(|stalls| stalls.longest.iter().map(stall).collect()),
        stalls_total: a.stalls.as_ref().map(|stalls| stalls.total),
    }
}

fn stall(s: &Stall) -> StallRow {
    StallRow {
        request: s.request,
        at_s: s.at_ns.map(|ns| ns as f64 / 1e9),
        length_ms: s.length_ns as f64 / 1e6,
        class: s.class.name(),
        confidence: s.confidence,
    }
}
