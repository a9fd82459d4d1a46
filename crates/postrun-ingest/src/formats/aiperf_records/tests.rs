//! Numbers that can be checked on paper, real recordings, and damage.

use super::super::aiperf_summary::AIPERF_SUMMARY;
use super::super::reading_test::shared;
use super::AIPERF_RECORDS;
use crate::client::run_test::{cut_everywhere, mutate_at_random, read, read_paths};
use postrun_schema::{ClockKind, IssueCode, TokenSource};

const LINES: &str = concat!(
    // Ends first, sent second: lines stand in the order in which requests end.
    r#"{"metadata":{"session_num":1,"x_request_id":"b","turn_index":0,"credit_issued_ns":1700000000100000000,"#,
    r#""request_start_ns":1700000000102000000,"request_end_ns":1700000000193000000,"worker_id":"w0","#,
    r#""benchmark_phase":"profiling","was_cancelled":false},"metrics":{"input_sequence_length":{"value":12,"unit":"tokens"},"#,
    r#""output_sequence_length":{"value":4,"unit":"tokens"},"usage_prompt_tokens":{"value":15,"unit":"tokens"},"#,
    r#""time_to_first_token":{"value":50.0,"unit":"ms"},"inter_chunk_latency":{"value":[20.25,0.0,19.75],"unit":"ms"},"#,
    r#""request_latency":{"value":90.0,"unit":"ms"},"a_newer_metric":{"value":[{"x":1}],"unit":"?"}},"error":null}"#,
    "\n",
    r#"{"metadata":{"session_num":0,"request_start_ns":1700000000002000000,"request_end_ns":1700000000300000000,"#,
    r#""benchmark_phase":"warmup"},"metrics":{"time_to_first_token":{"value":0.05,"unit":"s"},"#,
    r#""inter_chunk_latency":{"value":[10],"unit":"ms"},"request_latency":{"value":0.06,"unit":"s"}}}"#,
    "\n",
    r#"{"metadata":{"session_num":2,"x_request_id":"c","request_start_ns":1700000000200000000,"#,
    r#""request_end_ns":1700000000200000000,"benchmark_phase":"profiling"},"metrics":{"error_isl":{"value":9,"unit":"tokens"}},"#,
    r#""error":{"code":500,"type":"Internal Server Error","message":"engine"}}"#,
    "\n",
    r#"{"metadata":{"x_request_id":"d","request_start_ns":1700000000250000000,"was_cancelled":true,"#,
    r#""benchmark_phase":"profiling"},"metrics":{},"error":{"code":499,"type":"RequestCancellationError"}}"#,
    "\n",
);

#[test]
fn a_line_is_a_request() {
    let runs = read(&AIPERF_RECORDS, "profile_export.jsonl", LINES.as_bytes()).unwrap();
    let run = &runs[0];
    assert_eq!(run.requests("request_id"), ["b", "0:0", "c", "d"]);
    assert_eq!(run.requests("phase"), ["measured", "warmup", "measured", "measured"]);
    assert_eq!(run.requests("status"), ["ok", "ok", "error", "cancelled"]);
    assert_eq!(run.requests("sent_ns"), ["100000000", "0", "198000000", "248000000"]);
    assert_eq!(run.requests("scheduled_send_ns"), ["98000000", "-", "-", "-"]);
    assert_eq!(run.requests("ttft_ns"), ["50000000", "50000000", "-", "-"]);
    assert_eq!(run.requests("e2e_ns"), ["90000000", "60000000", "-", "-"]);
    assert_eq!(run.requests("last_token_ns"), ["190000000", "60000000", "-", "-"]);
    assert_eq!(run.requests("end_ns"), ["191000000", "298000000", "198000000", "-"]);
    assert_eq!(run.requests("prompt_tokens"), ["15", "-", "9", "-"]);
    assert_eq!(run.requests("output_tokens"), ["4", "-", "-", "-"]);
    assert_eq!(run.requests("chunks"), ["4", "2", "-", "-"]);
    assert_eq!(run.requests("error")[2], "500 Internal Server Error engine");
    let times = ["0:50000000/-", "0:70250000/-", "0:70250000/-", "0:90000000/-", "1:50000000/-", "1:60000000/-"];
    assert_eq!(run.chunks(), times);
    let clock = &run.manifest.clocks.client;
    assert_eq!((clock.kind, clock.origin_unix_ns), (ClockKind::Wall, Some(1_700_000_000_002_000_000)));
    assert_eq!(run.manifest.prompt_tokens_source, TokenSource::ClientTokenizer);
    assert_eq!(run.issue(IssueCode::FailedRequests), 1);
}

