//! The knee of a sweep.

use super::*;
use crate::diagnose_sweep;

/// A run at a rate, with a throughput and a P95 of TTFT.
fn at(rate: f64, tokens_per_s: f64, ttft_s: f64) -> RunAnalysis {
    let mut run = of_result(&small_result(40, 1.0 / rate, ttft_s, &[0.01; 5]));
    run.manifest.label = format!("rate {rate}");
    run.values.iter_mut().filter(|v| v.metric == "output_tokens_per_s").for_each(|v| v.value = tokens_per_s);
    run
}

#[test]
fn the_knee_is_where_latency_grows_and_throughput_does_not() {
    // Not in order: a sweep is sorted by its load.
    let runs = [at(8.0, 1010.0, 0.9), at(2.0, 500.0, 0.1), at(4.0, 980.0, 0.12), at(16.0, 1000.0, 4.0)];
    let finding = diagnose_sweep(&runs, &RuleSet::default()).unwrap();
    assert_eq!(
        (finding.rule.as_str(), finding.scope.as_str()),
        ("throughput_at_latency_cost", "rate 8 against rate 4")
    );
    assert!(finding.summary.contains("knee lies at a request rate of 4 req/s"), "{}", finding.summary);
    assert!(!finding.measures.is_empty());
}

#[test]
fn no_knee_and_no_sweep() {
    let set = RuleSet::default();
    let healthy = [at(2.0, 500.0, 0.1), at(4.0, 1000.0, 0.12), at(8.0, 2000.0, 0.2)];
    assert_eq!(diagnose_sweep(&healthy, &set), None);
    assert_eq!(diagnose_sweep(&healthy[..1], &set), None);
    assert_eq!(diagnose_sweep(&[], &set), None);
    // The same load twice is no sweep.
    assert_eq!(diagnose_sweep(&[at(2.0, 500.0, 0.1), at(2.0, 100.0, 3.0)], &set), None);
}
