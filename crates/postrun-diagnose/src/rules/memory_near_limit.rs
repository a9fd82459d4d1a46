//! Memory is near its limit: the KV cache is nearly full for a notable part of the run.
//!
//! # What it finds
//! KV cache usage of 90 % and more over time, and what follows from it: waiting requests, preemption.
//!
//! # Why it happens
//! Weights, KV cache, long contexts and many requests at once share the device's memory; what is left for the KV cache bounds
//! how many tokens can be in flight.
//!
//! # How it is decided
//! By recorded usage; without it, by tokens in flight against the capacity that the server's log or settings name. Device memory
//! that is nearly full says nothing by itself: most servers reserve it at start.
//!
//! # What to try
//! More memory for the KV cache, quantized weights, a smaller KV type, shorter contexts and answers, fewer requests at once,
//! more devices.
//!
//! # When it is wrong
//! A cache that is full of prefixes nobody uses counts as free in vLLM and as used elsewhere.

use crate::finding::{Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text};
use postrun_schema::Doc;

pub(super) static MEMORY_NEAR_LIMIT: Rule = Rule {
    id: "memory_near_limit",
    title: "Memory is near its limit",
    doc: Doc::from_source(include_str!("memory_near_limit.rs")),
    thresholds: &[
        Threshold {
            key: "share_over_90",
            default: 0.1,
            unit: "share of the run",
            why: "a tenth of the run leaves no doubt that it is no single peak",
        },
        Threshold {
            key: "max",
            default: 0.95,
            unit: "share of the cache",
            why: "below that there is room for another short request",
        },
    ],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let server = &v.run.facts.server;
    let usage = server.kv_cache_usage.as_ref();
    let Some((kv, max, over)) = usage.and_then(|kv| Some((kv, kv.max?, kv.share_over_90?))) else {
        let missing = "KV cache usage: scrapes of the server's /metrics, its log, or the cache's capacity";
        return Verdict::NotChecked(vec![missing.to_string()]);
    };
    let limit = v.limit("share_over_90");
    let peak = Evidence::new("kv_cache_usage_max", "value", max, "share").against(v.limit("max"), "threshold");
    let time = Evidence::new("kv_cache_share_over_90", "value", over, "share").against(limit, "threshold");
    if max < v.limit("max") || over < limit {
        return Verdict::Clear(vec![peak, time]);
    }
    let recorded = kv.source == "recorded";
    let waiting = server.waiting.and_then(|w| w.mean).filter(|w| *w >= 0.5);
    // Full and someone waits for it: the memory bounds the server.
    let severity = if waiting.is_some() && recorded { Severity::Critical } else { Severity::Warning };
    let behind = waiting.map(|w| format!(", while {w:.1} requests waited on average")).unwrap_or_default();
    let holders: Vec<u32> = server.kv_tokens.iter().flat_map(|kv| kv.holders.iter().map(|h| h.request)).collect();
    let summary = format!("the KV cache was at least 90 % full for {} of the run{behind}", percent_text(over));
    Finding::new(severity, summary, time, v.more_kv_cache())
        .and(peak.shown_by(&holders))
        .and_if(waiting.map(|w| Evidence::new("waiting_mean", "value", w, "requests")))
        .sure(if recorded { 0.98 } else { 0.6 })
        .weighing(0.2 + 0.4 * over)
        .try_also(v.advise_all([
            Measure::SmallerKvDtype,
            Measure::LowerConcurrency,
            Measure::ShorterContext,
            Measure::CapOutputs,
            Measure::QuantizeWeights,
            Measure::ScaleOut,
        ]))
        .into()
}