#[test]
fn numbers_of_the_exchange_are_kept_in_the_unit_of_their_name() {
    let more = r#""http_req_waiting":{"value":0.0485,"unit":"s"},"http_req_data_sent":{"value":0.5,"unit":"KB"},
        "http_req_chunks_received":{"value":4,"unit":"count"},"http_req_sending":{"value":null,"unit":"ms"},
        "http_req_blocked":{"value":1,"unit":"fortnights"},"request_latency""#;
    let text = line("\"request_latency\"", &more.replace('\n', ""))
        .replace(r#""was_cancelled":false"#, r#""was_cancelled":false,"context_overflow_skip":true"#);
    let run = &read(&AIPERF_RECORDS, "profile_export.jsonl", text.as_bytes()).unwrap()[0];
    let wanted = ["0 http_waiting_ms 48.5", "0 http_reads 4", "0 http_sent_bytes 512", "0 context_overflow 1"];
    assert_eq!(run.extras(), wanted);
    assert_eq!(run.issue(IssueCode::WrongType), 1, "a unit that is none");
    // Twice the same record is one request.
    let twice = &read(&AIPERF_RECORDS, "profile_export.jsonl", format!("{text}{text}").as_bytes()).unwrap()[0];
    assert_eq!(twice.extras(), wanted);
}

/// One line with one member replaced.
fn line(old: &str, new: &str) -> String {
    let first = LINES.lines().next().unwrap();
    assert!(first.contains(old), "{old}");
    format!("{}\n", first.replace(old, new))
}

#[test]
fn odd_values_are_counted_and_left_out() {
    for (old, new, code) in [
        (r#""value":50.0"#, r#""value":1e15"#, IssueCode::ImplausibleTime),
        (r#""value":50.0"#, r#""value":-5"#, IssueCode::NegativeDuration),
        (r#""value":50.0"#, r#""value":NaN"#, IssueCode::NonFiniteValue),
        (r#""value":50.0"#, r#""value":"soon""#, IssueCode::WrongType),
        (r#""value":50.0,"unit":"ms""#, r#""value":50.0,"unit":"ell""#, IssueCode::WrongType),
        (r#"[20.25,0.0,"#, r#"[20.25,-1,"#, IssueCode::NegativeDuration),
        (r#"[20.25,0.0,"#, r#"[20.25,null,"#, IssueCode::WrongType),
        (r#""value":90.0"#, r#""value":40.0"#, IssueCode::FirstTokenAfterEnd),
        (r#""value":4,"#, r#""value":-4,"#, IssueCode::OutOfRange),
        (r#"1700000000102000000"#, r#"-3"#, IssueCode::ImplausibleTime),
    ] {
        let runs = read(&AIPERF_RECORDS, "odd.jsonl", line(old, new).as_bytes()).unwrap();
        assert!(runs[0].issue(code) > 0, "{old} {new}: {:?}", runs[0].manifest.issues);
        assert!(
            runs[0].manifest.issues.iter().all(|i| i.at.contains("odd.jsonl: line 1")),
            "{:?}",
            runs[0].manifest.issues
        );
        assert_eq!(runs[0].requests("status"), ["ok"]);
    }
    let twice = line("x", "x").repeat(2);
    let runs = read(&AIPERF_RECORDS, "twice.jsonl", twice.as_bytes()).unwrap();
    assert_eq!((runs[0].issue(IssueCode::RepeatedRecord), runs[0].issue(IssueCode::DuplicateRequest)), (1, 0));
    let torn = format!("{}{}{}", &LINES[..300], "\n", LINES);
    let runs = read(&AIPERF_RECORDS, "torn.jsonl", torn.as_bytes()).unwrap();
    assert_eq!((runs[0].requests("status").len(), runs[0].issue(IssueCode::BadRecord)), (4, 1));
    assert!(read(&AIPERF_RECORDS, "none.jsonl", b"{\"metadata\":1").is_err());
}

#[test]
fn damage_is_no_crash() {
    cut_everywhere(&AIPERF_RECORDS, "cut.jsonl", LINES.as_bytes(), 5);
    mutate_at_random(&AIPERF_RECORDS, "hurt.jsonl", LINES.as_bytes(), 120);
}

const SUMMARY: &str = r#"{"schema_version":"1.4","aiperf_version":"0.13.0",
 "request_latency":{"unit":"ms","avg":90.0,"p50":90.0,"count":1,"sum":90.0},"request_count":{"unit":"requests","avg":1.0},
 "request_error_rate":{"unit":"%","avg":50.0},"tokens_in_flight":{"unit":"tokens","avg":3.5},
 "input_config":{"models":{"items":[{"name":"m"}]},"phases":[{"kind":"profiling","type":"poisson","rate":5.0,"requests":2}]},
 "start_time":"2023-11-14T22:13:20.000000","end_time":"2023-11-14T22:13:20.500000"}"#;

#[test]
fn a_summary_alone_is_a_run_and_gives_way_to_its_records() {
    let runs = read(&AIPERF_SUMMARY, "profile_export_aiperf.json", SUMMARY.as_bytes()).unwrap();
    assert_eq!((runs[0].requests("status").len(), runs[0].figure("requests_ok value")), (0, 1.0));
    assert_eq!(runs[0].figure("failure_rate value"), 0.5);
    assert_eq!(runs[0].manifest.duration_ns, Some(500_000_000));
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("profile_export.jsonl", LINES);
    write("profile_export_aiperf.json", SUMMARY);
    let runs = read_paths(&[dir.path().to_path_buf()]).unwrap();
    assert_eq!((runs.len(), runs[0].requests("status").len()), (1, 4));
    assert_eq!(runs[0].figure("e2e_ms mean"), 90.0);
    let manifest = &runs[0].manifest;
    assert_eq!((manifest.model.as_deref(), manifest.load.request_rate), (Some("m"), Some(5.0)));
    assert_eq!((manifest.tool.version.as_deref(), manifest.sources.len()), (Some("0.13.0"), 2));
    // A summary of another day is another run.
    write("profile_export_aiperf.json", &SUMMARY.replace("2023-11-14", "2023-11-15"));
    assert_eq!(read_paths(&[dir.path().to_path_buf()]).unwrap().len(), 2);
}

/// Reads `../shared`.
#[test]
fn recordings_agree_with_their_client() {
    for (run, requests, errors) in [("run_a", 200, 1), ("run_b", 200, 0), ("small", 10, 0)] {
        let Some(file) = shared(&format!("recordings/aiperf/{run}/artifacts/profile_export.jsonl")) else { return };
        let summary = file.with_file_name("profile_export_aiperf.json");
        let runs = read_paths(&[file, summary]).unwrap();
        assert_eq!(runs.len(), 1);
        let run = &runs[0];
        let status = run.requests("status");
        assert_eq!((status.len(), status.iter().filter(|s| *s == "error").count()), (requests, errors));
        let ok = |name: &str| -> Vec<f64> { run.requests(name).iter().filter_map(|v| v.parse().ok()).collect() };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64 / 1e6;
        for (figure, column) in [("ttft_ms mean", "ttft_ns"), ("e2e_ms mean", "e2e_ns")] {
            assert!((run.figure(figure) - mean(&ok(column))).abs() < 1e-6, "{figure}");
        }
        let gaps: f64 = ok("chunks").iter().sum::<f64>() - ok("ttft_ns").len() as f64;
        assert_eq!(run.figure("itl_ms count"), gaps);
        assert_eq!(run.figure("requests_ok value") as usize, requests - errors);
    }
}
