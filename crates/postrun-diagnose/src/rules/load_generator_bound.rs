//! The load generator is the bottleneck: the figures are the client's, not the server's.
//!
//! # What it finds
//! Requests that were sent late, less load than was asked for, requests that waited inside the client, and a client that
//! stood still. And, as a note, a limit of requests in flight behind which waiting hides.
//!
//! # Why it happens
//! One thread sends every request and reads every chunk; a pool of connections is smaller than the load; the client's
//! machine is busy. A client that stands still reads chunks late and calls that latency.
//!
//! # How it is decided
//! By any of these: sent later than scheduled, without a limit that explains it; fewer requests a second than asked for,
//! beyond chance; TTFT mostly spent before the server had the request, or far more requests in flight at the client than
//! in the engine; sends that come in bunches where arrivals at random were asked for, while all streams pause at once.
//! Where a concurrency limit held requests back, their wait is in no latency: coordinated omission.
//!
//! # What to try
//! More client processes or a machine of its own, more connections, a lower rate; an open loop.
//!
//! # When it is wrong
//! A slow network or proxy, too, lies before the server. A front end that tokenizes slowly looks like a pool of connections
//! where no record of the server's requests was read.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text};
use postrun_analysis::{Lateness, StallClass};
use postrun_schema::{Doc, counted};

pub(super) static LOAD_GENERATOR_BOUND: Rule = Rule {
    id: "load_generator_bound",
    title: "The load generator is the bottleneck",
    doc: Doc::from_source(include_str!("load_generator_bound.rs")),
    thresholds: &[
        Threshold { key: "late_p95_ms", default: 100.0, unit: "ms", why: "as long as a short TTFT" },
        Threshold { key: "shortfall", default: 0.1, unit: "share of the rate", why: "a tenth less is another load" },
        Threshold {
            key: "before_server_ms",
            default: 150.0,
            unit: "ms",
            why: "a network takes less; also more than half of TTFT",
        },
        Threshold {
            key: "bunched",
            default: 0.1,
            unit: "share of sends beyond chance",
            why: "a client that keeps up sends when requests are due",
        },
        Threshold { key: "stalled", default: 0.05, unit: "share of decode", why: "one twentieth of all streams' time" },
        Threshold {
            key: "held_back_p95_ms",
            default: 100.0,
            unit: "ms",
            why: "a wait like this before the send would be seen in TTFT",
        },
    ],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let Some(l) = &v.run.evidence.lateness else {
        return Verdict::NotChecked(vec![
            "send times of at least 20 requests (of vllm bench serve from 0.16 on)".to_string(),
        ]);
    };
    let open = l.max_concurrency.is_none();
    let sent = sent_evidence(l);
    let found = (open.then(|| late(v, l)).flatten())
        .or_else(|| open.then(|| shortfall(v, l)).flatten())
        .or_else(|| before_server(v))
        .or_else(|| open.then(|| stands_still(v, l)).flatten())
        .or_else(|| held_back(v, l));
    match found {
        Some(finding) => finding.into(),
        None => {
            let late = l.late_p95_ms.map(|ms| Evidence::new("client_queue_ms", "p95", ms, "ms").of(l.requests));
            let outside = v.run.evidence.outside.as_ref().and_then(|o| o.before_server_ms);
            let outside = outside.map(|ms| Evidence::new("before_server_ms", "p50", ms, "ms"));
            Verdict::Clear([Some(sent), late, outside].into_iter().flatten().collect())
        }
    }
}

fn sent_evidence(l: &Lateness) -> Evidence {
    let sent = Evidence::new("sent_per_s", "value", l.sent_per_s, "req/s").of(l.requests);
    match l.asked_per_s {
        Some(asked) => sent.against(asked, "asked for"),
        None => sent,
    }
}

fn finding(v: &RunView<'_>, summary: String, first: Evidence) -> Finding {
    Finding::new(Severity::Critical, summary, first, v.advise(Measure::StrongerClient))
        .try_also(v.advise_all([Measure::LowerRate, Measure::OpenLoop]))
        .weighing(0.95)
}

fn late(v: &RunView<'_>, l: &Lateness) -> Option<Finding> {
    let p95 = l.late_p95_ms.filter(|ms| *ms >= v.limit("late_p95_ms"))?;
    let share = l.late_share.unwrap_or(0.0);
    let summary = format!("one request in twenty was sent {} after it was due, or later", time_text(p95));
    let text = format!("{} of the requests were sent more than 10 ms late", percent_text(share));
    let first = Evidence::new("client_queue_ms", "p95", p95, "ms").against(v.limit("late_p95_ms"), "threshold");
    let effect = Effect { metric: "client_queue_ms", amount: p95, unit: "ms", share: None, text };
    Some(finding(v, summary, first.of(l.requests)).and(sent_evidence(l)).with_effect(effect).weighing(0.95))
}

