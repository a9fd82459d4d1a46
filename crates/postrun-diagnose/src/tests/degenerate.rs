//! Runs of which little can be said: no number that is none, and no invented cause.

use super::*;
use crate::Severity;

const GAPS: [f64; 9] = [0.01; 9];

fn worst(diagnosis: &Diagnosis) -> Option<Severity> {
    diagnosis.findings.iter().map(|f| f.severity).max()
}

#[test]
fn few_requests() {
    for n in [1, 5] {
        let diagnosis = diagnosed(&of_result(&small_result(n, 1.0, 0.05, &GAPS)));
        assert_eq!(found(&diagnosis), ["too_few_samples_for_p99"], "{n} requests");
    }
}

#[test]
fn no_requests() {
    let mut run = of_result(&small_result(1, 1.0, 0.05, &GAPS));
    // A result without rows is no run for an ingestor: what is left of one is emptied.
    run.requests = Default::default();
    run.facts = Default::default();
    run.evidence = Default::default();
    (run.values, run.metrics, run.buckets) = Default::default();
    (run.stalls, run.timeline) = (None, None);
    let diagnosis = diagnosed(&run);
    assert!(diagnosis.findings.is_empty() && diagnosis.cleared.is_empty(), "{diagnosis:?}");
}

#[test]
fn all_failed() {
    let mut result = small_result(30, 0.2, 0.0, &[]);
    result["errors"] = vec!["Connection refused"; 30].into();
    result["output_lens"] = vec![0; 30].into();
    result["completed"] = 0.into();
    let diagnosis = diagnosed(&of_result(&result));
    assert_eq!(found(&diagnosis), ["failures_distort_latency", "too_few_samples_for_p99"]);
    assert_eq!(worst(&diagnosis), Some(Severity::Critical));
}

#[test]
fn one_lonely_failure_is_no_rate() {
    let mut result = small_result(60, 0.2, 0.05, &GAPS);
    result["errors"][7] = "Connection reset".into();
    let diagnosis = diagnosed(&of_result(&result));
    assert_eq!(found(&diagnosis), ["too_few_samples_for_p99"]);
}

#[test]
fn without_chunk_times_or_send_times() {
    let full = client_result(&labelled(""));
    for missing in [&["itls"][..], &["start_times", "queue_times"], &["itls", "start_times", "queue_times"]] {
        let mut result = full.clone();
        missing.iter().for_each(|key| {
            result.as_object_mut().unwrap().remove(*key);
        });
        let diagnosis = diagnosed(&of_result(&result));
        assert!(worst(&diagnosis).is_none_or(|s| s == Severity::Info), "{missing:?}: {:?}", found(&diagnosis));
        assert!(diagnosis.not_checked.len() >= 2, "{missing:?}: {:?}", diagnosis.not_checked);
    }
}

#[test]
fn constant_latencies_and_one_bucket() {
    for n in [50, 400] {
        let run = of_result(&small_result(n, 0.2, 0.05, &GAPS));
        assert_eq!(run.buckets.len(), 1);
        let diagnosis = diagnosed(&run);
        assert!(worst(&diagnosis).is_none_or(|s| s == Severity::Info), "{:?}", diagnosis.findings);
    }
}

#[test]
fn times_of_zero() {
    let diagnosed = diagnosed(&of_result(&small_result(200, 0.2, 0.0, &[0.0; 20])));
    assert!(worst(&diagnosed).is_none_or(|s| s < Severity::Critical), "{:?}", diagnosed.findings);
}

#[test]
fn pauses_are_no_share_of_a_decode_that_they_do_not_fit_into() {
    let gaps = [0.01, 0.01, 0.01, 0.01, 0.2, 0.01, 0.01, 0.01, 0.01];
    let mut run = of_result(&small_result(200, 0.2, 0.05, &gaps));
    let judged = |run: &RunAnalysis| !diagnosed(run).not_checked.iter().any(|n| n.rule == "itl_jitter");
    assert!(judged(&run));
    // First tokens in another unit: after the last ones, or so near to them that decode is next to nothing.
    for ttft_ms in [50_000.0, 330.0 - 1e-6] {
        for m in run.metrics.iter_mut().filter(|m| m.metric == "ttft_ms") {
            m.summary.mean = ttft_ms * 1e6;
        }
        assert!(!judged(&run), "{ttft_ms}");
        let diagnosis = diagnosed(&run);
        let cleared = diagnosis.cleared.iter().flat_map(|c| &c.evidence);
        let mut shares = diagnosis
            .findings
            .iter()
            .flat_map(|f| &f.evidence)
            .chain(cleared)
            .filter(|e| e.metric.starts_with("stalls."));
        assert!(shares.all(|e| e.stat != "share of decode" || e.value <= 1.0), "{diagnosis:?}");
    }
}
