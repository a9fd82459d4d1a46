//! Prefill blocks decode: streams stand still while the prompt of another request is computed.
//!
//! # What it finds
//! Pauses of running streams that end with another request's first token, and how much of decode they take.
//!
//! # Why it happens
//! A step that computes a long prompt takes long, and everybody who decodes in it waits. Without chunked prefill the whole
//! prompt is one step; with it, a large token budget has nearly the same effect.
//!
//! # How it is decided
//! By pauses that the client's times show to be prefill interference (`explain stalls`): their share of decode, and how long
//! they are.
//!
//! # What to try
//! Chunked prefill, fewer prompt tokens a step, length classes apart, prefix caching, shorter prompts.
//!
//! # When it is wrong
//! A server that freezes while a request awaits its first token looks the same. Pauses shorter than three steps are not
//! counted: many short prompts add up unseen.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{DECODE_TIMES, RunView, percent_text, time_text};
use postrun_analysis::StallClass;
use postrun_schema::Doc;

pub(super) static PREFILL_BLOCKS_DECODE: Rule = Rule {
    id: "prefill_blocks_decode",
    title: "Prefill blocks decode",
    doc: Doc::from_source(include_str!("prefill_blocks_decode.rs")),
    thresholds: &[
        Threshold {
            key: "share",
            default: 0.15,
            unit: "share of decode",
            why: "a seventh of the time of streams lost to others is worth a setting",
        },
        Threshold { key: "pause_ms", default: 50.0, unit: "ms", why: "shorter pauses nobody sees" },
    ],
    explained_by: &["frequent_preemption"],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let stalls = v.run.stalls.as_ref().filter(|_| v.run.facts.peak_concurrency.is_some());
    let (Some(_), Some(p50), Some(p99)) = (stalls, v.stat("itl_ms", "p50"), v.stat("itl_ms", "p99")) else {
        return Verdict::NotChecked(vec!["chunk times with send times (of vllm bench serve from 0.16 on)".to_string()]);
    };
    let (seconds, count) = v.pauses(StallClass::PrefillInterference).unwrap_or_default();
    let Some(share) = v.share_of_decode(seconds) else {
        return Verdict::NotChecked(vec![DECODE_TIMES.to_string()]);
    };
    let time = Evidence::new("stalls.prefill_interference", "share of decode", share, "share").of(count);
    let time = time.against(v.limit("share"), "threshold");
    let spread = Evidence::new("itl_ms", "p99", p99, "ms").against(p50, "P50").of(v.count("itl_ms"));
    let mean_ms = seconds * 1e3 / count.max(1) as f64;
    let pause =
        Evidence::new("stalls.prefill_interference", "mean", mean_ms, "ms").against(p50, "P50 of ITL").of(count);
    if share < v.limit("share") || mean_ms < v.limit("pause_ms") || count < 5 {
        return Verdict::Clear(vec![time, pause]);
    }
    let chunked = v.run.manifest.server.get("enable_chunked_prefill").map(|s| s.eq_ignore_ascii_case("true"));
    let first = if chunked == Some(true) { Measure::SmallerPrefillChunk } else { Measure::ChunkedPrefill };
    let second = if chunked == Some(true) { Measure::BucketByLength } else { Measure::SmallerPrefillChunk };
    let summary = format!(
        "streams pause while prompts of others are computed: {} of decode, {} each time",
        percent_text(share),
        time_text(mean_ms)
    );
    let text = format!("{} of the time between first and last tokens went to prompts of others", percent_text(share));
    Finding::new(Severity::Warning, summary, time, v.advise(first))
        .and(pause)
        .and(spread)
        .and_if(v.evidence("tpot_ms", "p50"))
        .sure(0.85)
        .with_effect(Effect { metric: "tpot_ms", amount: seconds, unit: "s", share: Some(share), text })
        .weighing(v.weight(v.share_of_time_s(seconds)))
        .try_also(v.advise_all([second, Measure::PrefixCaching, Measure::TrimPrompts, Measure::SplitOnlineOffline]))
        .into()
}
