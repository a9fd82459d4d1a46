//! Tests of the format: values that can be checked on paper, damage, and real files against their own figures.

use super::*;
use crate::client::run_test::{
    close_to, cut_everywhere, mean, mutate_at_random, percentile, read_files, read_paths, sum,
};
use crate::formats::reading_test::shared;
use postrun_schema::{IssueCode, Table};

const RECORDS: &str = r#"[{"error_code": null, "error_msg": "", "inter_token_latency_s": 0.1, "ttft_s": 0.25, "end_to_end_latency_s": 1.0, "request_output_throughput_token_per_s": 10.0, "number_total_tokens": 60, "number_output_tokens": 10, "number_input_tokens": 50},
 {"error_code": 429, "error_msg": "slow down", "inter_token_latency_s": 0, "ttft_s": 0, "end_to_end_latency_s": 0, "request_output_throughput_token_per_s": 0, "number_total_tokens": 50, "number_output_tokens": 0, "number_input_tokens": 50},
 {"error_code": null, "error_msg": "", "inter_token_latency_s": 0.1, "ttft_s": 0.5, "end_to_end_latency_s": 2.0, "number_output_tokens": 20, "number_input_tokens": 50}]"#;
const SUMMARY: &str = r#"{
 "version": "2023-08-31", "name": "x", "model": "toy", "num_concurrent_requests": 5, "timestamp": 1703136016,
 "results_ttft_s_quantiles_p50": 0.375, "results_ttft_s_min": 0.25, "results_ttft_s_max": "0.5",
 "results_ttft_s_stddev": 0.1767766952966369, "results_num_requests_started": 3, "results_number_errors": 1,
 "results_num_completed_requests": 2, "results_num_completed_requests_per_min": 30.0}"#;

#[test]
fn a_summary_gives_way_to_its_records_wherever_they_lie() {
    for names in [("a_individual_responses.json", "a_summary.json"), ("one.json", "two.json")] {
        let ran = read_files(None, &[(names.0, RECORDS.as_bytes()), (names.1, SUMMARY.as_bytes())]).unwrap();
        assert_eq!(ran.len(), 1, "{names:?}");
        let column = |name| ran[0].numbers(Table::Requests, name);
        assert_eq!(column("ttft_ns"), [Some(250_000_000), None, Some(500_000_000)]);
        assert_eq!(column("e2e_ns"), [Some(1_000_000_000), None, Some(2_000_000_000)]);
        assert_eq!(column("sent_ns"), [None; 3]);
        assert_eq!(ran[0].requests("error")[1], "429 slow down");
        assert_eq!((ran[0].manifest.duration_ns, ran[0].issue(IssueCode::FailedRequests)), (Some(4_000_000_000), 1));
        assert_eq!(ran[0].figure("ttft_ms p50"), 375.0);
        assert_eq!(ran[0].figure("requests_per_s value"), 0.5);
        assert_eq!(ran[0].manifest.load.max_concurrency, Some(5));
    }
}

#[test]
fn summaries_of_a_sweep_are_runs() {
    let other = SUMMARY.replace(r#"requests": 5"#, r#"requests": 8"#);
    let sweep = format!("{{\n\"5\": {SUMMARY},\n\"8\": {other}}}");
    let ran = read_files(None, &[("sweep_results.json", sweep.as_bytes())]).unwrap();
    assert_eq!(
        ran.iter().map(|run| run.manifest.label.as_str()).collect::<Vec<_>>(),
        ["sweep_results-c5", "sweep_results-c8"]
    );
}

#[test]
fn odd_records_are_counted() {
    let late = RECORDS.replace("[{", r#"["error_code", "ttft_s", {"#).replace("\"ttft_s\": 0.25", "\"ttft_s\": NaN");
    let ran = read_files(Some(&LLMPERF), &[("a.json", late.as_bytes())]).unwrap();
    assert_eq!(ran[0].numbers(Table::Requests, "ttft_ns").len(), 3);
    assert_eq!([IssueCode::NotARun, IssueCode::NonFiniteValue].map(|code| ran[0].issue(code)), [2, 1]);
}

#[test]
fn damage_is_stood() {
    cut_everywhere(&LLMPERF, "a.json", RECORDS.as_bytes(), 1);
    mutate_at_random(&LLMPERF, "a.json", RECORDS.as_bytes(), 150);
    mutate_at_random(&LLMPERF, "a.json", SUMMARY.as_bytes(), 150);
}

#[test]
fn the_leaderboard_agrees_with_its_summaries() {
    let Some(folder) = shared("public/llmperf/leaderboard") else { return };
    let ran = read_paths(&[folder]).unwrap();
    assert_eq!(ran.len(), 13);
    for run in &ran {
        assert_eq!(run.manifest.sources.len(), 2, "{}", run.manifest.label);
        for (metric, column) in [("ttft_ms", "ttft_ns"), ("e2e_ms", "e2e_ns")] {
            let values = run.answered(column);
            close_to(mean(&values) / 1e6, run.figure(&format!("{metric} mean")));
            for p in [25.0, 50.0, 75.0, 90.0, 95.0, 99.0] {
                close_to(percentile(&values, p) / 1e6, run.figure(&format!("{metric} p{p}")));
            }
        }
        let seconds = run.manifest.duration_ns.unwrap() as f64 / 1e9;
        close_to(sum(&run.answered("output_tokens")) / seconds, run.figure("output_tokens_per_s value"));
        close_to(run.answered("e2e_ns").len() as f64, run.figure("requests_ok value"));
    }
}

#[test]
fn the_published_sweep_is_read() {
    let Some(folder) = shared("public/llmperf/tgi-2.0.1") else { return };
    let ran = read_paths(&[folder]).unwrap();
    assert_eq!(ran.len(), 8);
    assert_eq!(ran[7].manifest.load.max_concurrency, Some(128));
}
