//! Numbers that can be checked on paper, real recordings, and damage.

use super::super::inference_perf_summary::INFERENCE_PERF_SUMMARY;
use super::super::reading_test::shared;
use super::INFERENCE_PERF;
use crate::client::run_test::{cut_everywhere, mutate_at_random, read, read_paths};
use crate::limits::MOST_GAPS;
use postrun_schema::{ClockKind, IssueCode, TokenSource};

const ARRAY: &str = r#"[{"start_time":10.0,"end_time":11.0,"request":"{\"prompt\": \"a \\\"model\\\": \\\"x\\\"\", \"model\": \"m\", \"max_tokens\": 5}",
"response":"hi","info":{"input_tokens":5,"request_metrics":{"text":{"input_tokens":5}},"response_metrics":{"output_tokens":3,
"server_usage":{"prompt_tokens":6,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":2}},
"response_chunks":["{\"finish_reason\":null}","{\"choices\":[{\"finish_reason\": \"length\"}]}"],
"chunk_times":[10.1,10.25,10.5,10.875],"output_token_times":[10.25,10.25,10.5,10.875]}},"error":null},
{"start_time":9.5,"end_time":9.75,"request":"{}","response":"x","info":{"input_tokens":0,"response_metrics":null},
"error":{"error_type":"HTTP Error 500","error_msg":"engine"}},
{"start_time":12.0,"end_time":13.0,"request":"{}","info":{"input_tokens":7,"output_tokens":3,"output_token_times":[12.5,12.5,12.75]},"error":null},
{"start_time":14.0,"end_time":15.0,"request":"{}","info":{"input_tokens":7,"output_tokens":3},"error":null}]"#;

#[test]
fn tokens_that_share_a_time_are_a_chunk() {
    let runs = read(&INFERENCE_PERF, "per_request_lifecycle_metrics.json", ARRAY.as_bytes()).unwrap();
    let run = &runs[0];
    assert_eq!(run.requests("status"), ["ok", "error", "ok", "ok"]);
    assert_eq!(run.requests("sent_ns"), ["500000000", "0", "2500000000", "4500000000"]);
    assert_eq!(run.requests("ttft_ns"), ["250000000", "-", "500000000", "-"]);
    assert_eq!(run.requests("e2e_ns"), ["875000000", "-", "750000000", "1000000000"]);
    assert_eq!(run.requests("stream_end_ns"), ["1000000000", "-", "1000000000", "-"]);
    assert_eq!(run.requests("streamed"), ["true", "-", "true", "false"]);
    assert_eq!(run.requests("prompt_tokens"), ["6", "-", "7", "7"]);
    assert_eq!(run.requests("output_tokens"), ["4", "-", "3", "3"]);
    assert_eq!(run.requests("cached_tokens")[0], "2");
    assert_eq!(run.requests("requested_output_tokens")[0], "5");
    assert_eq!((run.requests("model")[0].as_str(), run.requests("finish_reason")[0].as_str()), ("m", "length"));
    assert_eq!(run.requests("first_chunk_tokens"), ["2", "-", "-", "-"]);
    let chunks = ["0:250000000/2", "0:500000000/1", "0:875000000/1", "2:500000000/-", "2:500000000/-", "2:750000000/-"];
    assert_eq!(run.chunks(), chunks);
    assert_eq!(run.manifest.clocks.client.kind, ClockKind::Monotonic);
    assert_eq!(run.manifest.clocks.client.origin_source_ns, Some(9_500_000_000));
    assert_eq!(run.manifest.output_tokens_source, TokenSource::ServerElseClient);
}

#[test]
fn odd_values_are_counted_and_left_out() {
    for (old, new, code) in [
        ("[10.25,10.25,10.5,", "[10.25,10.25,10.0,", IssueCode::NegativeDuration),
        ("[10.25,10.25,10.5,", "[10.25,null,10.5,", IssueCode::WrongType),
        ("[10.25,10.25,10.5,", "[10.25,10.25,1e9,", IssueCode::ImplausibleTime),
        ("\"end_time\":11.0", "\"end_time\":9.0", IssueCode::NegativeDuration),
        ("\"completion_tokens\":4", "\"completion_tokens\":4.5", IssueCode::OutOfRange),
        ("\"start_time\":14.0", "\"start_time\":\"noon\"", IssueCode::WrongType),
    ] {
        assert!(ARRAY.contains(old), "{old}");
        let runs = read(&INFERENCE_PERF, "odd.json", ARRAY.replacen(old, new, 1).as_bytes()).unwrap();
        assert!(runs[0].issue(code) > 0, "{new}: {:?}", runs[0].manifest.issues);
    }
}

