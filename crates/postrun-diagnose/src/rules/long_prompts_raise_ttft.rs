//! Long prompts raise TTFT: the wait for the first token grows with the length of the prompt, because prefill does.
//!
//! # What it finds
//! How much a thousand prompt tokens add, and how much longer requests with long prompts wait than those with short ones.
//!
//! # Why it happens
//! Prefill reads the whole prompt before the first token. Its work grows with the length, with attention faster than that.
//!
//! # How it is decided
//! A straight line that outliers cannot move (Theil and Sen) through prefill time by prompt tokens where the server recorded
//! it; else through TTFT of the third of the requests that was sent while fewest others were in flight. Queueing is told apart
//! by the server's queue times, else by what exceeds the line. The longest fifth of prompts is compared with the shortest.
//!
//! # What to try
//! Shorter prompts, prefix caching, more prompt tokens in a step, a faster attention kernel, length classes apart.
//!
//! # When it is wrong
//! Where all prompts are about as long, or where queueing is most of TTFT: then it says so and is clear.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text};
use postrun_schema::Doc;

pub(super) static LONG_PROMPTS_RAISE_TTFT: Rule = Rule {
    id: "long_prompts_raise_ttft",
    title: "Long prompts raise TTFT",
    doc: Doc::from_source(include_str!("long_prompts_raise_ttft.rs")),
    thresholds: &[
        Threshold { key: "ratio", default: 2.0, unit: "longest over shortest fifth", why: "twice as long is felt" },
        Threshold { key: "difference_ms", default: 100.0, unit: "ms", why: "below a tenth of a second nobody notices" },
        Threshold {
            key: "share",
            default: 0.3,
            unit: "share of TTFT",
            why: "less than a third is not what to work on first",
        },
        Threshold {
            key: "correlation",
            default: 0.6,
            unit: "rank correlation",
            why: "a third of the ordering by length",
        },
    ],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let Some(d) = &v.run.evidence.ttft else {
        return Verdict::NotChecked(vec!["TTFT and prompt length of at least 10 requests".to_string()]);
    };
    let slope = Evidence::new("ttft_per_1k_prompt_tokens", "slope", d.ms_per_1k_tokens, "ms").of(d.requests);
    let fifths = Evidence::new("ttft_ms", "p50", d.longest_fifth_ms, "ms");
    let fifths = fifths.against(d.shortest_fifth_ms, "shortest fifth of prompts");
    let rho = Evidence::new("ttft_by_prompt_tokens", "rank correlation", d.rho_fitted, "");
    let (long, short) = (d.longest_fifth_tokens, d.shortest_fifth_tokens);
    if long < 1.5 * short {
        let lengths = Evidence::new("prompt_tokens", "longest fifth", long, "tokens");
        return Verdict::Clear(vec![lengths.against(short, "shortest fifth of prompts"), slope]);
    }
    // What the line says of the longest and the shortest fifth, whatever else they waited for.
    let added = d.ms_per_1k_tokens * (long - short) / 1e3;
    let shortest = (d.base_ms + d.ms_per_1k_tokens * short / 1e3).max(1.0);
    let ratio = (shortest + added) / shortest;
    let grows =
        d.rho_fitted >= v.limit("correlation") && added >= v.limit("difference_ms") && ratio >= v.limit("ratio");
    if !grows || d.prompt_share < v.limit("share") {
        return Verdict::Clear(vec![slope, fifths, rho]);
    }
    let summary = format!(
        "a thousand prompt tokens add {} to TTFT: its median is {} with prompts of about {long:.0} tokens and {} with {short:.0}",
        time_text(d.ms_per_1k_tokens),
        time_text(d.longest_fifth_ms),
        time_text(d.shortest_fifth_ms)
    );
    let text = format!(
        "prompt length adds {} to the TTFT of the longest fifth; it is {} of all TTFT",
        time_text(added),
        percent_text(d.prompt_share)
    );
    let recorded = d.fitted == "prefill_ms";
    Finding::new(Severity::Warning, summary, slope, v.advise(Measure::TrimPrompts))
        .and(fifths)
        .and(rho)
        .sure(if recorded { 0.95 } else { 0.5 + 0.4 * d.rho_fitted })
        .scoped(format!("prompts of {long:.0} tokens and more"))
        .with_effect(Effect { metric: "ttft_ms", amount: added, unit: "ms", share: Some(d.prompt_share), text })
        .weighing(v.weight(v.share_of_time(d.prompt_share * v.stat("ttft_ms", "mean").unwrap_or(0.0))))
        .rules_out_if(d.queue_share < 0.2, &format!("queueing: {} of TTFT", percent_text(d.queue_share)))
        .try_also(v.advise_all([
            Measure::PrefixCaching,
            Measure::LargerPrefillBudget,
            Measure::FasterAttention,
            Measure::BucketByLength,
        ]))
        .into()
}