/// Fewer than asked for, by more than three standard deviations of arrivals at random.
fn shortfall(v: &RunView<'_>, l: &Lateness) -> Option<Finding> {
    let asked = l.asked_per_s.filter(|rate| *rate > 0.0 && rate.is_finite())?;
    let missing = 1.0 - l.sent_per_s / asked;
    let spread = 1.0 / (l.requests as f64 * l.burstiness.unwrap_or(1.0).clamp(0.05, 1.0)).sqrt();
    if missing < v.limit("shortfall").max(3.0 * spread) {
        return None;
    }
    let summary = format!("{:.2} requests/s were sent where {asked:.2}/s were asked for", l.sent_per_s);
    let text = format!("{} of the load was not sent in time", percent_text(missing));
    let amount = asked - l.sent_per_s;
    let effect = Effect { metric: "sent_per_s", amount, unit: "req/s", share: None, text };
    Some(finding(v, summary, sent_evidence(l)).sure(0.9).with_effect(effect).weighing(0.95))
}

/// Waited before the server had them: by the server's records, else by its samples.
fn before_server(v: &RunView<'_>) -> Option<Finding> {
    let o = v.run.evidence.outside.as_ref()?;
    let peak = o.peak_in_engine.map(|n| Evidence::new("running_and_waiting", "max", n, "requests"));
    let peak = peak.map(|e| e.against(o.peak_in_flight as f64, "in flight at the client"));
    if let Some(before) = o.before_server_ms {
        if before < v.limit("before_server_ms") || before < 0.5 * o.ttft_ms {
            return None;
        }
        let share = (before / o.ttft_ms.max(1e-9)).min(1.0);
        let summary =
            format!("requests waited {} before the server had them: connections, or the way", time_text(before));
        let text = format!("{} of TTFT at the median passed before the server", percent_text(share));
        let first = Evidence::new("before_server_ms", "p50", before, "ms").against(o.ttft_ms, "P50 of TTFT");
        let effect = Effect { metric: "ttft_ms", amount: before, unit: "ms", share: Some(share), text };
        return Some(
            finding(v, summary, first.of(o.requests)).and_if(peak).sure(0.9).with_effect(effect).weighing(0.95),
        );
    }
    // Samples a second apart miss short peaks: only a multiple says something.
    let engine = o.peak_in_engine.filter(|n| *n > 0.0)?;
    if (o.peak_in_flight as f64) < (2.5 * engine).max(engine + 8.0) || o.mean_in_flight < 1.5 * o.mean_in_engine? {
        return None;
    }
    let summary = format!(
        "up to {} were in flight at the client and never more than {engine:.0} in the engine: the others waited \
         before it, in the client's connections or in the server's front end",
        counted(o.peak_in_flight, "request")
    );
    // Not critical: whose fault it is, a record of the server's requests would tell.
    Some(Finding { severity: Severity::Warning, ..finding(v, summary, peak?).sure(0.6) })
}

/// All streams pause at once and requests are sent in bunches: who stands still is the client.
fn stands_still(v: &RunView<'_>, l: &Lateness) -> Option<Finding> {
    let beyond = l.bunched_share - l.bunched_by_chance;
    let random = l.burstiness.is_none_or(|b| b >= 0.8) && l.asked_per_s.is_some();
    let (seconds, pauses) = v.pauses(StallClass::GlobalStall)?;
    let share = v.share_of_decode(seconds)?;
    if !random || beyond < v.limit("bunched") || share < v.limit("stalled") {
        return None;
    }
    let summary = format!(
        "the client stood still: all streams paused at once for {} of decode, and {} of the requests were sent in bunches",
        percent_text(share),
        percent_text(l.bunched_share)
    );
    let text = format!("pauses of the client add up to {} over all requests", time_text(seconds * 1e3));
    let first = Evidence::new("bunched_sends", "share", l.bunched_share, "share").of(l.requests);
    let pause = Evidence::new("stalls.global_stall", "share of decode", share, "share").of(pauses);
    let effect = Effect { metric: "itl_ms", amount: seconds, unit: "s", share: Some(share), text };
    let first = first.against(l.bunched_by_chance, "by chance");
    Some(finding(v, summary, first).and(pause).sure(0.8).with_effect(effect).weighing(0.9))
}

/// A limit of the client held requests back: no fault, but the wait is in no latency.
fn held_back(v: &RunView<'_>, l: &Lateness) -> Option<Finding> {
    let (limit, p95) = (l.max_concurrency?, l.late_p95_ms?);
    if p95 < v.limit("held_back_p95_ms") || l.asked_per_s.is_none() {
        return None;
    }
    let summary = format!(
        "the client's limit of {} in flight held requests back, {} at P95: no latency contains that wait",
        counted(u64::from(limit), "request"),
        time_text(p95)
    );
    let held = Evidence::new("client_queue_ms", "p95", p95, "ms").of(l.requests);
    let finding = Finding::new(Severity::Info, summary, held, v.advise(Measure::OpenLoop));
    Some(finding.and(sent_evidence(l)).weighing(0.1).as_note().try_also([v.advise(Measure::LowerRate)]))
}
