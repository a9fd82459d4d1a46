//! Queueing dominates TTFT: most of the wait for first tokens is a wait in the server's queue.
//!
//! # What it finds
//! How much of TTFT was queueing, and how long it was.
//!
//! # Why it happens
//! More requests than the batch or the KV cache can take; a burst; a saturated server; preempted requests that come back first.
//!
//! # How it is decided
//! By the server's own queue times where it recorded them. Else TTFT is fitted on prompt length over the requests that were
//! sent while little else was in flight; what exceeds the fit counts as queueing, if TTFT rises with the load at the send. The
//! second way is less sure.
//!
//! # What to try
//! A bound on the queue, more requests in the batch where memory allows, more servers, less load.
//!
//! # When it is wrong
//! Prefills that wait for decodes inside a step look like queueing to a fit.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text};
use postrun_schema::Doc;

pub(super) static QUEUEING_DOMINATES_TTFT: Rule = Rule {
    id: "queueing_dominates_ttft",
    title: "Queueing dominates TTFT",
    doc: Doc::from_source(include_str!("queueing_dominates_ttft.rs")),
    thresholds: &[
        Threshold { key: "share", default: 0.5, unit: "share of TTFT", why: "half of the wait" },
        Threshold { key: "mean_ms", default: 100.0, unit: "ms", why: "below a tenth of a second nobody notices" },
        Threshold { key: "critical_p95_ms", default: 2000.0, unit: "ms", why: "people give up after some seconds" },
    ],
    explained_by: &["saturated", "frequent_preemption", "memory_near_limit", "load_generator_bound"],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let Some(d) = &v.run.evidence.ttft else {
        return Verdict::NotChecked(vec!["TTFT and prompt length of at least 10 requests".to_string()]);
    };
    let stat = |metric: &str, stat: &str| v.stat(metric, stat).unwrap_or(0.0);
    let (p95, mean) = match d.queue_recorded {
        true => (stat("queue_ms", "p95"), stat("queue_ms", "mean")),
        false => (stat("ttft_ms", "p95") * d.queue_share, stat("ttft_ms", "mean") * d.queue_share),
    };
    let share = Evidence::new("queue_share_of_ttft", "value", d.queue_share, "share").of(d.requests);
    let share = share.against(v.limit("share"), "threshold");
    let load = Evidence::new("ttft_by_load", "rank correlation", d.rho_load, "");
    let waiting = v.run.facts.server.waiting;
    let by_load = d.queue_recorded || d.rho_load >= 0.5 || waiting.is_some_and(|w| w.mean >= 1.0);
    if d.queue_share < v.limit("share") || mean < v.limit("mean_ms") || !by_load {
        return match d.queue_recorded || waiting.is_some() || d.rho_load != 0.0 {
            true => Verdict::Clear(vec![share, load]),
            false => Verdict::NotChecked(vec!["queue times of the server, or send times".to_string()]),
        };
    }
    let severity = if p95 >= v.limit("critical_p95_ms") { Severity::Critical } else { Severity::Warning };
    let total = stat("ttft_ms", "p95").max(p95).max(1e-9);
    let text = format!("queueing adds {} to P95 TTFT, {} of it", time_text(p95), percent_text(p95 / total));
    let how = if d.queue_recorded { "" } else { "an estimated " };
    let part = percent_text(d.queue_share);
    let summary = format!("{how}{part} of the time to first tokens was queueing, {} on average", time_text(mean));
    Finding::new(severity, summary, share, v.advise(Measure::BoundQueue))
        .and_if(v.evidence("queue_ms", "p95"))
        .and_if(waiting.map(|w| Evidence::new("waiting", "mean", w.mean, "requests")))
        .and(load)
        .sure(if d.queue_recorded { 1.0 } else { 0.65 })
        .with_effect(Effect { metric: "ttft_ms", amount: p95, unit: "ms", share: Some(d.queue_share), text })
        .weighing(0.65 * d.queue_share)
        .try_also(v.advise_all([
            Measure::LowerRate,
            Measure::RaiseConcurrency,
            Measure::ScaleOut,
            Measure::SplitOnlineOffline,
            Measure::WatchQueue,
        ]))
        .into()
}
