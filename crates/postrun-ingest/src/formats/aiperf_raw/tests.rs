//! Numbers that can be checked on paper, the files beside it, and damage. No real export was at hand.

use super::super::reading_test::sniff;
use super::AIPERF_RAW;
use crate::client::run_test::{cut_everywhere, mutate_at_random, read, read_paths};
use crate::ingestor::Sniff;
use postrun_schema::{ClockKind, IssueCode, TokenSource};

const LINES: &str = include_str!("../../../../../fixtures/aiperf_raw/usage_and_role/input/profile_export_raw.jsonl");

#[test]
fn messages_with_content_are_chunks() {
    assert_eq!(sniff(&AIPERF_RAW, "profile_export_raw.jsonl", LINES.as_bytes()), Sniff::Strong);
    let runs = read(&AIPERF_RAW, "profile_export_raw.jsonl", LINES.as_bytes()).unwrap();
    let run = &runs[0];
    assert_eq!(run.requests("request_id"), ["r-1", "r-0", "r-2", "r-3"]);
    assert_eq!(run.requests("status"), ["ok", "ok", "error", "cancelled"]);
    assert_eq!(run.requests("sent_ns"), ["50000000", "0", "100000000", "150000000"]);
    assert_eq!(run.requests("ttft_ns"), ["40000000", "-", "-", "30000000"]);
    assert_eq!(run.requests("e2e_ns"), ["80000000", "90000000", "-", "30000000"]);
    assert_eq!(run.requests("first_byte_ns"), ["10000000", "-", "-", "-"]);
    assert_eq!(run.requests("stream_end_ns"), ["82000000", "-", "-", "-"]);
    assert_eq!(run.requests("streamed"), ["true", "false", "-", "true"]);
    assert_eq!(run.requests("output_tokens"), ["3", "2", "-", "-"]);
    assert_eq!(run.requests("prompt_tokens"), ["11", "9", "-", "-"]);
    assert_eq!((run.requests("cached_tokens")[0].as_str(), run.requests("finish_reason")[0].as_str()), ("8", "stop"));
    assert_eq!((run.requests("model")[0].as_str(), run.requests("requested_output_tokens")[0].as_str()), ("tiny", "3"));
    assert_eq!(run.requests("error")[2], "HTTP 503");
    assert_eq!(run.chunks(), ["0:40000000/-", "0:60000000/-", "0:80000000/-", "3:30000000/-"]);
    let clock = &run.manifest.clocks.client;
    assert_eq!((clock.kind, clock.origin_unix_ns), (ClockKind::Wall, Some(1_700_000_000_000_000_000)));
    assert_eq!(run.manifest.output_tokens_source, TokenSource::Server);
}

/// The same requests as AIPerf's records would have them.
const RECORDS: &str = concat!(
    r#"{"metadata":{"x_request_id":"r-1","request_start_ns":1700000000050000000,"benchmark_phase":"profiling"},"#,
    r#""metrics":{"time_to_first_token":{"value":40,"unit":"ms"},"request_latency":{"value":80,"unit":"ms"},"#,
    r#""output_sequence_length":{"value":4,"unit":"tokens"}}}"#,
    "\n"
);

#[test]
fn of_raw_export_and_records_the_one_that_knows_lengths_counts() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let first = LINES.lines().next().unwrap();
    write("profile_export.jsonl", RECORDS);
    write("profile_export_raw.jsonl", &format!("{first}\n"));
    let runs = read_paths(&[dir.path().to_path_buf()]).unwrap();
    assert_eq!((runs.len(), runs[0].requests("output_tokens")), (1, vec!["3".to_string()]));
    assert_eq!(runs[0].manifest.sources.len(), 2);
    write("profile_export_raw.jsonl", &format!("{}\n", first.replace("usage", "abusage")));
    let runs = read_paths(&[dir.path().to_path_buf()]).unwrap();
    assert_eq!((runs.len(), runs[0].requests("output_tokens")), (1, vec!["4".to_string()]));
}

#[test]
fn odd_values_are_counted_and_left_out() {
    let first = LINES.lines().next().unwrap();
    for (old, new, code) in [
        ("\"perf_ns\":5040000000", "\"perf_ns\":4040000000", IssueCode::NegativeDuration),
        ("\"perf_ns\":5040000000", "\"perf_ns\":5040000000000000000", IssueCode::ImplausibleTime),
        ("\"perf_ns\":5040000000", "\"perf_ns\":\"soon\"", IssueCode::WrongType),
        ("\"start_perf_ns\":5000000000", "\"start_perf_ns\":\"x\"", IssueCode::WrongType),
    ] {
        assert!(first.contains(old), "{old}");
        let runs = read(&AIPERF_RAW, "odd.jsonl", format!("{}\n", first.replacen(old, new, 1)).as_bytes()).unwrap();
        assert!(runs[0].issue(code) > 0, "{new}: {:?}", runs[0].manifest.issues);
        assert_eq!((runs[0].requests("ttft_ns")[0].as_str(), runs[0].chunks().len()), ("-", 0), "{new}");
    }
    assert!(read(&AIPERF_RAW, "none.jsonl", b"{\"start_perf_ns\":1}\n").is_err());
}

#[test]
fn damage_is_no_crash() {
    cut_everywhere(&AIPERF_RAW, "cut.jsonl", LINES.as_bytes(), 9);
    mutate_at_random(&AIPERF_RAW, "hurt.jsonl", LINES.as_bytes(), 120);
}
