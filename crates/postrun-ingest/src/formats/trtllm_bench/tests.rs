//! Tests of the format: values that can be checked on paper, damage, and real files against their own figures.

use super::*;
use crate::client::run_test::{cut_everywhere, mutate_at_random, read_files};
use crate::formats::recognition_test::sure;
use postrun_schema::{IssueCode, Table};

const SERVING: &str = r#"{"date":"20260101-000000","backend":"openai","model_id":"toy","num_prompts":2,"duration":0.5,"completed":1,"total_input_tokens":5,"total_output_tokens":3,"request_throughput":2.0,"request_goodput:":null,"output_throughput":6.0,"total_token_throughput":16.0,"user_throughput":33.3,"mean_ttft_ms":50.0,"input_lens":[5,7],"output_lens":[3,0],"ttfts":[0.05,0.0],"itls":[[0.02,0.02],[]],"e2els":[0.095,0.0],"generated_texts":["abc",""],"errors":["","boom"],"request_rate":"inf","burstiness":1.0,"max_concurrency":null}"#;
const REQUESTS: &str = r#"[{"id":5,"num_input_tokens":5,"error_tokens":0,"start_timestamp":1000000000,"first_token_timestamp":1050000000,"end_timestamp":1090000000,"decode_iteration":2,"num_total_output_tokens":3,"output":"abc","output_tokens":3},
{"id":5,"num_input_tokens":6,"start_timestamp":1010000000,"first_token_timestamp":-1,"end_timestamp":1120000000,"decode_iteration":2,"num_output_tokens":4}]"#;
const REPORT: &str = r#"{
 "engine":{"model":"toy","model_path":"/home/me/x","version":"1.0","backend":"Pytorch"},"world_info":{"tp_size":1,"issue_rate":5.0},
 "request_info":{"num_requests":2},"performance":{"total_latency_ms":120.0,"avg_request_latency_ms":100.0,
 "request_throughput_req_s":16.666,"request_latency_percentiles_ms":{"p50":110.0,"minimum":90.0,"maximum":110.0,"average":100.0}},
 "streaming_metrics":{"avg_ttft_ms":50.0,"tpot_percentiles":{"p99":20.0}}}"#;

#[test]
fn serving_results_are_not_those_of_vllm() {
    assert_eq!(sure("result.json", SERVING.as_bytes()), ["trtllm_bench"]);
    let ran = read_files(None, &[("result.json", SERVING.as_bytes())]).unwrap();
    let column = |name| ran[0].numbers(Table::Requests, name);
    assert_eq!(column("e2e_ns"), [Some(90_000_000), None]);
    assert_eq!(column("stream_end_ns"), [Some(95_000_000), None]);
    assert_eq!(ran[0].issue(IssueCode::FailedRequests), 1);
    assert_eq!(ran[0].figure("ttft_ms mean"), 50.0);
    assert!(ran[0].manifest.load.unbounded);
}

#[test]
fn a_report_gives_way_to_its_requests() {
    let ran = read_files(None, &[("report.json", REPORT.as_bytes()), ("requests.json", REQUESTS.as_bytes())]).unwrap();
    assert_eq!(ran.len(), 1);
    let column = |name| ran[0].numbers(Table::Requests, name);
    assert_eq!(column("sent_ns"), [Some(0), Some(10_000_000)]);
    assert_eq!(column("ttft_ns"), [Some(50_000_000), None]);
    assert_eq!(column("e2e_ns"), [Some(90_000_000), Some(110_000_000)]);
    assert_eq!(column("output_tokens"), [Some(3), Some(4)]);
    let manifest = &ran[0].manifest;
    assert_eq!((manifest.model.as_deref(), manifest.duration_ns), (Some("toy"), Some(120_000_000)));
    assert!(!manifest.load.other.contains_key("model_path") && !manifest.load.other.contains_key("issue_rate"));
    let figures = ["e2e_ms mean", "e2e_ms p50", "e2e_ms max", "ttft_ms mean", "tpot_ms p99"];
    assert_eq!(figures.map(|name| ran[0].figure(name)), [100.0, 110.0, 110.0, 50.0, 20.0]);
    assert_eq!(ran[0].issue(IssueCode::DuplicateRequest), 1);
}

#[test]
fn damage_is_stood() {
    for (name, text) in [("s.json", SERVING), ("q.json", REQUESTS), ("r.json", REPORT)] {
        cut_everywhere(&TRTLLM_BENCH, name, text.as_bytes(), 1);
        mutate_at_random(&TRTLLM_BENCH, name, text.as_bytes(), 150);
    }
    let bad = REQUESTS.replace("1090000000", "900000000").replace("1120000000", "9000000000000000000");
    let ran = read_files(None, &[("requests.json", bad.as_bytes())]).unwrap();
    let codes = [IssueCode::NegativeDuration, IssueCode::ImplausibleTime].map(|code| ran[0].issue(code));
    assert_eq!(codes, [1, 1]);
}
