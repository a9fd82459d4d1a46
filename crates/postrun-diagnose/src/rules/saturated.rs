//! The server is saturated: requests arrive faster than they are finished, so the queue grows for as long as they come.
//!
//! # What it finds
//! Runs whose latencies depend on how long the run lasted, because nothing was in balance.
//!
//! # Why it happens
//! The arrival rate lies above the service rate. Then no percentile of TTFT means anything by itself: a longer run would show
//! a longer one.
//!
//! # How it is decided
//! While requests were sent: completions per second against arrivals per second, less those that cannot have finished yet by
//! the service time of a request that does not wait; requests in flight early and late; and whether TTFT rises with the order of
//! sending. Little's law says how many would be in flight in balance.
//!
//! # What to try
//! Less load, more servers, a bound on the queue; and a sweep of rates to find the knee.
//!
//! # When it is wrong
//! Runs so short that nothing could finish, and bursts in which all requests are sent at once, have no balance to lose: they
//! are not judged.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, time_text};
use postrun_schema::Doc;

pub(super) static SATURATED: Rule = Rule {
    id: "saturated",
    title: "The server is saturated",
    doc: Doc::from_source(include_str!("saturated.rs")),
    thresholds: &[
        Threshold {
            key: "completions",
            default: 0.9,
            unit: "share of arrivals",
            why: "a tenth behind, a run of ten minutes ends a minute late",
        },
        Threshold {
            key: "growth",
            default: 1.5,
            unit: "late over early",
            why: "in-flight requests vary by less than half in balance",
        },
    ],
    explained_by: &["load_generator_bound", "frequent_preemption", "memory_near_limit"],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let not = |what: &str| Verdict::NotChecked(vec![what.to_string()]);
    let Some(g) = &v.run.evidence.growth else { return not("send times of at least 20 requests") };
    if v.run.manifest.load.max_concurrency.is_some() {
        return not("an open load: the client bounds the requests in flight and so hides the queue");
    }
    // What a request takes when nobody waits: the server's own inference time, else that of the quickest tenth.
    let service_s = v.stat("inference_ms", "p50").unwrap_or(g.quickest_tenth_ms) / 1e3;
    if g.sending_s < 2.0 * service_s || g.sending_s < 5.0 {
        return not("a sending phase of at least two typical requests: this one was a burst");
    }
    // The requests sent last could not have finished, even in balance.
    let expected = (1.0 - service_s / g.sending_s).max(0.1);
    let kept_up = g.completions_per_s / (g.arrivals_per_s * expected).max(1e-9);
    let growth = g.in_flight_late / g.in_flight_early.max(0.5);
    let rates = Evidence::new("completions_per_s", "value", g.completions_per_s, "req/s").of(g.requests);
    let rates = rates.against(g.arrivals_per_s, "arrivals per second");
    let level = Evidence::new("in_flight_late", "mean", g.in_flight_late, "requests");
    let level = level.against(g.in_flight_early, "early in the run");
    let order = Evidence::new("ttft_by_send_order", "rank correlation", g.rho_ttft, "");
    let grows = growth >= v.limit("growth") && g.rho_ttft >= 0.35;
    if kept_up >= v.limit("completions") || !grows {
        return Verdict::Clear(vec![rates, level, order]);
    }
    let added = (g.arrivals_per_s - g.completions_per_s).max(0.0);
    let summary = format!(
        "{:.2} requests/s arrived and {:.2}/s were finished: the queue grew for as long as requests came",
        g.arrivals_per_s, g.completions_per_s
    );
    let text =
        format!("{} were in flight at the last send, and took {} to finish", g.backlog, time_text(g.drain_s * 1e3));
    Finding::new(Severity::Critical, summary, rates, v.advise(Measure::LowerRate))
        .and(level)
        .and(order)
        .and_if(v.run.facts.server.waiting.map(|w| Evidence::new("waiting_max", "value", w.max, "requests")))
        .sure(0.6 + 0.4 * ((growth - 1.0) / 3.0).clamp(0.0, 1.0))
        .with_effect(Effect { metric: "requests_per_s", amount: added, unit: "req/s", share: None, text })
        .weighing(0.75 + 0.2 * (1.0 - kept_up).clamp(0.0, 1.0))
        .try_also(v.advise_all([Measure::ScaleOut, Measure::BoundQueue, Measure::SplitOnlineOffline]))
        .into()
}
