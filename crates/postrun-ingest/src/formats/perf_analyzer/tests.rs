//! Numbers that can be checked on paper, and damage. No real export was at hand.

use super::super::genai_perf_summary::GENAI_PERF_SUMMARY;
use super::PERF_ANALYZER;
use crate::client::run_test::{cut_everywhere, mutate_at_random, read, read_paths};
use postrun_schema::{ClockKind, IssueCode};

const EXPORT: &str = r#"{"experiments":[{"experiment":{"mode":"concurrency","value":2},"requests":[
{"timestamp":1700000000000000000,"request_inputs":{"payload":"{\"model\":\"m\",\"max_tokens\":3,\"stream\":true}","session_id":"s1"},
"response_timestamps":[1700000000010000000,1700000000050000000,1700000000070000000,1700000000070500000,1700000000090000000,1700000000091000000],
"response_outputs":[{"response":"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"},
{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n"},
{"response":"data: {\"choices\":[{\"delta\":{\"con"},{"response":"tent\":\" b\"}}]}\n\n"},
{"response":"data: {\"choices\":[{\"delta\":{\"content\":\" c\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,\"prompt_tokens_details\":{\"cached_tokens\":1}}}\n\n"},
{"response":"data: [DONE]\n\n"}]},
{"timestamp":1699999999900000000,"request_inputs":{"payload":"{\"model\":\"m\"}"},"response_timestamps":[1700000000000000000],
"response_outputs":[{"response":"{\"choices\":[{\"message\":{\"content\":\"whole\"}}],\"usage\":{\"completion_tokens\":2}}"}]},
{"timestamp":1700000000100000000,"sequence_id":7,"request_inputs":{},"response_timestamps":[],"response_outputs":[]}],
"window_boundaries":[1700000000000000000,1700000001000000000]},
{"experiment":{"mode":"request_rate","value":2.5},"requests":[{"timestamp":1700000002000000000,"request_inputs":{"text_input":"x"},
"response_timestamps":[1700000002100000000,1700000002200000000,1700000002300000000],
"response_outputs":[{"output_ids":[4,5]},{"output_ids":6},{"output_ids":[]}]}],"window_boundaries":[]}],
"version":"2.0.0","service_kind":"openai","endpoint":"v1/chat/completions"}"#;

#[test]
fn reads_with_content_are_chunks() {
    let runs = read(&PERF_ANALYZER, "profile_export.json", EXPORT.as_bytes()).unwrap();
    assert_eq!(runs.len(), 2);
    let run = &runs[0];
    assert!(run.manifest.label.ends_with("-c2") && runs[1].manifest.label.ends_with("-r2.5"));
    assert_eq!(run.requests("status"), ["ok", "ok", "error"]);
    assert_eq!(run.requests("sent_ns"), ["100000000", "0", "200000000"]);
    assert_eq!(run.requests("ttft_ns"), ["50000000", "-", "-"]);
    assert_eq!(run.requests("e2e_ns"), ["90000000", "100000000", "-"]);
    assert_eq!(run.requests("first_byte_ns"), ["10000000", "-", "-"]);
    assert_eq!(run.requests("stream_end_ns"), ["91000000", "-", "-"]);
    assert_eq!(run.requests("streamed"), ["true", "false", "-"]);
    assert_eq!(run.requests("output_tokens"), ["3", "2", "-"]);
    assert_eq!((run.requests("cached_tokens")[0].as_str(), run.requests("finish_reason")[0].as_str()), ("1", "stop"));
    assert_eq!(run.requests("session"), ["s1", "-", "7"]);
    assert_eq!((run.requests("model")[0].as_str(), run.requests("requested_output_tokens")[0].as_str()), ("m", "3"));
    // The second and third read are one event, at the time of its first part.
    assert_eq!(run.chunks(), ["0:50000000/-", "0:70000000/-", "0:90000000/-"]);
    assert_eq!(run.manifest.clocks.client.kind, ClockKind::Wall);
    assert_eq!(run.manifest.clocks.client.origin_unix_ns, Some(1_699_999_999_900_000_000));
    assert_eq!(runs[1].chunks(), ["0:100000000/2", "0:200000000/1"]);
    assert_eq!(
        (runs[1].requests("output_tokens"), runs[1].requests("first_chunk_tokens")),
        (vec!["3".into()], vec!["2".into()])
    );
}

#[test]
fn odd_values_are_counted_and_left_out() {
    for (old, new, code) in [
        ("1700000000050000000,", "1600000000050000000,", IssueCode::NegativeDuration),
        ("1700000000050000000,", "1900000000050000000,", IssueCode::ImplausibleTime),
        ("1700000000050000000,", "\"soon\",", IssueCode::WrongType),
        ("\"response_timestamps\":[1700000000000000000]", "\"response_timestamps\":[]", IssueCode::ArrayLengthMismatch),
        ("{\"timestamp\":1699999999900000000", "7,{\"timestamp\":1699999999900000000", IssueCode::BadRecord),
    ] {
        assert!(EXPORT.contains(old), "{old}");
        let runs = read(&PERF_ANALYZER, "odd.json", EXPORT.replacen(old, new, 1).as_bytes()).unwrap();
        assert!(runs[0].issue(code) > 0, "{new}: {:?}", runs[0].manifest.issues);
    }
    assert!(read(&PERF_ANALYZER, "none.json", br#"{"experiments":[{"requests":[]}]}"#).is_err());
}

#[test]
fn damage_is_no_crash() {
    cut_everywhere(&PERF_ANALYZER, "cut.json", EXPORT.as_bytes(), 11);
    mutate_at_random(&PERF_ANALYZER, "hurt.json", EXPORT.as_bytes(), 120);
}

const SUMMARY: &str = r#"{"request_throughput":{"unit":"requests/sec","avg":14.08},"request_latency":{"unit":"ms","avg":90.0,"p50":90.0},
"inter_token_latency":{"unit":"ms","avg":20.0},"output_token_throughput":{"unit":"tokens/sec","avg":30.0},
"input_config":{"model_names":["m"],"concurrency":2}}"#;

#[test]
fn a_summary_gives_way_to_its_export() {
    let runs = read(&GENAI_PERF_SUMMARY, "profile_export_genai_perf.json", SUMMARY.as_bytes()).unwrap();
    assert_eq!((runs[0].figure("tpot_ms mean"), runs[0].manifest.load.max_concurrency), (20.0, Some(2)));
    let dir = tempfile::tempdir().unwrap();
    let one = format!("{}{}", &EXPORT[..EXPORT.find(",\n{\"experiment\":{\"mode\":\"request_rate\"").unwrap()], "]}");
    std::fs::write(dir.path().join("profile_export.json"), one).unwrap();
    std::fs::write(dir.path().join("profile_export_genai_perf.json"), SUMMARY).unwrap();
    let runs = read_paths(&[dir.path().to_path_buf()]).unwrap();
    assert_eq!((runs.len(), runs[0].requests("status").len(), runs[0].figure("e2e_ms p50")), (1, 3, 90.0));
}
