//! Tests of the format: values that can be checked on paper, damage, and real files against their own figures.

use super::*;
use crate::client::run_test::{
    close_to, cut_everywhere, mean, mutate_at_random, percentile, read_files, read_paths, sum,
};
use crate::formats::reading_test::shared;
use postrun_schema::Table;

const RECORDS: &str = concat!(
    r#"{"index":0,"stage":0,"concurrency":2,"scheduled_at":100.0,"sent_at":100.5,"first_token_at":100.75,"completed_at":101.0,"ttft":0.25,"e2e_latency":0.5,"inter_token_latencies":[0.125,0.0625],"prompt_tokens":10,"output_tokens":3,"success":true,"error":null,"status_code":200}"#,
    "\n",
    r#"{"index":1,"stage":0,"concurrency":2,"scheduled_at":100.0,"sent_at":100.25,"first_token_at":null,"completed_at":100.3,"ttft":null,"e2e_latency":0.05,"inter_token_latencies":[],"prompt_tokens":7,"output_tokens":0,"success":false,"error":"HTTP 500","status_code":500}"#,
    "\n",
    r#"{"index":0,"stage":1,"concurrency":4,"scheduled_at":200.0,"sent_at":200.0,"ttft":0.5,"e2e_latency":0.5,"inter_token_latencies":[],"prompt_tokens":10,"output_tokens":1,"success":true,"error":null}"#,
    "\n",
);
const SUMMARY: &str = r#"{
 "profiler_version":"0.1.0","model":"toy","arrival_mode":"closed","stages":[
 {"stage":0,"concurrency":2,"duration_s":0.75,"requests":{"total":2,"succeeded":1,"failed":1,"error_rate":0.5},
  "latency":{"ttft_s":{"mean":0.25,"p99":0.25}},"throughput":{"requests_per_s":1.3333333333333333},
  "tokens":{"prompt_total":10,"output_total":3,"prompt_mean":10.0},"estimates":{"peak_inflight":2}}]}"#;

#[test]
fn stages_are_runs_and_their_summary_gives_way() {
    let ran = read_files(None, &[("metrics.jsonl", RECORDS.as_bytes()), ("summary.json", SUMMARY.as_bytes())]).unwrap();
    assert_eq!(ran.len(), 2);
    assert!(ran.iter().zip(["-c2", "-c4"]).all(|(run, shape)| run.manifest.label.ends_with(shape)));
    let first = &ran[0].manifest;
    assert_eq!((first.model.as_deref(), first.duration_ns), (Some("toy"), Some(750_000_000)));
    assert_eq!((first.load.max_concurrency, first.sources.len()), (Some(2), 2));
    assert_eq!(first.clocks.client.origin_source_ns, Some(100_250_000_000));
    let column = |name| ran[0].numbers(Table::Requests, name);
    assert_eq!(column("sent_ns"), [Some(250_000_000), Some(0)]);
    assert_eq!(column("scheduled_send_ns"), [Some(-250_000_000), Some(-250_000_000)]);
    assert_eq!(column("ttft_ns"), [Some(250_000_000), None]);
    assert_eq!(column("e2e_ns"), [Some(437_500_000), None]);
    assert_eq!(column("stream_end_ns"), [Some(500_000_000), Some(50_000_000)]);
    assert_eq!(column("chunks"), [Some(3), None]);
    assert_eq!(ran[0].numbers(Table::Chunks, "at_ns"), [Some(250_000_000), Some(375_000_000), Some(437_500_000)]);
    assert_eq!(ran[0].requests("error"), ["-", "HTTP 500"]);
    assert_eq!(ran[0].figure("ttft_ms p99"), 250.0);
    assert_eq!(ran[0].figure("requests_failed value"), 1.0);
    assert_eq!(ran[1].reported().len(), 0);
    assert_eq!(ran[0].issue(IssueCode::FailedRequests), 1);
}

#[test]
fn a_summary_alone_is_a_run_without_requests() {
    let ran = read_files(None, &[("summary.json", SUMMARY.as_bytes())]).unwrap();
    assert_eq!((ran.len(), ran[0].manifest.counted.completed), (1, Some(1)));
}

#[test]
fn impossible_values_are_counted() {
    let bad = RECORDS.replace("\"ttft\":0.25", "\"ttft\":1e9").replace("\"e2e_latency\":0.05", "\"e2e_latency\":-3");
    let ran = read_files(None, &[("metrics.jsonl", bad.as_bytes())]).unwrap();
    assert_eq!(ran[0].numbers(Table::Requests, "ttft_ns"), [None, None]);
    let codes = [IssueCode::ImplausibleTime, IssueCode::NegativeDuration, IssueCode::GapsWithoutFirstToken];
    assert_eq!(codes.map(|code| ran[0].issue(code)), [1, 1, 1]);
    let gaps = RECORDS.replace("[0.125,0.0625]", "[0.125,-1]");
    let ran = read_files(None, &[("metrics.jsonl", gaps.as_bytes())]).unwrap();
    assert_eq!(ran[0].numbers(Table::Requests, "chunks"), [None, None]);
}

#[test]
fn damage_is_stood() {
    cut_everywhere(&INFERENCE_PROFILER, "metrics.jsonl", RECORDS.as_bytes(), 1);
    cut_everywhere(&INFERENCE_PROFILER, "summary.json", SUMMARY.as_bytes(), 1);
    mutate_at_random(&INFERENCE_PROFILER, "metrics.jsonl", RECORDS.as_bytes(), 150);
    mutate_at_random(&INFERENCE_PROFILER, "summary.json", SUMMARY.as_bytes(), 150);
}

#[test]
fn the_real_sweep_agrees_with_its_summary() {
    let Some(folder) = shared("recordings/inference-profiler/sweep") else { return };
    let ran = read_paths(&[folder.join("metrics.jsonl"), folder.join("summary.json")]).unwrap();
    assert_eq!(ran.iter().map(|run| run.manifest.label.as_str()).collect::<Vec<_>>(), ["sweep-c4", "sweep-c16"]);
    for (run, ok) in ran.iter().zip([59.0, 60.0]) {
        let latencies =
            [("ttft_ms", run.answered("ttft_ns")), ("itl_ms", run.gaps()), ("e2e_ms", run.answered("stream_end_ns"))];
        for (metric, values) in latencies {
            close_to(mean(&values) / 1e6, run.figure(&format!("{metric} mean")));
            for p in [50.0, 90.0, 95.0, 99.0] {
                close_to(percentile(&values, p) / 1e6, run.figure(&format!("{metric} p{p}")));
            }
        }
        let seconds = run.manifest.duration_ns.unwrap() as f64 / 1e9;
        let (output, prompt) = (sum(&run.answered("output_tokens")), sum(&run.answered("prompt_tokens")));
        close_to(ok / seconds, run.figure("requests_per_s value"));
        close_to(output / seconds, run.figure("output_tokens_per_s value"));
        close_to((output + prompt) / seconds, run.figure("total_tokens_per_s value"));
        close_to(prompt, run.figure("prompt_tokens value"));
    }
}
