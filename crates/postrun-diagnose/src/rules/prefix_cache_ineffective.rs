//! The prefix cache is ineffective: it is on and asked, and finds little.
//!
//! # What it finds
//! The share of prompt tokens that were found, and what prefill costs meanwhile.
//!
//! # Why it happens
//! The cache is too small for the prefixes in use, so that they are evicted before they come again; prompts that could begin
//! alike differ in their first tokens (a date, a name, shuffled passages); several replicas each see a part.
//!
//! # How it is decided
//! By the server's counters, where caching is on and prompts were looked up: some tokens were found, but few. Where none at
//! all were found the prompts share nothing, as in most synthetic loads, and that is no fault.
//!
//! # What to try
//! A larger KV cache, fixed parts of a prompt first, routing by prefix.
//!
//! # When it is wrong
//! A workload that repeats little cannot be served from a cache. Only the prompts themselves would tell.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text};
use postrun_schema::Doc;

pub(super) static PREFIX_CACHE_INEFFECTIVE: Rule = Rule {
    id: "prefix_cache_ineffective",
    title: "The prefix cache is ineffective",
    doc: Doc::from_source(include_str!("prefix_cache_ineffective.rs")),
    thresholds: &[
        Threshold {
            key: "hit_rate",
            default: 0.3,
            unit: "share of prompt tokens",
            why: "where prompts do begin alike, more than half is usual",
        },
        Threshold {
            key: "repeats",
            default: 0.01,
            unit: "share of prompt tokens",
            why: "below that nothing shows that prompts begin alike at all",
        },
    ],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let on = v.run.manifest.server.get("enable_prefix_caching").map(|s| s.eq_ignore_ascii_case("true"));
    let Some(rate) = v.run.facts.server.prefix_cache_hit_rate.filter(|_| on != Some(false)) else {
        let missing = "prefix caching that is on, with the server's counters of queries and hits";
        return Verdict::NotChecked(vec![missing.to_string()]);
    };
    let hits = Evidence::new("prefix_cache_hit_rate", "value", rate, "share").against(v.limit("hit_rate"), "threshold");
    if rate >= v.limit("hit_rate") || rate < v.limit("repeats") {
        return Verdict::Clear(vec![hits]);
    }
    let summary =
        format!("prompts do begin alike, but the prefix cache found only {} of their tokens", percent_text(rate));
    let prefill = v.evidence("prefill_ms", "p50");
    let drivers = v.run.evidence.ttft.as_ref();
    let full = v.run.facts.server.kv_cache_usage.as_ref().and_then(|kv| kv.max);
    let mut finding = Finding::new(Severity::Info, summary, hits, v.advise(Measure::MoreKvCache))
        .and_if(prefill)
        .and_if(full.map(|max| Evidence::new("kv_cache_usage_max", "value", max, "share")))
        .sure(0.6);
    if let Some(d) = drivers.filter(|d| d.ms_per_1k_tokens > 0.0) {
        let text = format!("a thousand prompt tokens found would save {} of TTFT", time_text(d.ms_per_1k_tokens));
        let effect = Effect { metric: "ttft_ms", amount: d.ms_per_1k_tokens, unit: "ms", share: None, text };
        finding = finding.with_effect(effect);
    }
    finding.weighing(0.3).try_also(v.advise_all([Measure::PrefixCaching, Measure::TrimPrompts])).into()
}
