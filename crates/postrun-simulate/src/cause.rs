//! The causes a run can be labelled with: the ids of the diagnosis rules.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a run is slow, or why its figures mislead. Serialised as the rule's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Prefill work of long prompts makes up TTFT.
    LongPromptsRaiseTtft,
    /// Every token takes long.
    HighTpot,
    /// Gaps between tokens are uneven: stalls of the server, buffering on the way.
    ItlJitter,
    /// Less comes out than the machine could deliver: little concurrency, CPU work.
    LowThroughput,
    /// More concurrency than the machine gains from; latency pays.
    ThroughputAtLatencyCost,
    /// The KV cache is nearly full most of the time.
    MemoryNearLimit,
    /// Requests are taken off the machine and computed again.
    FrequentPreemption,
    /// A few very long requests make the tail.
    HeavyTail,
    /// Most of TTFT is waiting, in a queue that does not grow for ever.
    QueueingDominatesTtft,
    /// Prompts computed between decode steps hold up running streams.
    PrefillBlocksDecode,
    /// More arrives than can be served: the queue grows through the run.
    Saturated,
    /// Failed requests bend the latencies of the others.
    FailuresDistortLatency,
    /// The first requests were slow, and are in the figures.
    WarmUpInTheNumbers,
    /// The client sends late or reads late.
    LoadGeneratorBound,
    /// Prompts repeat, yet the prefix cache finds little.
    PrefixCacheIneffective,
    /// Several tokens come in one chunk: a gap is not a token's time.
    SpeculationOrChunkingDistortsItl,
    /// Too few requests for a P99.
    TooFewSamplesForP99,
    /// Latency changed in the middle of the run.
    LatencyNotSteady,
}

/// All causes, in the order of the documentation.
pub const CAUSES: [Cause; 18] = [
    Cause::LongPromptsRaiseTtft,
    Cause::HighTpot,
    Cause::ItlJitter,
    Cause::LowThroughput,
    Cause::ThroughputAtLatencyCost,
    Cause::MemoryNearLimit,
    Cause::FrequentPreemption,
    Cause::HeavyTail,
    Cause::QueueingDominatesTtft,
    Cause::PrefillBlocksDecode,
    Cause::Saturated,
    Cause::FailuresDistortLatency,
    Cause::WarmUpInTheNumbers,
    Cause::LoadGeneratorBound,
    Cause::PrefixCacheIneffective,
    Cause::SpeculationOrChunkingDistortsItl,
    Cause::TooFewSamplesForP99,
    Cause::LatencyNotSteady,
];

impl Cause {
    /// The rule's id, e.g. `frequent_preemption`.
    pub fn id(self) -> &'static str {
        match self {
            Cause::LongPromptsRaiseTtft => "long_prompts_raise_ttft",
            Cause::HighTpot => "high_tpot",
            Cause::ItlJitter => "itl_jitter",
            Cause::LowThroughput => "low_throughput",
            Cause::ThroughputAtLatencyCost => "throughput_at_latency_cost",
            Cause::MemoryNearLimit => "memory_near_limit",
            Cause::FrequentPreemption => "frequent_preemption",
            Cause::HeavyTail => "heavy_tail",
            Cause::QueueingDominatesTtft => "queueing_dominates_ttft",
            Cause::PrefillBlocksDecode => "prefill_blocks_decode",
            Cause::Saturated => "saturated",
            Cause::FailuresDistortLatency => "failures_distort_latency",
            Cause::WarmUpInTheNumbers => "warm_up_in_the_numbers",
            Cause::LoadGeneratorBound => "load_generator_bound",
            Cause::PrefixCacheIneffective => "prefix_cache_ineffective",
            Cause::SpeculationOrChunkingDistortsItl => "speculation_or_chunking_distorts_itl",
            Cause::TooFewSamplesForP99 => "too_few_samples_for_p99",
            Cause::LatencyNotSteady => "latency_not_steady",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_id_agree() {
        for cause in CAUSES {
            assert_eq!(serde_json::to_string(&cause).unwrap(), format!("\"{}\"", cause.id()));
        }
    }
}
