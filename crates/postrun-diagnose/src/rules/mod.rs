//! The registry of rules: one file each, one line in the list here and one in `RULES`.

mod failures_distort_latency;
mod frequent_preemption;
mod heavy_tail;
mod high_tpot;
mod itl_jitter;
mod latency_not_steady;
mod load_generator_bound;
mod long_prompts_raise_ttft;
mod low_throughput;
mod memory_near_limit;
mod prefill_blocks_decode;
mod prefix_cache_ineffective;
mod queueing_dominates_ttft;
mod saturated;
mod speculation_or_chunking_distorts_itl;
pub(crate) mod throughput_at_latency_cost;
mod too_few_samples_for_p99;
mod warm_up_in_the_numbers;

use crate::rule::Rule;

/// All rules, causes before what they cause.
pub static RULES: &[&Rule] = &[
    &load_generator_bound::LOAD_GENERATOR_BOUND,
    &frequent_preemption::FREQUENT_PREEMPTION,
    &memory_near_limit::MEMORY_NEAR_LIMIT,
    &saturated::SATURATED,
    &queueing_dominates_ttft::QUEUEING_DOMINATES_TTFT,
    &long_prompts_raise_ttft::LONG_PROMPTS_RAISE_TTFT,
    &prefill_blocks_decode::PREFILL_BLOCKS_DECODE,
    &throughput_at_latency_cost::THROUGHPUT_AT_LATENCY_COST,
    &low_throughput::LOW_THROUGHPUT,
    &warm_up_in_the_numbers::WARM_UP_IN_THE_NUMBERS,
    &latency_not_steady::LATENCY_NOT_STEADY,
    &high_tpot::HIGH_TPOT,
    &failures_distort_latency::FAILURES_DISTORT_LATENCY,
    &itl_jitter::ITL_JITTER,
    &heavy_tail::HEAVY_TAIL,
    &prefix_cache_ineffective::PREFIX_CACHE_INEFFECTIVE,
    &speculation_or_chunking_distorts_itl::SPECULATION_OR_CHUNKING_DISTORTS_ITL,
    &too_few_samples_for_p99::TOO_FEW_SAMPLES_FOR_P99,
];

/// The rule with this id.
pub fn find_rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}
