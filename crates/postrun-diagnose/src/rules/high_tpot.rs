//! TPOT is high: every token takes long, whoever the request is.
//!
//! # What it finds
//! A median time per output token at which reading along becomes waiting, and whether the company of other requests or the
//! step itself makes it.
//!
//! # Why it happens
//! Decode goes token by token. Each step reads the weights and the KV cache of every request in the batch, and waits for
//! scheduling on the CPU. Large models, long contexts and large batches make steps long.
//!
//! # How it is decided
//! By the median of TPOT against a threshold. Quiet moments of the run against busy ones tell what of it is due to the
//! batch. A step that takes as long as computing very many prompt tokens is not bound by the device (`low_throughput`).
//!
//! # What to try
//! Smaller batches, a smaller KV type, quantized weights, speculative decoding, shorter answers, more devices.
//!
//! # When it is wrong
//! What is slow depends on who waits: set `p50_ms` to your own objective. Offline work may have none.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text};
use postrun_schema::Doc;

pub(super) static HIGH_TPOT: Rule = Rule {
    id: "high_tpot",
    title: "TPOT is high",
    doc: Doc::from_source(include_str!("high_tpot.rs")),
    thresholds: &[
        Threshold {
            key: "p50_ms",
            default: 65.0,
            unit: "ms",
            why: "15 tokens a second, about twice as fast as people read; chat services promise 20 to 50",
        },
        Threshold {
            key: "critical_p50_ms",
            default: 250.0,
            unit: "ms",
            why: "4 tokens a second: slower than people read, a stream is of no use",
        },
    ],
    explained_by: &[
        "throughput_at_latency_cost",
        "prefill_blocks_decode",
        "frequent_preemption",
        "latency_not_steady",
        "load_generator_bound",
        "itl_jitter",
    ],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let Some((p50, tpot)) = v.stat("tpot_ms", "p50").zip(v.evidence("tpot_ms", "p50")) else {
        let missing = "TTFT, end-to-end latency and output tokens of requests with two or more tokens";
        return Verdict::NotChecked(vec![missing.to_string()]);
    };
    let tpot = tpot.against(v.limit("p50_ms"), "threshold");
    if p50 < v.limit("p50_ms") {
        return Verdict::Clear(vec![tpot]);
    }
    let severity = if p50 >= v.limit("critical_p50_ms") { Severity::Critical } else { Severity::Warning };
    let share = v.decode_s().zip(v.e2e_s()).map(|(decode, all)| decode / all.max(1e-9));
    let summary = format!("a token takes {} at the median: {:.1} tokens a second", time_text(p50), 1e3 / p50.max(1e-9));
    let text = match share {
        Some(share) => format!("decoding is {} of the time of all requests", percent_text(share)),
        None => "how much of the time of all requests decoding is, the recorded times do not say".to_string(),
    };
    let amount = p50 - v.limit("p50_ms");
    // Where few requests share a step, a smaller batch does not help.
    let crowded = v.run.evidence.crowding.as_ref().is_some_and(|c| c.factor >= 1.5);
    let first = if crowded { Measure::LowerConcurrency } else { Measure::QuantizeWeights };
    let then = if crowded { Measure::QuantizeWeights } else { Measure::SmallerKvDtype };
    let crowding = v.run.evidence.crowding.as_ref();
    Finding::new(severity, summary, tpot, v.advise(first))
        .and_if(v.evidence("tpot_ms", "p95"))
        .and_if(crowding.map(|c| Evidence::new("crowding", "factor", c.factor, "times the step of one request")))
        .and_if(v.run.value("mean_concurrency").map(|n| Evidence::new("mean_concurrency", "value", n, "requests")))
        .sure(if v.count("tpot_ms") >= 20 { 0.9 } else { 0.5 })
        .with_effect(Effect { metric: "tpot_ms", amount, unit: "ms", share, text })
        .weighing(0.5 * share.unwrap_or(0.5))
        .try_also(v.advise_all([
            then,
            Measure::SpeculativeDecoding,
            Measure::CapOutputs,
            Measure::ShorterContext,
            Measure::ScaleOut,
        ]))
        .into()
}
