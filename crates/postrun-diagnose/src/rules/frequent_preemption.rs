//! Preemption is frequent: running requests are taken off the batch because the KV cache has no room.
//!
//! # What it finds
//! Requests that were preempted, and the time that it cost.
//!
//! # Why it happens
//! Too little KV cache for the requests that run at once: too many of them, contexts too long, or short and long ones mixed. A
//! preempted request waits and computes its prompt and answer so far again. Before the first token that lengthens TTFT and
//! prefill; after it, one gap of ITL, decode and e2e.
//!
//! # How it is decided
//! By the server's counter or its records of requests where there are any: preemptions per request against a threshold. Without
//! them, by pauses in the client's streams that look like preemption (`explain stalls`), of which only the sure ones count.
//! Clear where the counter did not move.
//!
//! # What to try
//! More KV cache, fewer requests at once, a smaller KV type, shorter contexts, better prefix reuse, length classes apart, more
//! replicas.
//!
//! # When it is wrong
//! A counter counts every client of the server. Pauses alone miss preemption before the first token.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, time_text};
use postrun_analysis::{Preemption, StallClass};
use postrun_schema::{Doc, counted};

pub(super) static FREQUENT_PREEMPTION: Rule = Rule {
    id: "frequent_preemption",
    title: "Preemption is frequent",
    doc: Doc::from_source(include_str!("frequent_preemption.rs")),
    thresholds: &[
        Threshold {
            key: "per_request",
            default: 0.05,
            unit: "preemptions per request",
            why: "one request in twenty is where P95 begins to show it",
        },
        Threshold {
            key: "critical_per_request",
            default: 0.25,
            unit: "preemptions per request",
            why: "every fourth request loses its place: the server runs beyond its memory",
        },
        Threshold {
            key: "pauses_per_request",
            default: 0.02,
            unit: "pauses per request",
            why: "pauses alone are surer in number than one by one",
        },
    ],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    match v.run.facts.server.preemption.as_ref().and_then(|p| Some((p, p.total?))) {
        Some((_, 0.0)) => {
            Verdict::Clear(vec![Evidence::new("preemption_total", "value", 0.0, "preemptions").of(v.run.requests.ok)])
        }
        Some((p, total)) => by_count(v, total, p),
        None => by_pauses(v),
    }
}

fn by_count(v: &RunView<'_>, total: f64, p: &Preemption) -> Verdict {
    let limit = v.limit("per_request");
    let count = Evidence::new("preemption_total", "value", total, "preemptions");
    let Some(requests) = v.requests_answered() else {
        let summary = counted(total.round() as u64, "preemption");
        return finding(v, Severity::Warning, summary, count).sure(0.8).weighing(0.5).into();
    };
    let per_request = total / requests;
    let rate = Evidence::new("preemption_total", "per request", per_request, "").against(limit, "threshold");
    if per_request < limit {
        return Verdict::Clear(vec![count, rate]);
    }
    let grave = per_request >= v.limit("critical_per_request") && requests >= FEWEST_FOR_CRITICAL;
    let severity = if grave { Severity::Critical } else { Severity::Warning };
    let hit = p.requests_hit.or(p.requests_hit_at_least);
    let name = if p.requests_hit.is_some() { "requests_hit" } else { "requests_hit_at_least" };
    let mut finding = finding(
        v,
        severity,
        format!("{} in a run of {}", counted(total.round() as u64, "preemption"), answered(v, requests)),
        count,
    )
    .and(rate)
    .and_if(hit.map(|n| Evidence::new(&format!("preemption.{name}"), "value", n as f64, "requests")));
    if let Some((lost, n)) = p.decode_s.filter(|s| *s > 0.0).zip(hit) {
        let share = v.e2e_s().filter(|_| p.requests_hit.is_some()).map(|all| (lost / all.max(1e-9)).min(1.0));
        let text = match p.requests_hit {
            Some(_) => format!(
                "{n} of {requests:.0} requests were hit and lost {} each after their first token",
                time_text(lost * 1e3 / n.max(1) as f64)
            ),
            None => format!(
                "at least {} hit; most preemptions struck before first tokens and lengthen TTFT, after them {} were lost",
                counted(n, "request"),
                time_text(lost * 1e3)
            ),
        };
        finding = finding.with_effect(Effect { metric: "e2e_ms", amount: lost, unit: "s", share, text });
    }
    finding.sure(0.98).weighing(0.3 + per_request.min(1.0) * 0.6).into()
}

