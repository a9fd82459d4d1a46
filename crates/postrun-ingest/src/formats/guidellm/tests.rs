//! Numbers that can be checked on paper, real recordings, and damage.

use super::super::reading_test::shared;
use super::GUIDELLM;
use crate::client::run_test::{ReadRun, cut_everywhere, mutate_at_random, read, read_paths};
use postrun_schema::{ClockKind, IssueCode};

const NESTED: &str = r#"{"metadata":{"version":2,"guidellm_version":"0.8.1"},"config":{},"benchmarks":[
{"type_":"generative_benchmark","config":{"strategy":{"type_":"concurrent","streams":4},"backend":{"model":"m"}},
"metrics":{"request_totals":{"successful":2,"errored":1,"incomplete":1,"total":4},
"request_latency":{"successful":{"mean":1.2,"median":1.2,"count":1,"total_sum":1.2,"percentiles":{"p001":1.2,"p99":1.2}},"errored":{"mean":0}},
"requests_per_second":{"successful":{"mean":0.5,"p50":3.0}},"output_token_count":{"successful":{"mean":10.0,"total_sum":10.0}},
"text":{"tokens":{"successful":{"mean":1}}}},
"requests":{"successful":[{"request_id":"a1","response_id":"cmpl-9","info":{"status":"completed","conversation_id":"c","turn_index":1,
"scheduler_node_id":4,"scheduler_process_id":0,"timings":{"targeted_start":99.5,"queued":90.0,"request_start":100.0,
"first_request_iteration":100.125,"first_token_iteration":100.25,"last_token_iteration":101.125,"token_iterations":9,"request_end":101.25}},
"prompt_tokens":50,"output_tokens":10,"cached_tokens":16}],
"errored":[{"request_id":"a2","info":{"status":"errored","error":"boom","timings":{"request_start":100.5,"first_token_iteration":null,"request_end":null,"resolve_end":100.75}},"prompt_tokens":7,"output_tokens":null}],
"incomplete":[{"request_id":"a3","info":{"status":"cancelled","timings":{"request_start":99.0,"first_token_iteration":99.5,"last_token_iteration":99.75}}}],"total":null},
"duration":2.0},
{"type_":"generative_benchmark","config":{"strategy":{"type_":"poisson","rate":2.5}},"requests":{"successful":[
{"request_id":"b1","info":{"timings":{"request_start":200.0,"first_token_iteration":200.5,"last_token_iteration":200.5,"token_iterations":1,"request_end":200.5}},"output_tokens":80}]},"metrics":{}}
]}"#;

fn runs(text: &str) -> Vec<ReadRun> {
    read(&GUIDELLM, "benchmarks.json", text.as_bytes()).unwrap()
}

#[test]
fn each_benchmark_is_a_run() {
    let runs = runs(NESTED);
    let run = &runs[0];
    assert!(run.manifest.label.ends_with("-c4") && runs[1].manifest.label.ends_with("-r2.5"));
    assert_eq!(run.requests("request_id"), ["cmpl-9", "a2", "a3"]);
    assert_eq!(run.requests("status"), ["ok", "error", "incomplete"]);
    assert_eq!(run.requests("error"), ["-", "boom", "-"]);
    assert_eq!(run.requests("sent_ns"), ["1000000000", "1500000000", "0"]);
    assert_eq!(run.requests("scheduled_send_ns"), ["500000000", "-", "-"]);
    assert_eq!(run.requests("ttft_ns"), ["250000000", "-", "500000000"]);
    assert_eq!(run.requests("first_byte_ns"), ["125000000", "-", "-"]);
    assert_eq!(run.requests("e2e_ns"), ["1125000000", "-", "750000000"]);
    assert_eq!(run.requests("stream_end_ns"), ["1250000000", "-", "-"]);
    assert_eq!(run.requests("end_ns"), ["2250000000", "1750000000", "750000000"]);
    assert_eq!((run.requests("cached_tokens")[0].as_str(), run.requests("worker")[0].as_str()), ("16", "4.0"));
    assert!(run.chunks().is_empty(), "first and last token are no gaps");
    assert_eq!(run.figure("e2e_ms mean"), 1200.0);
    assert_eq!((run.figure("e2e_ms p0.1"), run.figure("e2e_ms count")), (1200.0, 1.0));
    assert_eq!((run.figure("requests_per_s value"), run.figure("output_tokens value")), (0.5, 10.0));
    assert_eq!((run.issue(IssueCode::SampledRequests), run.issue(IssueCode::FailedRequests)), (1, 1));
    let clock = &run.manifest.clocks.client;
    assert_eq!((clock.kind, clock.origin_unix_ns), (ClockKind::Wall, Some(99_000_000_000)));
    assert_eq!((run.manifest.model.as_deref(), run.manifest.duration_ns), (Some("m"), Some(2_000_000_000)));
    assert_eq!((runs[1].requests("streamed"), runs[1].requests("ttft_ns")), (vec!["false".into()], vec!["-".into()]));
}

