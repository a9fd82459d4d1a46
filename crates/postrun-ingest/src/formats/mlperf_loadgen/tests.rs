//! Tests of the format: values that can be checked on paper, damage, and real files against their own figures.

use super::*;
use crate::client::run_test::{mutate_at_random, read, read_files, read_paths};
use crate::formats::reading_test::shared;

fn line(key: &str, value: &str) -> String {
    format!(
        ":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"time_ms\": 1.5, \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": false}}}}\n"
    )
}

fn detail() -> String {
    [
        ("loadgen_version", "\"5.1.0\""),
        ("effective_scenario", "\"Server\""),
        ("effective_target_qps", "8.5"),
        ("generated_query_count", "10"),
        ("generated_samples_per_query", "1"),
        ("result_min_latency_ns", "1000000"),
        ("result_max_latency_ns", "9000000"),
        ("result_99.90_percentile_latency_ns", "8500000"),
        ("result_first_token_mean_latency_ns", "2500000"),
        ("result_time_to_output_token_min", "-5"),
        ("result_completed_samples_per_sec", "8.25"),
    ]
    .map(|(key, value)| line(key, value))
    .concat()
}

const SUMMARY: &str = "================================================
MLPerf Results Summary
================================================
Scenario : Server
Completed samples per second    : 8.25
90.0th first token percentile latency (ns) : 3000000
Min latency (ns)                : 1000000
Max latency (ns)                : 9000000
Mean Time to Output Token (ns)               : 400000
";

#[test]
fn detail_and_summary_are_one_run() {
    let text = detail();
    let files = [("mlperf_log_detail.txt", text.as_bytes()), ("mlperf_log_summary.txt", SUMMARY.as_bytes())];
    let ran = read_files(None, &files).unwrap();
    assert_eq!(ran.len(), 1);
    let manifest = &ran[0].manifest;
    assert_eq!((manifest.load.request_rate, manifest.counted.completed), (Some(8.5), Some(10)));
    let figures = ["e2e_ms p99.9", "ttft_ms mean", "requests_per_s value", "ttft_ms p90"];
    assert_eq!(figures.map(|name| ran[0].figure(name)), [8.5, 2.5, 8.25, 3.0]);
    assert_eq!(ran[0].reported().iter().filter(|f| f.0 == "e2e_ms max").count(), 1);
    assert!((ran[0].figure("tpot_ms mean") - 0.4).abs() < 1e-9);
    assert_eq!(ran[0].issue(IssueCode::NegativeDuration), 1);
}

#[test]
fn an_accuracy_run_is_refused_with_the_reason() {
    let text = line("loadgen_version", "\"5.1.0\"") + &line("effective_test_mode", "\"AccuracyOnly\"");
    let error = read_files(None, &[("mlperf_log_detail.txt", text.as_bytes())]).err().unwrap().to_string();
    assert!(error.contains("accuracy run"), "{error}");
}

/// Cuts a log: no figure may come out that the whole one does not hold.
fn cut_figures(name: &str, text: &str, step: usize) {
    let whole = read(&MLPERF_LOADGEN, name, text.as_bytes()).unwrap()[0].reported();
    assert!(!whole.is_empty());
    for cut in (1..text.len()).step_by(step) {
        let Ok(ran) = read(&MLPERF_LOADGEN, name, &text.as_bytes()[..cut]) else { continue };
        for figure in ran[0].reported() {
            assert!(whole.contains(&figure), "{name} cut at {cut}: {figure:?}");
        }
    }
}

#[test]
fn damage_is_stood() {
    cut_figures("mlperf_log_summary.txt", SUMMARY, 1);
    cut_figures("mlperf_log_detail.txt", &detail(), 5);
    mutate_at_random(&MLPERF_LOADGEN, "mlperf_log_summary.txt", SUMMARY.as_bytes(), 150);
    mutate_at_random(&MLPERF_LOADGEN, "mlperf_log_detail.txt", detail().as_bytes(), 150);
    let text = detail().replace("\"time_ms\"", "time_ms");
    assert!(read_files(None, &[("mlperf_log_detail.txt", text.as_bytes())]).is_err());
}

#[test]
fn published_logs_hold_what_their_summaries_print() {
    const RUNS: usize = 7;
    let Some(folder) = shared("public/mlperf/sample_1") else { return };
    let both = read_paths(std::slice::from_ref(&folder)).unwrap();
    // One accuracy folder holds a performance run.
    assert_eq!(both.len(), RUNS);
    for run in &both {
        let sources = &run.manifest.sources;
        assert_eq!(sources.len(), 2, "{sources:?}");
        let detail = read_paths(&[folder.join(&sources[0].name)]).unwrap();
        let summary = read_paths(&[folder.join(&sources[1].name)]).unwrap();
        let mut shown = 0;
        let stored = detail[0].reported();
        for (name, value, _) in summary[0].reported() {
            let Some((_, stored, _)) = stored.iter().find(|(known, _, _)| *known == name) else { continue };
            assert!((stored - value).abs() < 0.006f64.max(1e-5 * value), "{name}: {stored} {value}");
            shown += 1;
        }
        assert!(shown >= 10, "{shown}");
    }
}
