//! Text and JSON, every unit, damage.

use super::TGI_LOG;
use crate::formats::damage_test::mutate_at_random;
use crate::formats::reading_test::{read, sniff};
use crate::ingestor::Sniff;
use crate::server::recording::Recording;
use crate::text::stamp::StampClock;
use postrun_schema::{EventKind, IssueCode};

const FIXTURE: &str = include_str!("../../../../../fixtures/tgi_log/two_forms/input/tgi.log");

fn log(text: &str) -> Recording {
    read(&TGI_LOG, "tgi.log", text.as_bytes()).unwrap().0
}

const SUCCESS: &str = "2026-01-02T03:04:07.500000Z  INFO generate{parameters=GenerateParameters { max_new_tokens: \
    Some(20), stop: [\"queue_time=\\\"9s\\\"\"], seed: None } total_time=\"2.5s\" validation_time=\"500µs\" \
    queue_time=\"499.5ms\" inference_time=\"2s\" time_per_token=\"100ms\" seed=\"None\"}: \
    text_generation_router::server: router/src/server.rs:402: Success\n";
/// 2 January 2026, 03:04:05.
const T: i64 = 1_767_323_045_000_000_000;

#[test]
fn a_request() {
    let recording = log(&format!("tgi-1  | {SUCCESS}"));
    let [request] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
    assert_eq!((request.arrival_ns, request.queued_ns), (Some(T), Some(T + 500_000)));
    assert_eq!((request.queue_ns, request.first_scheduled_ns), (Some(499_500_000), Some(T + 500_000_000)));
    assert_eq!((request.inference_ns, request.last_token_ns), (Some(2_000_000_000), Some(T + 2_500_000_000)));
    assert_eq!((request.output_tokens, request.prompt_tokens, request.prefill_ns), (Some(20), None, None));
    assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Unix, 1000));
    assert!(recording.issues.is_empty());
}

#[test]
fn json_and_text_are_one() {
    let fields = "\"total_time\":\"2.5s\",\"validation_time\":\"500\u{3bc}s\",\"queue_time\":\"499.5ms\",\
        \"inference_time\":\"2s\",\"time_per_token\":\"100ms\",\"name\":\"generate\"";
    let head = "{\"timestamp\":\"2026-01-02T03:04:07.500000Z\",\"level\":\"INFO\",";
    let want = log(SUCCESS).requests;
    for text in [
        format!("{head}\"message\":\"Success\",\"span\":{{{fields}}}}}\n"),
        format!("{head}\"fields\":{{\"message\":\"Success\"}},\"spans\":[{{\"name\":\"http\"}},{{{fields}}}]}}"),
    ] {
        assert_eq!(log(&text).requests, want, "{text}");
        assert_eq!(sniff(&TGI_LOG, "tgi.log", text.as_bytes()), Sniff::Strong);
    }
}

#[test]
fn fixture() {
    let recording = log(FIXTURE);
    for (key, value) in [
        ("model", "toy/llama-small"),
        ("num_shard", "2"),
        ("max_concurrent_requests", "128"),
        ("kv_cache_capacity_tokens", "65536"),
        ("max_batch_total_tokens", "65536"),
        ("enable_chunked_prefill", "true"),
        ("startup_s", "30"),
        ("error_lines", "1"),
    ] {
        assert_eq!(recording.facts.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert!(!recording.facts.contains_key("ngrok_authtoken"));
    let tokens: Vec<Option<u32>> = recording.requests.iter().map(|r| r.output_tokens).collect();
    assert_eq!(tokens, [Some(14), Some(20), Some(64)]);
    let kinds: Vec<EventKind> = recording.events.iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [EventKind::ServerStarted, EventKind::Failed]);
}

#[test]
fn odd_values() {
    let odd = |from: &str, to: &str| log(&SUCCESS.replace(from, to));
    let recording = odd("inference_time=\"2s\"", "inference_time=\"-2s\"");
    assert_eq!((recording.issues.count(IssueCode::NegativeDuration), recording.requests[0].output_tokens), (1, None));
    assert_eq!(odd("\"2.5s\"", "\"9000000000s\"").issues.count(IssueCode::ImplausibleTime), 1);
    assert_eq!(odd("\"100ms\"", "\"0ns\"").requests[0].output_tokens, None);
    assert_eq!(odd("\"499.5ms\"", "\"NaN\"").requests[0].queue_ns, None);
    let unfinished = SUCCESS.trim_end();
    assert!(read(&TGI_LOG, "t", unfinished.as_bytes()).unwrap().0.requests.is_empty());
    assert_eq!(log(&format!("{SUCCESS}{unfinished}")).issues.count(IssueCode::TruncatedRecord), 1);
}

#[test]
fn what_is_recognised() {
    assert_eq!(sniff(&TGI_LOG, "tgi.log", FIXTURE.as_bytes()), Sniff::Strong);
    for text in ["", "{\"message\":\"Success\"}", "2026-01-02T03:04:05Z  INFO other: hello", "text_generation_router"] {
        assert_eq!(sniff(&TGI_LOG, "x.log", text.as_bytes()), Sniff::No, "{text}");
    }
}

#[test]
fn damage_adds_nothing_and_breaks_nothing() {
    let whole = log(FIXTURE);
    let bytes = FIXTURE.as_bytes();
    for end in 1..bytes.len() {
        let (cut, _dir) = read(&TGI_LOG, "tgi.log", &bytes[..end]).unwrap();
        assert_eq!(cut.requests, whole.requests[..cut.requests.len()], "cut at {end}");
        assert_eq!(cut.events, whole.events[..cut.events.len()], "cut at {end}");
        for (key, value) in &cut.facts {
            assert_eq!(Some(value), whole.facts.get(key), "{key} cut at {end}");
        }
    }
    mutate_at_random(&TGI_LOG, "tgi.log", bytes);
}