/// With fewer requests one preemption is a large share.
const FEWEST_FOR_CRITICAL: f64 = 20.0;

/// Without a counter: pauses that look like preemption, the sure ones.
fn by_pauses(v: &RunView<'_>) -> Verdict {
    let missing =
        || Verdict::NotChecked(vec!["the server's preemption counter, or chunk times with send times".to_string()]);
    let Some(stalls) = v.run.stalls.as_ref().filter(|_| v.run.facts.peak_concurrency.is_some()) else {
        return missing();
    };
    let (seconds, all) = v.pauses(StallClass::Preemption).unwrap_or_default();
    let (sure, limit) = (stalls.sure(StallClass::Preemption), v.limit("pauses_per_request"));
    let per_request = sure as f64 / v.ok().max(1.0);
    let evidence = Evidence::new("stalls.preemption", "count", all as f64, "pauses").of(stalls.total);
    if sure < 3 || per_request < limit {
        // Preemption before the first token leaves no pause in a stream.
        return match v.run.facts.server.kv_cache_usage.as_ref().and_then(|kv| kv.max) {
            Some(max) if max < 0.9 => {
                Verdict::Clear(vec![evidence, Evidence::new("kv_cache_usage_max", "value", max, "share")])
            }
            _ if all == 0 => Verdict::Clear(vec![evidence]),
            _ => missing(),
        };
    }
    let share = v.e2e_s().map(|all| (seconds / all.max(1e-9)).min(1.0));
    let text = format!("these pauses add up to {}", time_text(seconds * 1e3));
    let summary = format!(
        "{} of streams look like preemption{} in a run of {}",
        counted(all, "pause"),
        if sure < all { format!(" ({sure} of them surely)") } else { String::new() },
        answered(v, v.ok())
    );
    let rate = Evidence::new("stalls.preemption", "sure ones per request", per_request, "per request");
    finding(v, Severity::Warning, summary, evidence)
        .and(rate.against(limit, "threshold"))
        .sure(0.75)
        .with_effect(Effect { metric: "e2e_ms", amount: seconds, unit: "s", share, text })
        .weighing(0.3 + per_request.min(1.0) * 0.6)
        .into()
}

/// `60 requests`; where others failed, `59 answered requests`: what failed is in no rate.
fn answered(v: &RunView<'_>, requests: f64) -> String {
    let noun = if v.run.requests.total > v.run.requests.ok { "answered request" } else { "request" };
    counted(requests.round() as u64, noun)
}

fn finding(v: &RunView<'_>, severity: Severity, what: String, first: Evidence) -> Finding {
    let kv = v.run.facts.server.kv_cache_usage.as_ref();
    let full = kv.and_then(|kv| kv.max).is_some_and(|max| max >= 0.9);
    let because = if full { "the KV cache is full" } else { "the server runs more requests than it can hold" };
    Finding::new(severity, format!("{what}: {because}"), first, v.more_kv_cache())
        .and_if(kv.and_then(|kv| Some(Evidence::new("kv_cache_share_over_90", "value", kv.share_over_90?, "share"))))
        .try_also(v.advise_all([
            Measure::LowerConcurrency,
            Measure::SmallerKvDtype,
            Measure::ShorterContext,
            Measure::PrefixCaching,
            Measure::BucketByLength,
            Measure::ScaleOut,
        ]))
}
