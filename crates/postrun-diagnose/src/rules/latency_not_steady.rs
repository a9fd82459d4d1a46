//! Latency is not steady: at some moment of the run it changed for good.
//!
//! # What it finds
//! The moment, and the medians of TTFT or TPOT before and after it.
//!
//! # Why it happens
//! A neighbour, a thermal limit, a deployment, another client, a cache that filled up. One run then holds two, and its
//! percentiles belong to neither.
//!
//! # How it is decided
//! Pettitt's test over the requests in order of sending finds the split; it counts where the medians differ enough, chance
//! is ruled out, and the change is a step and not a drift. Drifts come from a queue that grows (`saturated`) or a load that
//! rises, and are left to those rules. Where requests came more often, or with longer prompts, from the same moment on,
//! that is said, and the finding is less sure.
//!
//! # What to try
//! Find out what happened at that moment; analyse the two parts apart (`report --window`).
//!
//! # When it is wrong
//! A workload whose requests come sorted by length changes by itself.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, time_text, times_text};
use postrun_analysis::ChangePoint;
use postrun_schema::Doc;

pub(super) static LATENCY_NOT_STEADY: Rule = Rule {
    id: "latency_not_steady",
    title: "Latency is not steady",
    doc: Doc::from_source(include_str!("latency_not_steady.rs")),
    thresholds: &[
        Threshold {
            key: "tpot_ratio",
            default: 1.3,
            unit: "after over before, or before over after",
            why: "TPOT of equal runs differs by less",
        },
        Threshold { key: "ttft_ratio", default: 2.0, unit: "as above", why: "TTFT varies more by itself" },
        Threshold { key: "ttft_difference_ms", default: 100.0, unit: "ms", why: "less nobody notices" },
        Threshold { key: "tpot_difference_ms", default: 2.0, unit: "ms", why: "within a client's own noise" },
        Threshold { key: "p_value", default: 0.001, unit: "probability", why: "two metrics of many runs are tested" },
        Threshold {
            key: "abruptness",
            default: 0.4,
            unit: "share of the difference next to the change",
            why: "an even drift has a quarter of it there",
        },
        Threshold {
            key: "side",
            default: 0.1,
            unit: "share of the requests on each side",
            why: "what ends within the first tenth is a warm-up, within the last a drain",
        },
    ],
    explained_by: &[
        "saturated",
        "frequent_preemption",
        "memory_near_limit",
        "queueing_dominates_ttft",
        "throughput_at_latency_cost",
        "warm_up_in_the_numbers",
        "load_generator_bound",
    ],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let changes = &v.run.evidence.changes;
    if changes.is_empty() {
        return Verdict::NotChecked(vec!["send times and latencies of at least 40 requests".to_string()]);
    }
    let ratio = |c: &ChangePoint| {
        let (low, high) = (c.before_ms.min(c.after_ms), c.before_ms.max(c.after_ms));
        high / low.max(1e-6)
    };
    let limits = |c: &ChangePoint| match c.metric {
        "ttft_ms" => (v.limit("ttft_ratio"), v.limit("ttft_difference_ms")),
        _ => (v.limit("tpot_ratio"), v.limit("tpot_difference_ms")),
    };
    let both_sides = |c: &ChangePoint| {
        let all = (c.requests_before + c.requests_after).max(1) as f64;
        c.requests_before.min(c.requests_after) as f64 / all >= v.limit("side")
    };
    let counts = |c: &&ChangePoint| {
        let (by, least) = limits(c);
        ratio(c) >= by
            && (c.after_ms - c.before_ms).abs() >= least
            && c.p_value <= v.limit("p_value")
            && c.abruptness >= v.limit("abruptness")
            && both_sides(c)
    };
    let evidence = |c: &ChangePoint| {
        Evidence::new(c.metric, "p50 after the change", c.after_ms, "ms")
            .against(c.before_ms, "before it")
            .of(c.requests_before + c.requests_after)
    };
    // TPOT does not depend on the queue: a step in it says more.
    let Some(change) = changes.iter().filter(counts).max_by_key(|c| (c.metric == "tpot_ms", c.requests_after)) else {
        return Verdict::Clear(changes.iter().map(evidence).collect());
    };
    let (grew, by) = (change.after_ms > change.before_ms, ratio(change));
    let label = change.metric.trim_end_matches("_ms").to_uppercase();
    let cause = load_change(change);
    let summary = format!(
        "{label} {} from {} to {} at {:.0} s and stayed there{}",
        if grew { "rose" } else { "fell" },
        time_text(change.before_ms),
        time_text(change.after_ms),
        change.at_s,
        cause.as_ref().map_or(String::new(), load_text)
    );
    let amount = change.after_ms - change.before_ms;
    let text = format!("the run is two: {} between its parts", times_text(by));
    let moment = Evidence::new("change_point", "at", change.at_s, "s").of(change.requests_before);
    let chance = Evidence::new("change_point", "p value", change.p_value, "").against(v.limit("p_value"), "threshold");
    let others = changes.iter().filter(counts).filter(|c| c.metric != change.metric).map(evidence).next();
    Finding::new(Severity::Warning, summary, evidence(change), v.advise(Measure::FindChange))
        .and(moment)
        .and(chance)
        .and_if(others)
        // A load that changed at that moment is reason enough.
        .sure((0.5 + 0.45 * change.abruptness) * if cause.is_some() { LOAD_CHANGED } else { 1.0 })
        .and_if(cause)
        .scoped(format!("from {:.0} s after the first send", change.at_s))
        .with_effect(Effect { metric: change.metric, amount, unit: "ms", share: None, text })
        .weighing(0.45 + 0.3 * (1.0 - 1.0 / by.max(1.0)))
        .try_also([v.advise(Measure::SteadyStateOnly)])
        .into()
}

/// What remains of the confidence where the load changed in the same direction.
const LOAD_CHANGED: f64 = 0.6;
/// From here on a rate or a prompt length is another.
const OTHER_LOAD: f64 = 1.25;

/// The part of the load that changed at the same moment and in the same direction, if one did.
fn load_change(c: &ChangePoint) -> Option<Evidence> {
    let grew = c.after_ms > c.before_ms;
    let same = |before: f64, after: f64| {
        let ratio = if grew { after / before.max(1e-9) } else { before / after.max(1e-9) };
        ratio >= OTHER_LOAD
    };
    let (before, after) = (c.sent_per_s_before, c.sent_per_s_after);
    if before > 0.0 && after > 0.0 && same(before, after) {
        return Some(Evidence::new("sent_per_s", "after the change", after, "req/s").against(before, "before it"));
    }
    let (before, after) = c.prompt_tokens_before.zip(c.prompt_tokens_after)?;
    let tokens = Evidence::new("prompt_tokens", "p50 after the change", after, "tokens").against(before, "before it");
    same(before, after).then_some(tokens)
}

/// `: from then on requests came 1.6× as often`.
fn load_text(e: &Evidence) -> String {
    let before = e.compared_with.as_ref().map_or(f64::NAN, |r| r.value);
    let how = if e.metric == "sent_per_s" { "requests came" } else { "prompts were" };
    let what = if e.metric == "sent_per_s" { "often" } else { "long" };
    format!(": from then on {how} {} as {what}", times_text(e.value / before.max(1e-9)))
}