const FLAT: &str = r#"{"benchmarks":[{"type_":"generative_benchmark","args":{"strategy":{"type_":"synchronous"},"max_number":2},
"worker":{"backend_model":"old"},"run_stats":{"start_time":9.0,"end_time":13.0},"request_totals":{"successful":1,"incomplete":0,"errored":1},
"requests":{"successful":[{"type_":"generative_text_response","request_id":null,"prompt":"p","prompt_tokens":5,"output_tokens":4,
"start_time":10.0,"end_time":12.0,"first_token_time":10.5,"last_token_time":11.75,"scheduler_info":{"targeted_start_time":-1,"process_id":3}}],
"errored":[{"type_":"generative_text_error","error":"TimeoutError","start_time":11.0,"end_time":12.5,"first_token_time":null,"last_token_time":null}],"incomplete":[]},
"metrics":{"time_per_output_token_ms":{"successful":{"mean":312.5}}}}]}"#;

#[test]
fn older_reports_are_flat() {
    let runs = runs(FLAT);
    let run = &runs[0];
    assert_eq!(run.requests("status"), ["ok", "error"]);
    assert_eq!((run.requests("ttft_ns")[0].as_str(), run.requests("e2e_ns")[0].as_str()), ("500000000", "1750000000"));
    assert_eq!((run.requests("scheduled_send_ns")[0].as_str(), run.requests("worker")[0].as_str()), ("-", "3"));
    assert_eq!(run.figure("time_per_output_token_ms mean"), 312.5);
    let manifest = &run.manifest;
    assert_eq!((manifest.model.as_deref(), manifest.load.max_concurrency), (Some("old"), Some(1)));
    assert_eq!((manifest.duration_ns, manifest.load.num_prompts), (Some(4_000_000_000), Some(2)));
}

#[test]
fn odd_values_are_counted_and_left_out() {
    for (old, new, code) in [
        ("\"first_token_iteration\":100.25", "\"first_token_iteration\":99.25", IssueCode::NegativeDuration),
        ("\"last_token_iteration\":101.125", "\"last_token_iteration\":1e9", IssueCode::ImplausibleTime),
        ("\"first_token_iteration\":100.25", "\"first_token_iteration\":101.2", IssueCode::FirstTokenAfterEnd),
        ("\"output_tokens\":10", "\"output_tokens\":-1", IssueCode::OutOfRange),
        ("\"request_start\":100.0", "\"request_start\":\"noon\"", IssueCode::WrongType),
        ("\"request_id\":\"a3\"", "\"request_id\":\"a2\"", IssueCode::DuplicateRequest),
        ("{\"request_id\":\"a3\"", "7,{\"request_id\":\"a3\"", IssueCode::BadRecord),
    ] {
        assert!(NESTED.contains(old), "{old}");
        let runs = runs(&NESTED.replacen(old, new, 1));
        assert!(runs[0].issue(code) > 0, "{new}: {:?}", runs[0].manifest.issues);
    }
    assert!(read(&GUIDELLM, "none.json", b"{\"benchmarks\":[]}").is_err());
    assert!(read(&GUIDELLM, "none.json", b"{\"benchmarks\":[1,{}]}").is_err());
}

#[test]
fn damage_is_no_crash_and_keeps_what_was_read() {
    cut_everywhere(&GUIDELLM, "cut.json", NESTED.as_bytes(), 7);
    cut_everywhere(&GUIDELLM, "cut.json", FLAT.as_bytes(), 5);
    mutate_at_random(&GUIDELLM, "hurt.json", NESTED.as_bytes(), 120);
    let cut = NESTED.find("\"incomplete\":[{").unwrap();
    let runs = runs(&NESTED[..cut]);
    assert_eq!((runs[0].requests("status").len(), runs[0].issue(IssueCode::TruncatedRecord)), (2, 1));
}

/// Reads `../shared`.
#[test]
fn recordings_agree_with_their_client() {
    for (name, ok, errors) in [("run_a", 149, 1), ("run_b", 148, 2), ("small", 10, 0)] {
        let Some(file) = shared(&format!("recordings/guidellm/{name}/benchmarks.json")) else { return };
        let runs = read_paths(&[file]).unwrap();
        let run = &runs[0];
        assert_eq!(runs.len(), 1);
        let status = run.requests("status");
        assert_eq!(status.iter().filter(|s| *s == "ok").count(), ok);
        assert_eq!(status.iter().filter(|s| *s == "error").count(), errors);
        let column = |name: &str| -> Vec<f64> { run.requests(name).iter().filter_map(|v| v.parse().ok()).collect() };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!((run.figure("ttft_ms mean") - mean(&column("ttft_ns")) / 1e6).abs() < 1e-6);
        assert!((run.figure("e2e_ms mean") - mean(&column("stream_end_ns")) / 1e6).abs() < 1e-6);
        let tokens: f64 = column("output_tokens").iter().sum();
        assert!((run.figure("output_tokens value") - tokens).abs() < 1e-6);
        let seconds = run.manifest.duration_ns.unwrap() as f64 / 1e9;
        assert!((run.figure("requests_per_s value") - ok as f64 / seconds).abs() < 1e-9);
        assert!((run.figure("output_tokens_per_s value") - tokens / seconds).abs() < 1e-6);
    }
    let Some(file) = shared("public/guidellm/llm-d-fixture/guidellm_report_v2.json") else { return };
    let runs = read_paths(&[file]).unwrap();
    assert_eq!((runs.len(), runs[1].manifest.load.request_rate), (2, Some(4.0)));
    assert_eq!(runs[0].manifest.counted.completed, Some(2));
}
