//! Failures distort latencies: requests that failed are in no latency, so the figures are those of the survivors.
//!
//! # What it finds
//! The share of requests that failed, and whether they were like the others.
//!
//! # Why it happens
//! Errors, time-outs, broken streams, refused prompts. Time-outs cut the slowest requests out of P99; refused prompts the
//! longest; a server that answers errors at once has less to do for the rest.
//!
//! # How it is decided
//! By the share of measured requests that failed. Their prompt lengths are compared with those of the answered ones, and
//! the tenth of the run in which most of them were sent is named.
//!
//! # What to try
//! Find out why before reading any latency. Set time-outs and bounds on purpose, and report goodput.
//!
//! # When it is wrong
//! A client that stops early cancels what is under way; such requests may be called failed.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, times_text};
use postrun_analysis::Failures;
use postrun_schema::{Doc, counted, grouped};

pub(super) static FAILURES_DISTORT_LATENCY: Rule = Rule {
    id: "failures_distort_latency",
    title: "Failures distort latencies",
    doc: Doc::from_source(include_str!("failures_distort_latency.rs")),
    thresholds: &[
        Threshold {
            key: "share",
            default: 0.01,
            unit: "share of requests",
            why: "one in a hundred is all that P99 looks at",
        },
        Threshold {
            key: "critical_share",
            default: 0.05,
            unit: "share of requests",
            why: "one answer in twenty is missing: the server does not do what was asked",
        },
    ],
    explained_by: &["saturated", "load_generator_bound", "frequent_preemption"],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let counts = v.run.requests;
    if counts.total == 0 {
        return Verdict::NotChecked(vec!["requests, or the client's count of them".to_string()]);
    }
    let share = counts.failed as f64 / counts.total as f64;
    let rate = Evidence::new("failure_rate", "value", share, "share").against(v.limit("share"), "threshold");
    let mut rate = rate.of(counts.total);
    // One failure of sixty says little of a rate.
    if share < v.limit("share") || counts.failed < 2 && counts.total > 1 {
        return Verdict::Clear(vec![rate]);
    }
    let details = v.run.evidence.failures.as_ref();
    if let Some(f) = details {
        rate = rate.shown_by(&f.named);
    }
    let severity = if share >= v.limit("critical_share") { Severity::Critical } else { Severity::Warning };
    let like = details.and_then(unlike).unwrap_or_default();
    let summary = format!(
        "{} of {} failed and are in no latency{like}",
        grouped(counts.failed),
        counted(counts.total, "request")
    );
    let text = match counts.ok {
        0 => "no request was answered: there is no latency to read".to_string(),
        _ => format!("latencies are those of the {} that were answered", percent_text(1.0 - share)),
    };
    let prompts = details.and_then(|f| f.failed_prompt_tokens.zip(f.ok_prompt_tokens));
    let prompts = prompts.map(|(failed, ok)| {
        Evidence::new("prompt_tokens", "p50 of failed", failed, "tokens").against(ok, "answered requests")
    });
    let span = details.and_then(|f| f.in_one_tenth);
    Finding::new(severity, summary, rate, v.advise(Measure::FixFailures))
        .and_if(prompts)
        .and_if(span.map(|s| Evidence::new("failures_in_one_tenth", "share", s, "share")))
        .sure(1.0)
        .with_effect(Effect { metric: "failure_rate", amount: share * 100.0, unit: "%", share: None, text })
        .weighing(0.6 + 0.4 * share)
        .try_also(v.advise_all([Measure::SetTimeouts, Measure::BoundQueue, Measure::IsolateLongRequests]))
        .into()
}

/// What sets them apart.
fn unlike(f: &Failures) -> Option<String> {
    if let Some(share) = f.in_one_tenth.filter(|share| *share >= 0.6 && f.failed >= 5) {
        return Some(format!("; {} of them were sent within one tenth of the run", percent_text(share)));
    }
    let (failed, ok) = f.failed_prompt_tokens.zip(f.ok_prompt_tokens)?;
    let ratio = failed / ok.max(1.0);
    (ratio >= 1.3).then(|| format!("; their prompts were {} as long as those of the others", times_text(ratio)))
}
