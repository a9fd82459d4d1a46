//! The registry of rules: one file each, one line in the list here and one in `RULES`.

mod frequent_preemption;
mod long_prompts_raise_ttft;
mod memory_near_limit;
mod queueing_dominates_ttft;
mod saturated;

use crate::rule::Rule;

/// All rules, causes before what they cause.
pub static RULES: &[&Rule] = &[
    &frequent_preemption::FREQUENT_PREEMPTION,
    &memory_near_limit::MEMORY_NEAR_LIMIT,
    &saturated::SATURATED,
    &queueing_dominates_ttft::QUEUEING_DOMINATES_TTFT,
    &long_prompts_raise_ttft::LONG_PROMPTS_RAISE_TTFT,
];

/// The rule with this id.
pub fn find_rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}
