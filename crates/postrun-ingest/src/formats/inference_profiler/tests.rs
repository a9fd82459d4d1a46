//! Tests of the format: values that can be checked on paper, damage, and real files against their own figures.

use super::*;
use crate::formats::client_test::{close_to, cut_everywhere, mean, mutate, percentile, read, read_files, shared};
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
    let ran = read(None, &[("metrics.jsonl", RECORDS.as_bytes()), ("summary.json", SUMMARY.as_bytes())]).unwrap();
    assert_eq!(ran.outcome.manifests.len(), 2);
    assert!(ran.labels().iter().zip(["-c2", "-c4"]).all(|(label, shape)| label.ends_with(shape)));
    let first = ran.manifest(0);
    assert_eq!((first.model.as_deref(), first.duration_ns), (Some("toy"), Some(750_000_000)));
    assert_eq!((first.load.max_concurrency, first.sources.len()), (Some(2), 2));
    assert_eq!(first.clocks.client.origin_source_ns, Some(100_250_000_000));
    let column = |name| ran.numbers(0, Table::Requests, name);
    assert_eq!(column("sent_ns"), [Some(250_000_000), Some(0)]);
    assert_eq!(column("scheduled_send_ns"), [Some(-250_000_000), Some(-250_000_000)]);
    assert_eq!(column("ttft_ns"), [Some(250_000_000), None]);
    assert_eq!(column("e2e_ns"), [Some(437_500_000), None]);
    assert_eq!(column("stream_end_ns"), [Some(500_000_000), Some(50_000_000)]);
    assert_eq!(column("chunks"), [Some(3), None]);
    assert_eq!(ran.numbers(0, Table::Chunks, "at_ns"), [Some(250_000_000), Some(375_000_000), Some(437_500_000)]);
    assert_eq!(ran.texts(0, Table::Requests, "error"), [None, Some("HTTP 500".to_string())]);
    assert_eq!(ran.figure(0, "ttft_ms", "p99"), Some(250.0));
    assert_eq!(ran.figure(0, "requests_failed", "value"), Some(1.0));
    assert_eq!(ran.figures(1).len(), 0);
    assert_eq!(ran.issue(0, IssueCode::FailedRequests), 1);
}

#[test]
fn a_summary_alone_is_a_run_without_requests() {
    let ran = read(None, &[("summary.json", SUMMARY.as_bytes())]).unwrap();
    assert_eq!((ran.outcome.manifests.len(), ran.manifest(0).counted.completed), (1, Some(1)));
}

#[test]
fn impossible_values_are_counted() {
    let bad = RECORDS.replace("\"ttft\":0.25", "\"ttft\":1e9").replace("\"e2e_latency\":0.05", "\"e2e_latency\":-3");
    let ran = read(None, &[("metrics.jsonl", bad.as_bytes())]).unwrap();
    assert_eq!(ran.numbers(0, Table::Requests, "ttft_ns"), [None, None]);
    let codes = [IssueCode::ImplausibleTime, IssueCode::NegativeDuration, IssueCode::GapsWithoutFirstToken];
    assert_eq!(codes.map(|code| ran.issue(0, code)), [1, 1, 1]);
    let gaps = RECORDS.replace("[0.125,0.0625]", "[0.125,-1]");
    let ran = read(None, &[("metrics.jsonl", gaps.as_bytes())]).unwrap();
    assert_eq!(ran.numbers(0, Table::Requests, "chunks"), [None, None]);
}

#[test]
fn damage_is_stood() {
    cut_everywhere(&INFERENCE_PROFILER, "metrics.jsonl", RECORDS.as_bytes());
    cut_everywhere(&INFERENCE_PROFILER, "summary.json", SUMMARY.as_bytes());
    mutate(&INFERENCE_PROFILER, "metrics.jsonl", RECORDS.as_bytes());
    mutate(&INFERENCE_PROFILER, "summary.json", SUMMARY.as_bytes());
}

#[test]
fn the_real_sweep_agrees_with_its_summary() {
    let Some(folder) = shared("recordings/inference-profiler/sweep") else { return };
    let ran = read_files(&[folder.join("metrics.jsonl"), folder.join("summary.json")]);
    assert_eq!(ran.labels(), ["sweep-c4", "sweep-c16"]);
    for (run, ok) in [(0, 59.0), (1, 60.0)] {
        let ttft = ran.numbers(run, Table::Requests, "ttft_ns");
        let ends = ran.numbers(run, Table::Requests, "stream_end_ns");
        let status = ran.texts(run, Table::Requests, "status");
        let answered = |values: Vec<Option<i64>>| -> Vec<Option<i64>> {
            values.into_iter().zip(&status).filter(|(_, s)| s.as_deref() == Some("ok")).map(|(v, _)| v).collect()
        };
        let ends = answered(ends);
        let at = ran.numbers(run, Table::Chunks, "at_ns");
        let index = ran.numbers(run, Table::Chunks, "index");
        let later = (1..at.len()).filter(|i| index[*i] != Some(0));
        let gaps: Vec<Option<i64>> = later.map(|i| Some(at[i]? - at[i - 1]?)).collect();
        let figure = |metric: &str, stat: &str| ran.figure(run, metric, stat).unwrap();
        for (metric, values) in [("ttft_ms", &ttft), ("itl_ms", &gaps), ("e2e_ms", &ends)] {
            close_to(mean(values) / 1e6, figure(metric, "mean"));
            for p in [50.0, 90.0, 95.0, 99.0] {
                close_to(percentile(values, p) / 1e6, figure(metric, &format!("p{p}")));
            }
        }
        let seconds = ran.manifest(run).duration_ns.unwrap() as f64 / 1e9;
        let sum = |name| answered(ran.numbers(run, Table::Requests, name)).iter().flatten().sum::<i64>() as f64;
        close_to(ok / seconds, figure("requests_per_s", "value"));
        close_to(sum("output_tokens") / seconds, figure("output_tokens_per_s", "value"));
        close_to((sum("output_tokens") + sum("prompt_tokens")) / seconds, figure("total_tokens_per_s", "value"));
        close_to(sum("prompt_tokens"), figure("prompt_tokens", "value"));
    }
}
