//! Causes before symptoms, and no eight equal alarms.

use super::*;
use crate::diagnosis::rank;
use crate::{Evidence, Finding, Measure, Server, Severity};

fn finding(rule: &str, severity: Severity, weight: f64) -> Finding {
    let evidence = Evidence::new("requests", "ok", 1.0, "requests");
    let mut f = Finding::new(severity, rule.to_string(), evidence, Measure::MoreRequests.on(Server::Unknown));
    f.rule = rule.to_string();
    f.weighing(weight)
}

fn order(mut findings: Vec<Finding>) -> Vec<String> {
    rank(&mut findings);
    findings.into_iter().map(|f| f.rule).collect()
}

#[test]
fn symptoms_follow_their_cause_however_grave() {
    let findings = vec![
        finding("heavy_tail", Severity::Critical, 1.0),
        finding("itl_jitter", Severity::Critical, 0.9),
        finding("frequent_preemption", Severity::Warning, 0.1),
        finding("high_tpot", Severity::Info, 0.1),
    ];
    assert_eq!(order(findings), ["frequent_preemption", "itl_jitter", "heavy_tail", "high_tpot"]);
}

#[test]
fn what_the_evidence_does_not_point_to_is_no_cause() {
    let tail = finding("heavy_tail", Severity::Warning, 0.9).not_because_of(&["itl_jitter"]);
    assert_eq!(order(vec![tail, finding("itl_jitter", Severity::Warning, 0.1)]), ["heavy_tail", "itl_jitter"]);
    // A note explains nothing.
    let note = finding("load_generator_bound", Severity::Info, 0.1).as_note();
    let queue = finding("queueing_dominates_ttft", Severity::Warning, 0.5);
    assert_eq!(order(vec![note, queue]), ["queueing_dominates_ttft", "load_generator_bound"]);
}

#[test]
fn order_does_not_depend_on_the_order_of_finding() {
    let all = || {
        let rules = ["too_few_samples_for_p99", "saturated", "heavy_tail", "failures_distort_latency"];
        rules.map(|rule| finding(rule, Severity::Warning, 0.5)).to_vec()
    };
    let mut turned = all();
    turned.reverse();
    assert_eq!(order(all()), order(turned));
}

#[test]
fn preemption_is_named_before_what_follows_from_it() {
    let diagnosis = diagnosed(&recorded(&labelled("frequent_preemption")));
    assert_eq!(found(&diagnosis)[0], "frequent_preemption");
    for f in diagnosis.findings.iter().skip(1).filter(|f| f.rule == "queueing_dominates_ttft") {
        assert!(f.caused_by.iter().any(|c| c == "frequent_preemption"), "{:?}", f.caused_by);
    }
}

#[test]
fn itl_that_misleads_goes_before_what_costs_nothing() {
    let rule = "speculation_or_chunking_distorts_itl";
    let mut scenario = labelled(rule);
    let severity = |s: &Scenario| {
        let diagnosis = diagnosed(&recorded(s));
        diagnosis.findings.iter().find(|f| f.rule == rule).map(|f| f.severity)
    };
    assert_eq!(severity(&scenario), Some(Severity::Warning));
    (scenario.speculation.draft_tokens, scenario.speculation.acceptance) = (1, 0.35);
    assert_eq!(severity(&scenario), Some(Severity::Info));
    // A closed loop that just fits waits for nothing, while ITL is eight times the time of a token.
    let mut full = labelled("memory_near_limit");
    full.server.stream_interval = 8;
    assert_eq!(found(&diagnosed(&recorded(&full)))[..2], [rule, "memory_near_limit"]);
}
