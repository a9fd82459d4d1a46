//! Queueing dominates TTFT: most of the wait for first tokens is a wait in the server's queue.
//!
//! # What it finds
//! How much of TTFT was queueing, and how long it was.
//!
//! # Why it happens
//! More requests than the batch or the KV cache can take; a burst; a saturated server; preempted requests that come back first.
//!
//! # How it is decided
//! By the server's own queue times where it recorded them, request by request or as sums in its metrics;
//! else by its samples of waiting requests, by Little's law. Else TTFT is fitted on prompt length over the requests that were
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
    let Some(q) = Queue::of(v) else {
        return Verdict::NotChecked(vec![
            "queue times of the server, or TTFT, prompt length and send times".to_string(),
        ]);
    };
    let limit = v.limit("share");
    let name = if q.recorded { "queue_share_of_ttft" } else { "queue_share_of_ttft_estimated" };
    let share = Evidence::new(name, "value", q.share, "share").against(limit, "threshold").of(v.count("ttft_ms"));
    let waiting = v.run.facts.server.waiting;
    if !q.recorded && (q.share - limit).abs() < NOT_SURE {
        let missing =
            format!("queue times of the server: the estimate of {} is too near the threshold", percent_text(q.share));
        return Verdict::NotChecked(vec![missing]);
    }
    if q.share < limit || q.mean_ms < v.limit("mean_ms") || !q.follows_load {
        return Verdict::Clear(vec![share]);
    }
    let severity = if q.p95_ms >= v.limit("critical_p95_ms") { Severity::Critical } else { Severity::Warning };
    let about = if q.recorded { "" } else { "about " };
    let part = percent_text(q.share);
    let summary =
        format!("{about}{part} of the time to first tokens was queueing, {} on average", time_text(q.mean_ms));
    let text = format!("queueing adds {} to mean TTFT{}", time_text(q.mean_ms), q.tail_text());
    let struck = v.run.facts.server.preemption.as_ref().and_then(|p| p.requests_hit_at_least).is_some();
    let finding = Finding::new(severity, summary, share, v.advise(Measure::BoundQueue))
        .and_if(v.evidence("queue_ms", "p95"))
        .and_if(waiting.and_then(|w| w.mean).map(|mean| Evidence::new("waiting_mean", "value", mean, "requests")))
        // What is preempted before its first token waits as well, and an estimate cannot tell the two apart.
        .sure(if q.recorded {
            0.95
        } else if struck {
            0.5
        } else {
            0.65
        })
        .with_effect(Effect { metric: "ttft_ms", amount: q.mean_ms, unit: "ms", share: Some(q.share), text })
        .weighing(v.weight(v.share_of_time(q.mean_ms)));
    let full = v.run.facts.server.kv_cache_usage.as_ref().and_then(|kv| kv.max).is_some_and(|max| max >= 0.9);
    // A fuller batch helps only where the KV cache has room for it.
    let finding = if full { finding } else { finding.try_also([v.advise(Measure::RaiseConcurrency)]) };
    finding
        .try_also(v.advise_all([
            Measure::LowerRate,
            Measure::ScaleOut,
            Measure::SplitOnlineOffline,
            Measure::WatchQueue,
        ]))
        .into()
}

/// An estimate this near the threshold says nothing.
const NOT_SURE: f64 = 0.15;

/// With fewer waiting on average, samples a second apart say too little.
const LITTLE: f64 = 0.5;

/// How much queueing there was, and how that is known.
struct Queue {
    share: f64,
    mean_ms: f64,
    p95_ms: f64,
    recorded: bool,
    /// Longer where more was in flight, or recorded.
    follows_load: bool,
    by_request: bool,
}

impl Queue {
    fn of(v: &RunView<'_>) -> Option<Queue> {
        let server = &v.run.facts.server;
        let ttft = v.stat("ttft_ms", "mean");
        if let (Some(mean_ms), Some(p95_ms)) = (v.stat("queue_ms", "mean"), v.stat("queue_ms", "p95")) {
            let all = ttft.or_else(|| v.stat("server_ttft_ms", "mean"))?;
            let share = server.queue_share_of_ttft.unwrap_or(mean_ms / all.max(1e-9)).min(1.0);
            return Some(Queue { share, mean_ms, p95_ms, recorded: true, follows_load: true, by_request: true });
        }
        if let (Some(mean_ms), Some(share)) = (server.queue_mean_ms, server.queue_share_of_ttft) {
            // Sums know no percentile; the mean is exceeded by some.
            return Some(Queue {
                share,
                mean_ms,
                p95_ms: mean_ms,
                recorded: true,
                follows_load: true,
                by_request: false,
            });
        }
        let waiting = server.waiting.and_then(|w| w.mean);
        if let (Some(waiting), Some(duration_s), Some(all)) = (waiting, v.run.facts.duration_s, ttft) {
            // Little's law: so many waited on average, so many came a second, so long each waited.
            let mean_ms = waiting * duration_s / (v.run.requests.total as f64).max(1.0) * 1e3;
            let share = (mean_ms / all.max(1e-9)).min(1.0);
            if waiting >= LITTLE {
                let p95_ms = v.stat("ttft_ms", "p95")? * share;
                return Some(Queue { share, mean_ms, p95_ms, recorded: false, follows_load: true, by_request: false });
            }
        }
        let d = v.run.evidence.ttft.as_ref()?;
        // Without send times nothing tells a queue from anything else that makes a request late.
        let rho = d.rho_load?;
        let share = d.queue_share;
        let (mean, p95) = (ttft? * share, v.stat("ttft_ms", "p95")? * share);
        let follows_load = rho >= 0.5 || waiting.is_some_and(|mean| mean >= 1.0);
        Some(Queue { share, mean_ms: mean, p95_ms: p95, recorded: false, follows_load, by_request: false })
    }

    fn tail_text(&self) -> String {
        if self.by_request { format!(", {} to its P95", time_text(self.p95_ms)) } else { String::new() }
    }
}
