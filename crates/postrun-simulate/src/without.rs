//! A scenario with one cause taken away: what carries the cause is as on the same machine with nothing injected.
//!
//! As little as possible is changed. The same requests come at the same times, unless they are themselves the cause: what
//! is taken away is the fault, not the work. All random numbers stay as they are, because each has its own address (`rng.rs`).

use crate::cause::Cause;
use crate::scenario::{Client, Failures, Scenario, Stalls};

/// A KV cache so many times as large has room for everybody, and for every prefix.
const ROOM: u32 = 16;
/// A quarter of a load at which everybody waits for everybody is one at which nobody does.
const CROWD: u32 = 4;
/// Requests at a time that give an engine something to do.
const ENOUGH: u32 = 16;

impl Scenario {
    /// The same run without `cause`; `ordinary` is the same machine with nothing injected.
    pub fn without(&self, cause: Cause, ordinary: &Scenario) -> Scenario {
        let mut s = self.clone();
        s.causes.retain(|c| *c != cause);
        match cause {
            Cause::LongPromptsRaiseTtft => s.prompts.clone_from(&ordinary.prompts),
            Cause::HighTpot => {
                s.step.gpu_us = ordinary.step.gpu_us;
                s.step.kv_read_ns_per_token = ordinary.step.kv_read_ns_per_token;
            }
            Cause::ItlJitter => {
                s.disturbances.server_stalls = Stalls::default();
                s.network.clone_from(&ordinary.network);
                s.step.noise_sigma = ordinary.step.noise_sigma;
            }
            Cause::LowThroughput => {
                s.step.cpu_us = ordinary.step.cpu_us;
                s.step.cpu_us_per_request = ordinary.step.cpu_us_per_request;
                s.server.tokenize_us_per_token = ordinary.server.tokenize_us_per_token;
                s.load.max_concurrency = s.load.max_concurrency.map(|n| n.max(ENOUGH));
            }
            Cause::ThroughputAtLatencyCost => {
                s.load.max_concurrency = s.load.max_concurrency.map(|n| n.div_ceil(CROWD));
                if let Some(ramp) = &mut s.load.ramp {
                    ramp.start_per_s = ramp.start_per_s.div_ceil(CROWD);
                    ramp.end_per_s = ramp.end_per_s.div_ceil(CROWD);
                }
            }
            Cause::MemoryNearLimit | Cause::FrequentPreemption | Cause::PrefixCacheIneffective => {
                s.kv.num_blocks = s.kv.num_blocks.saturating_mul(ROOM);
            }
            Cause::HeavyTail => s.outputs = s.outputs.without_longest(),
            Cause::QueueingDominatesTtft | Cause::Saturated => s.server.max_num_seqs = ordinary.server.max_num_seqs,
            Cause::PrefillBlocksDecode => {
                s.server.chunked_prefill = ordinary.server.chunked_prefill;
                s.server.max_num_batched_tokens = ordinary.server.max_num_batched_tokens;
            }
            Cause::FailuresDistortLatency => {
                s.failures = Failures::default();
                s.client.timeout_ms = None;
            }
            Cause::WarmUpInTheNumbers => s.disturbances.warm_up = None,
            Cause::LoadGeneratorBound => {
                s.client = Client { timeout_ms: s.client.timeout_ms, ..ordinary.client.clone() };
            }
            Cause::SpeculationOrChunkingDistortsItl => {
                s.speculation.clone_from(&ordinary.speculation);
                s.server.stream_interval = ordinary.server.stream_interval;
            }
            Cause::TooFewSamplesForP99 => s.load.requests = s.load.requests.max(ordinary.load.requests),
            Cause::LatencyNotSteady => s.disturbances.change = None,
        }
        s
    }
}