#[test]
fn a_request_with_more_gaps_than_memory_is_for_keeps_none() {
    let times = |n: usize| ARRAY.replacen("[12.5,12.5,12.75]", &format!("[{}12.75]", "12.5,".repeat(n)), 1);
    let runs = read(&INFERENCE_PERF, "long.json", times(MOST_GAPS + 1).as_bytes()).unwrap();
    assert_eq!((runs[0].issue(IssueCode::OutOfRange), runs[0].requests("output_tokens").len()), (1, 4));
    assert_eq!((runs[0].requests("chunks")[2].as_str(), runs[0].requests("chunks")[0].as_str()), ("-", "3"));
    let runs = read(&INFERENCE_PERF, "long.json", times(MOST_GAPS).as_bytes()).unwrap();
    assert_eq!((runs[0].issue(IssueCode::OutOfRange), runs[0].requests("chunks")[2].as_str()), (0, "4194305"));
}

#[test]
fn damage_is_no_crash() {
    cut_everywhere(&INFERENCE_PERF, "cut.json", ARRAY.as_bytes(), 5);
    mutate_at_random(&INFERENCE_PERF, "hurt.json", ARRAY.as_bytes(), 120);
    mutate_at_random(&INFERENCE_PERF_SUMMARY, "hurt.json", STAGE.as_bytes(), 60);
}

const STAGE: &str = r#"{"benchmark_time_seconds":4.0,"load_summary":{"count":4,"schedule_delay":{"mean":0.25},"requested_rate":1.5},
"successes":{"count":3,"latency":{"time_to_first_token":{"mean":0.375,"median":0.375,"p99.9":0.5},"inter_token_latency":null},
"throughput":{"requests_per_sec":0.75}},"failures":{"count":1}}"#;

#[test]
fn summaries_give_way_to_what_is_finer() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let whole = STAGE.replace("1.5}", "1.5,\"x\":1}").replace("\"requested_rate\":1.5,", "");
    write("summary_lifecycle_metrics.json", &whole);
    write("stage_0_lifecycle_metrics.json", STAGE);
    write("stage_1_lifecycle_metrics.json", &STAGE.replace("0.375", "0.75"));
    let paths = [dir.path().to_path_buf()];
    let runs = read_paths(&paths).unwrap();
    let labels: Vec<&str> = runs.iter().map(|r| r.manifest.label.as_str()).collect();
    assert_eq!(labels, ["stage0", "stage1"]);
    assert_eq!((runs[1].figure("ttft_ms p50"), runs[1].figure("requests_failed value")), (750.0, 1.0));
    write("per_request_lifecycle_metrics.json", ARRAY);
    let runs = read_paths(&paths).unwrap();
    assert_eq!((runs.len(), runs[0].requests("status").len()), (1, 4));
    assert_eq!(runs[0].figure("ttft_ms mean"), 375.0);
    assert_eq!(runs[0].figure("stage_1.ttft_ms mean"), 750.0);
    assert_eq!((runs[0].manifest.duration_ns, runs[0].manifest.sources.len()), (Some(4_000_000_000), 4));
    std::fs::remove_file(dir.path().join("stage_1_lifecycle_metrics.json")).unwrap();
    let runs = read_paths(&paths).unwrap();
    assert!(runs[0].reported().iter().all(|(name, _, _)| !name.starts_with("stage")));
    assert_eq!(runs[0].manifest.load.request_rate, Some(1.5));
}

/// Reads `../shared`.
#[test]
fn recordings_agree_with_their_client() {
    for (name, ok, errors) in [("run_a", 67, 3), ("run_b", 69, 1), ("small", 10, 0)] {
        let file = format!("recordings/inference-perf/{name}/reports/per_request_lifecycle_metrics.json");
        let Some(file) = shared(&file) else { return };
        let runs = read_paths(&[file.parent().unwrap().to_path_buf()]).unwrap();
        assert_eq!(runs.len(), 1);
        let run = &runs[0];
        let status = run.requests("status");
        assert_eq!(status.iter().filter(|s| *s == "ok").count(), ok);
        assert_eq!(status.iter().filter(|s| *s == "error").count(), errors);
        let column = |name: &str| -> Vec<f64> { run.requests(name).iter().filter_map(|v| v.parse().ok()).collect() };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!((run.figure("ttft_ms mean") - mean(&column("ttft_ns")) / 1e6).abs() < 1e-6);
        assert!((run.figure("e2e_ms mean") - mean(&column("stream_end_ns")) / 1e6).abs() < 1e-6);
        let seconds = run.manifest.duration_ns.unwrap() as f64 / 1e9;
        let tokens: f64 = column("output_tokens").iter().sum();
        assert!((run.figure("output_tokens_per_s value") - tokens / seconds).abs() < 1e-6);
        assert!((run.figure("requests_per_s value") - ok as f64 / seconds).abs() < 1e-9);
        assert!(run.manifest.load.request_rate.is_some());
    }
    let Some(file) = shared("public/inference-perf/vllm/stage_0_lifecycle_metrics.json") else { return };
    let runs = read_paths(&[file.parent().unwrap().to_path_buf()]).unwrap();
    assert_eq!(runs.len(), 7);
    assert!(runs[6].manifest.label.ends_with("stage6"));
}
