//! Throughput comes at the cost of latency: requests are so many that each waits for the others at every token.
//!
//! # What it finds
//! In one run: how much longer a step takes in busy moments than it would for one request. In a sweep: the knee, from which
//! on more load brings next to no throughput and much latency.
//!
//! # Why it happens
//! Batching shares the reading of the weights; that is where throughput comes from. From some batch on, the work of each
//! request outweighs what is shared. A step then grows with the batch, and throughput hardly does.
//!
//! # How it is decided
//! The timeline's busy windows are set against its quiet ones (ramp-up, drain, lulls): the line through both says what a step
//! takes alone. Where the busy step is a multiple of that with many requests in flight, one more request gains little. Over
//! a sweep: runs by load; the knee is where throughput gains less than a tenth while P95 of TTFT or e2e grows by half.
//!
//! # What to try
//! Fewer requests at once, separate instances for online and offline work, a bound on the queue, length classes apart.
//!
//! # When it is wrong
//! A run without quiet moments cannot tell. Offline work may want exactly this.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text, times_text};
use postrun_schema::Doc;

pub(crate) static THROUGHPUT_AT_LATENCY_COST: Rule = Rule {
    id: "throughput_at_latency_cost",
    title: "Throughput comes at the cost of latency",
    doc: Doc::from_source(include_str!("throughput_at_latency_cost.rs")),
    thresholds: &[
        Threshold {
            key: "factor",
            default: 2.2,
            unit: "times the step of one request",
            why: "from twice on, most of a step is other requests' work: one more gains less than half of itself",
        },
        Threshold {
            key: "requests",
            default: 24.0,
            unit: "requests in flight",
            why: "smaller batches are not what one gives latency for",
        },
        Threshold {
            key: "gain",
            default: 0.1,
            unit: "share of throughput",
            why: "within what runs differ by themselves",
        },
        Threshold { key: "growth", default: 0.5, unit: "share of latency", why: "half as much again is felt" },
    ],
    explained_by: &["memory_near_limit", "frequent_preemption", "prefill_blocks_decode"],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let Some(c) = &v.run.evidence.crowding else {
        let missing = "chunk times of a run whose load varies (or a sweep of loads)";
        return Verdict::NotChecked(vec![missing.to_string()]);
    };
    let factor = Evidence::new("crowding", "factor", c.factor, "times the step of one request").of(c.busy_windows);
    let factor = factor.against(v.limit("factor"), "threshold");
    let gap = Evidence::new("itl_ms", "p50 of busy windows", c.busy_gap_ms, "ms");
    let gap = gap.against(c.quiet_gap_ms, "quiet windows").of(c.busy_windows + c.quiet_windows);
    let level = Evidence::new("mean_concurrency", "busy windows", c.busy_level, "requests");
    let level = level.against(c.quiet_level, "quiet windows");
    if c.factor < v.limit("factor") || c.busy_level < v.limit("requests") {
        return Verdict::Clear(vec![factor, level]);
    }
    let lost = 1.0 - 1.0 / c.factor.max(1.0);
    let share = v.decode_s().zip(v.e2e_s()).map(|(decode, all)| decode / all.max(1e-9));
    let summary = format!(
        "with {:.0} requests in flight a token takes {} as long as alone: {} against {}",
        c.busy_level,
        times_text(c.factor),
        time_text(c.busy_gap_ms),
        time_text(c.alone_gap_ms)
    );
    let text = format!(
        "sharing the step adds {} to every token; one request more gains {} of what it costs",
        time_text(c.busy_gap_ms - c.alone_gap_ms),
        percent_text(1.0 / c.factor.max(1.0))
    );
    let tokens = Evidence::new("output_tokens_per_s", "busy windows", c.busy_tokens_per_s, "tokens/s");
    let amount = c.busy_gap_ms - c.alone_gap_ms;
    Finding::new(Severity::Warning, summary, factor, v.advise(Measure::LowerConcurrency))
        .and(gap)
        .and(level)
        .and(tokens.against(c.quiet_tokens_per_s, "quiet windows"))
        .sure(if c.quiet_windows >= 3 { 0.85 } else { 0.7 })
        .with_effect(Effect { metric: "tpot_ms", amount, unit: "ms", share: share.map(|s| s * lost), text })
        .weighing(v.weight(share.unwrap_or(1.0) * lost))
        .try_also(v.advise_all([
            Measure::SplitOnlineOffline,
            Measure::BoundQueue,
            Measure::BucketByLength,
            Measure::LowerRate,
            Measure::ScaleOut,
        ]))
        .into()
}
