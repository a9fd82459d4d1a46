//! ITL jitters: streams stutter, though tokens are not slow on average.
//!
//! # What it finds
//! Pauses of all streams at once, pauses of single ones, and streams that arrive in bursts; how much of the time between
//! first and last tokens they take.
//!
//! # Why it happens
//! Long and short requests in one batch, preemption, work on the CPU between steps, and buffering on the way make gaps
//! uneven. What is due to another request's prefill or to preemption is told apart, and counted there.
//!
//! # How it is decided
//! P99 of ITL must be a multiple of the mean gap. Then by one of these: pauses that neither a prefill nor a preemption
//! explains (`explain stalls`) take a notable share of decode; or half of the gaps are next to nothing while the mean is
//! not, which is what buffers do that deliver several chunks at once.
//!
//! # What to try
//! Watch preemption and queue, log less, keep proxies from buffering, length classes apart, profile the host.
//!
//! # When it is wrong
//! Chunks of several tokens make gaps uneven by design: see `speculation_or_chunking_distorts_itl`. A slow client delays
//! chunks too.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{DECODE_TIMES, RunView, percent_text, time_text, times_text};
use postrun_analysis::StallClass;
use postrun_schema::Doc;

pub(super) static ITL_JITTER: Rule = Rule {
    id: "itl_jitter",
    title: "ITL jitters",
    doc: Doc::from_source(include_str!("itl_jitter.rs")),
    thresholds: &[
        Threshold {
            key: "p99_over_mean",
            default: 3.0,
            unit: "P99 over mean of ITL",
            why: "a pause of three tokens is seen in a stream",
        },
        Threshold { key: "p99_ms", default: 40.0, unit: "ms", why: "shorter pauses nobody sees" },
        Threshold {
            key: "pause_share",
            default: 0.08,
            unit: "share of decode",
            why: "a twelfth of the time of a stream is more than noise",
        },
        Threshold {
            key: "p50_over_mean",
            default: 0.3,
            unit: "median over mean of ITL",
            why: "steps of one engine differ by less than this: the median of gaps lies near their mean",
        },
    ],
    explained_by: &[
        "frequent_preemption",
        "prefill_blocks_decode",
        "load_generator_bound",
        "speculation_or_chunking_distorts_itl",
    ],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let itl = |stat: &str| v.stat("itl_ms", stat);
    let (Some(mean), Some(p50), Some(p99), Some(spread)) =
        (itl("mean"), itl("p50"), itl("p99"), v.evidence("itl_ms", "p99"))
    else {
        return Verdict::NotChecked(vec![
            "chunk times (the client's detailed output: --save-detailed of vllm bench serve, --output-details of SGLang)".to_string(),
        ]);
    };
    if v.count("itl_ms") < 100 {
        return Verdict::NotChecked(vec!["at least 100 gaps between chunks".to_string()]);
    }
    let spread = spread.against(mean, "mean of ITL");
    let pauses = |class| v.pauses(class).unwrap_or_default();
    let ((all_s, all), (single_s, single)) = (pauses(StallClass::GlobalStall), pauses(StallClass::Jitter));
    let Some(share) = v.share_of_decode(all_s + single_s) else {
        return Verdict::NotChecked(vec![DECODE_TIMES.to_string()]);
    };
    let time = Evidence::new("stalls.global_stall_and_jitter", "share of decode", share, "share");
    let time = time.against(v.limit("pause_share"), "threshold").of(all + single);
    let bunched = p50 < v.limit("p50_over_mean") * mean && mean >= 2.0;
    let uneven = p99 >= v.limit("p99_over_mean") * mean && p99 >= v.limit("p99_ms");
    if !uneven || !(bunched || share >= v.limit("pause_share")) {
        return Verdict::Clear(vec![spread, time]);
    }
    let middle = v.evidence("itl_ms", "p50").map(|e| e.against(mean, "mean of ITL"));
    let what = match (bunched, all_s >= single_s) {
        (true, _) => "chunks arrive in bursts, as from a buffer on the way",
        (false, true) => "all streams pause at once, and no prefill explains it",
        (false, false) => "single streams pause, and no prefill explains it",
    };
    let first = if bunched || single_s > all_s { Measure::LessLogging } else { Measure::ProfileHost };
    let second = if first == Measure::LessLogging { Measure::ProfileHost } else { Measure::LessLogging };
    let summary = format!("{what}: P99 of ITL is {} its mean ({})", times_text(p99 / mean.max(1e-9)), time_text(p99));
    let text = format!("unexplained pauses are {} of decode", percent_text(share));
    let amount = p99 - mean;
    Finding::new(Severity::Warning, summary, spread, v.advise(first))
        .and(time)
        .and_if(middle)
        .and_if(worst(v))
        .sure(if bunched || all_s >= single_s { 0.8 } else { 0.65 })
        .with_effect(Effect { metric: "itl_ms", amount, unit: "ms", share: Some(share), text })
        .weighing(v.weight(if bunched { 0.2 } else { v.share_of_time_s(all_s + single_s) }))
        .try_also(v.advise_all([second, Measure::WatchQueue, Measure::BucketByLength, Measure::CapOutputs]))
        .into()
}

/// The longest pause that is neither prefill nor preemption.
fn worst(v: &RunView<'_>) -> Option<Evidence> {
    let own = |c: StallClass| matches!(c, StallClass::GlobalStall | StallClass::Jitter);
    let longest: Vec<_> = v.run.stalls.as_ref()?.longest.iter().filter(|s| own(s.class)).take(5).collect();
    let requests: Vec<u32> = longest.iter().map(|s| s.request).collect();
    let ms = longest.first()?.length_ns as f64 / 1e6;
    Some(Evidence::new("stalls.longest", "max", ms, "ms").shown_by(&requests))
}
