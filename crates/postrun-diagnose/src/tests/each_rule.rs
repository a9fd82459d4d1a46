//! Each rule fires on a run with its cause and is silent on a healthy one.

use super::*;
use crate::{RULES, Severity};

#[test]
fn every_rule_finds_its_cause() {
    for rule in RULES {
        let diagnosis = diagnosed(&recorded(&labelled(rule.id)));
        assert!(found(&diagnosis).contains(&rule.id), "{}: {:?}", rule.id, found(&diagnosis));
        assert_eq!(found(&diagnosis)[0], rule.id, "ranked first");
    }
}

#[test]
fn a_healthy_run_is_clear() {
    let diagnosis = diagnosed(&recorded(&labelled("")));
    assert!(diagnosis.findings.iter().all(|f| f.severity == Severity::Info), "{:?}", diagnosis.findings);
    let looked_at = diagnosis.findings.len() + diagnosis.cleared.len() + diagnosis.not_checked.len();
    assert_eq!(looked_at, RULES.len());
    assert!(diagnosis.cleared.len() > RULES.len() * 2 / 3, "{:?}", diagnosis.not_checked);
}

#[test]
fn pages_and_thresholds_are_complete() {
    const SECTIONS: [&str; 5] =
        ["# What it finds", "# Why it happens", "# How it is decided", "# What to try", "# When it is wrong"];
    for rule in RULES {
        let source = rule.doc.text();
        let at: Vec<Option<usize>> = SECTIONS.iter().map(|s| source.find(s)).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{}: {at:?}", rule.id);
        assert!(rule.thresholds.iter().all(|t| t.why.len() > 10 && t.default.is_finite()), "{}", rule.id);
        let known = |id: &&&str| RULES.iter().any(|r| r.id == **id) && **id != rule.id;
        assert!(rule.explained_by.iter().all(|id| known(&id)), "{}: {:?}", rule.id, rule.explained_by);
    }
}

#[test]
fn metrics_alone_are_the_same_metrics() {
    let result = serde_json::to_vec(&client_result(&labelled("frequent_preemption"))).unwrap();
    let files = [("result.json", result)];
    let whole = analysed(&files);
    let alone = analysed_for(&files, &Options { metrics_only: true, ..Options::default() });
    assert_eq!((&alone.metrics, &alone.values), (&whole.metrics, &whole.values));
    assert!(whole.stalls.is_some() && whole.evidence.ttft.is_some());
    assert!(alone.stalls.is_none() && alone.evidence == Default::default());
}
