//! The tail is heavy: a few requests take many times as long as the typical one.
//!
//! # What it finds
//! TTFT, TPOT or e2e whose P99 is a multiple of the median, and what the slowest requests have in common.
//!
//! # Why it happens
//! Queueing, preemption, a disturbance at one time, or single requests that are much longer than the others.
//!
//! # How it is decided
//! P99 over P50, and an absolute distance. For every property (queued, preempted, long prompt, long answer, one time span):
//! the share of the slowest requests that have it against the share of the others; their ratio is the lift. Where the slowest
//! are long answers, other findings do not explain them.
//!
//! # What to try
//! Isolate or cap long requests, set time-outs, watch queue, KV cache and preemption.
//!
//! # When it is wrong
//! A workload of two kinds of requests has a heavy tail by design. With few requests P99 is a single one.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::{Advice, Measure};
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text, times_text};
use postrun_analysis::{Feature, Tail};
use postrun_schema::{Doc, counted};

pub(super) static HEAVY_TAIL: Rule = Rule {
    id: "heavy_tail",
    title: "The tail is heavy",
    doc: Doc::from_source(include_str!("heavy_tail.rs")),
    thresholds: &[
        Threshold {
            key: "p99_over_p50",
            default: 4.0,
            unit: "P99 over P50",
            why: "an exponential distribution has 6.6, most healthy runs below 3",
        },
        Threshold { key: "difference_ms", default: 1000.0, unit: "ms", why: "less than a second is borne" },
        Threshold {
            key: "ttft_p99_over_p50",
            default: 8.0,
            unit: "P99 over P50",
            why: "TTFT varies by prompt and step",
        },
        Threshold {
            key: "tpot_p99_over_p50",
            default: 4.0,
            unit: "P99 over P50",
            why: "as for e2e, which is mostly decode",
        },
        Threshold { key: "tpot_difference_ms", default: 100.0, unit: "ms", why: "as long as a slow token" },
    ],
    explained_by: &[
        "load_generator_bound",
        "frequent_preemption",
        "memory_near_limit",
        "saturated",
        "queueing_dominates_ttft",
        "long_prompts_raise_ttft",
        "prefill_blocks_decode",
        "failures_distort_latency",
        "warm_up_in_the_numbers",
        "latency_not_steady",
        "itl_jitter",
    ],
    check,
};

/// From here on a property says why they are slow.
const OF_SLOW: f64 = 0.5;
const LIFT: f64 = 2.5;

fn check(v: &RunView<'_>) -> Verdict {
    let tails = &v.run.evidence.tails;
    if tails.is_empty() {
        return Verdict::NotChecked(vec!["latencies of at least 50 requests".to_string()]);
    }
    let limits = |t: &Tail| match t.metric {
        "ttft_ms" => (v.limit("ttft_p99_over_p50"), v.limit("difference_ms")),
        "tpot_ms" => (v.limit("tpot_p99_over_p50"), v.limit("tpot_difference_ms")),
        _ => (v.limit("p99_over_p50"), v.limit("difference_ms")),
    };
    let ratio = |t: &Tail| t.p99_ms / t.p50_ms.max(1e-6);
    let heavy = |t: &&Tail| ratio(t) >= limits(t).0 && t.p99_ms - t.p50_ms >= limits(t).1;
    // e2e is what a user waits for: it goes first.
    let order = |t: &&Tail| ["e2e_ms", "ttft_ms", "tpot_ms"].iter().position(|m| *m == t.metric);
    let evidence = |t: &Tail| Evidence::new(t.metric, "p99", t.p99_ms, "ms").against(t.p50_ms, "P50").of(t.requests);
    let Some(tail) = tails.iter().filter(heavy).min_by_key(order) else {
        return Verdict::Clear(tails.iter().map(evidence).collect());
    };
    let telling: Vec<&Feature> = tail.features.iter().filter(|f| f.of_slow >= OF_SLOW && f.lift >= LIFT).collect();
    let what = telling.first().map_or("the slowest have nothing recorded in common".to_string(), |f| {
        format!(
            "{} of the slowest {} {}, {} of the others",
            percent_text(f.of_slow),
            verb(f),
            words(f),
            percent_text(f.of_rest)
        )
    });
    let label = tail.metric.trim_end_matches("_ms").to_uppercase();
    let summary = format!(
        "P99 of {label} is {} the median ({} against {}): {what}",
        times_text(ratio(tail)),
        time_text(tail.p99_ms),
        time_text(tail.p50_ms)
    );
    let (first, then) = measures(v, telling.first().map_or("", |f| f.name));
    let amount = tail.p99_ms - tail.p50_ms;
    let text = format!("one request in a hundred waits {} longer than the typical one", time_text(amount));
    let mut finding = Finding::new(Severity::Warning, summary, evidence(tail).shown_by(&tail.slowest), first)
        .sure(if tail.requests >= 200 { 0.85 } else { 0.6 })
        .scoped(format!("the slowest {}", counted(tail.slow, "request")))
        .with_effect(Effect { metric: tail.metric, amount, unit: "ms", share: None, text })
        .weighing(0.3)
        .try_also(then);
    for f in &telling {
        let share = Evidence::new(&format!("tail.{}", f.name), "share of the slowest", f.of_slow, "share");
        finding = finding.and(share.against(f.of_rest, "the others").of(tail.slow));
    }
    let other = |name: &str| telling.iter().any(|f| f.name == name);
    if tail.metric == "e2e_ms" && other("long_output") && !other("preempted") && !other("one_time_span") {
        // An answer ten times as long takes ten times as long, whatever else is wrong.
        finding = finding.not_because_of(&["itl_jitter", "long_prompts_raise_ttft", "prefill_blocks_decode"]);
    }
    finding.into()
}

fn verb(f: &Feature) -> &'static str {
    match f.name {
        "queued" | "preempted" => "were",
        "one_time_span" => "were sent",
        _ => "had",
    }
}

fn words(f: &Feature) -> &'static str {
    match f.name {
        "queued" => "queued for most of their TTFT",
        "preempted" => "preempted",
        "long_prompt" => "one of the longest prompts",
        "long_output" => "one of the longest answers",
        "one_time_span" => "within the same tenth of the run",
        _ => "something in common",
    }
}

fn measures(v: &RunView<'_>, feature: &str) -> (Advice, Vec<Advice>) {
    let order: [Measure; 4] = match feature {
        "long_output" => {
            [Measure::CapOutputs, Measure::IsolateLongRequests, Measure::SetTimeouts, Measure::BucketByLength]
        }
        "long_prompt" => {
            [Measure::IsolateLongRequests, Measure::BucketByLength, Measure::TrimPrompts, Measure::SetTimeouts]
        }
        "queued" => [Measure::BoundQueue, Measure::WatchQueue, Measure::SetTimeouts, Measure::ScaleOut],
        "preempted" => [Measure::MoreKvCache, Measure::LowerConcurrency, Measure::WatchQueue, Measure::BucketByLength],
        "one_time_span" => [Measure::FindChange, Measure::WatchQueue, Measure::SteadyStateOnly, Measure::SetTimeouts],
        _ => [Measure::WatchQueue, Measure::SetTimeouts, Measure::IsolateLongRequests, Measure::BoundQueue],
    };
    let advice = order.map(|m| v.advise(m));
    let [first, rest @ ..] = advice;
    (first, rest.to_vec())
}
