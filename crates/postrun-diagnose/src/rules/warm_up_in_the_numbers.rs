//! The warm-up is in the numbers: the first requests were slow, and count.
//!
//! # What it finds
//! A run of slow requests at the start, how many they are, and what they do to P99.
//!
//! # Why it happens
//! Compilation, cold caches, connections that are opened, memory that is touched for the first time.
//!
//! # How it is decided
//! The first requests (one in fifty, three to ten) against the rest: TTFT beyond the rest's P95 by a multiple of its median,
//! or TPOT a multiple of the rest's. A run that starts with a burst queues at its start: there, by TPOT alone.
//!
//! # What to try
//! Warm-up requests that do not count; the steady state alone.
//!
//! # When it is wrong
//! First requests with much longer prompts than the others look the same.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, time_text, times_text};
use postrun_schema::{Doc, counted};

pub(super) static WARM_UP_IN_THE_NUMBERS: Rule = Rule {
    id: "warm_up_in_the_numbers",
    title: "The warm-up is in the numbers",
    doc: Doc::from_source(include_str!("warm_up_in_the_numbers.rs")),
    thresholds: &[
        Threshold {
            key: "tpot_ratio",
            default: 1.6,
            unit: "first over rest",
            why: "batches at the start are smaller than later, so TPOT should be lower",
        },
        Threshold {
            key: "ttft_ratio",
            default: 5.0,
            unit: "first over median of the rest",
            why: "a queue or a long prompt may double it",
        },
        Threshold { key: "ttft_ms", default: 200.0, unit: "ms", why: "less changes no percentile that matters" },
        Threshold { key: "in_a_row", default: 2.0, unit: "requests", why: "a single slow request may be chance" },
    ],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let Some(w) = &v.run.evidence.warm_up else {
        return Verdict::NotChecked(vec!["TTFT of at least 30 requests".to_string()]);
    };
    let ttft = Evidence::new("ttft_ms", "max of the first requests", w.first_ttft_ms, "ms").of(w.first);
    let ttft = ttft.against(w.rest_ttft_ms, "P50 of the rest");
    let pace = w.first_tpot_ms.zip(w.rest_tpot_ms).map(|(first, rest)| (first, rest, first / rest.max(1e-6)));
    let tpot = pace.map(|(first, rest, _)| {
        Evidence::new("tpot_ms", "p50 of the first requests", first, "ms").against(rest, "P50 of the rest").of(w.first)
    });
    let at_once = v.run.manifest.load.unbounded || v.run.evidence.growth.as_ref().is_none_or(|g| g.sending_s < 1.0);
    let slow_tokens = pace.is_some_and(|(_, _, ratio)| ratio >= v.limit("tpot_ratio"));
    let beyond = w.first_ttft_ms - w.rest_ttft_p95_ms;
    let slow_start = !at_once
        && w.first_ttft_ms >= v.limit("ttft_ratio") * w.rest_ttft_ms
        && beyond >= v.limit("ttft_ms")
        && w.slow_in_a_row >= 1;
    let in_a_row = slow_tokens && w.slow_in_a_row >= v.limit("in_a_row") as u64;
    if !slow_start && !in_a_row {
        return Verdict::Clear([Some(ttft), tpot].into_iter().flatten().collect());
    }
    let ratio = pace.map_or(w.first_ttft_ms / w.rest_ttft_ms.max(1e-6), |(_, _, ratio)| ratio);
    let what = if slow_tokens { "tokens of" } else { "TTFT of" };
    let summary = format!(
        "{what} the first requests took {} as long as later ones: {} in a row were slow",
        times_text(if slow_tokens { ratio } else { w.first_ttft_ms / w.rest_ttft_ms.max(1e-6) }),
        w.slow_in_a_row.max(1)
    );
    let amount = (w.ttft_p99_ms - w.ttft_p99_without_ms).max(0.0);
    let text = format!(
        "without them P99 of TTFT is {} instead of {}",
        time_text(w.ttft_p99_without_ms),
        time_text(w.ttft_p99_ms)
    );
    Finding::new(Severity::Warning, summary, ttft, v.advise(Measure::WarmUpFirst))
        .and_if(tpot)
        .and(Evidence::new("ttft_ms", "p99", w.ttft_p99_ms, "ms").against(w.ttft_p99_without_ms, "without them"))
        .sure(if slow_tokens { 0.85 } else { 0.7 })
        .scoped(format!("the first {}", counted(w.slow_in_a_row.max(1), "request")))
        .with_effect(Effect { metric: "ttft_ms", amount, unit: "ms", share: None, text })
        .weighing(0.35)
        .try_also([v.advise(Measure::SteadyStateOnly)])
        .into()
}
