//! Requests in every form, clocks, damage.

use super::LLAMA_CPP_LOG;
use crate::formats::damage_test::mutate_at_random;
use crate::formats::reading_test::{Sample, read, samples, sniff};
use crate::ingestor::Sniff;
use crate::server::recording::Recording;
use crate::text::stamp::StampClock;
use postrun_schema::IssueCode;
use std::collections::BTreeSet;

const FIXTURE: &str = include_str!("../../../../../fixtures/llama_cpp_log/two_slots/input/llama-server.log");
const MS: i64 = 1_000_000;

fn log(text: &str) -> (Recording, Vec<Sample>) {
    let (mut recording, _dir) = read(&LLAMA_CPP_LOG, "llama.log", text.as_bytes()).unwrap();
    let list = samples(&mut recording);
    (recording, list)
}

#[test]
fn one_record_of_several_lines() {
    let text = "slot launch_slot_: id  0 | task 135 | processing task\n\
        slot update_slots: id  0 | task 135 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = 1371\n\
        slot      release: id  0 | task 135 | stop processing: n_past = 1380, truncated = 0\n\
        slot print_timing: id  0 | task 135 | \n\
        prompt eval time =    1963.50 ms /   523 tokens (    3.75 ms per token,   266.36 tokens per second)\n       \
        eval time =     319.58 ms /    10 runs   (   31.96 ms per token,    31.29 tokens per second)\n      \
        total time =    2283.08 ms /   533 tokens\n";
    let (recording, list) = log(text);
    let [request] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
    assert_eq!(
        (request.prompt_tokens, request.cached_tokens, request.output_tokens),
        (Some(1371), Some(848), Some(10))
    );
    assert_eq!((request.prefill_ns, request.decode_ns), (Some(1_963_500_000), Some(319_580_000)));
    assert_eq!((request.inference_ns, request.last_token_ns), (Some(2_283_080_000), None));
    assert!(list.is_empty());
    let journal: String = text.lines().map(|l| format!("Jan 02 03:04:05 host llama-server[9]: {l}\n")).collect();
    assert_eq!(log(&journal).0.requests, recording.requests);
    assert_eq!(sniff(&LLAMA_CPP_LOG, "x.log", text.as_bytes()), Sniff::Strong);
}

#[test]
fn json_and_keys() {
    let json = "{\"tid\":\"1\",\"timestamp\":1717067386,\"level\":\"INFO\",\"function\":\"print_timings\",\"msg\":\
        \"prompt eval time     =    2684.39 ms /    27 tokens (   99.42 ms per token)\",\"id_slot\":0,\"id_task\":19}\n\
        {\"timestamp\":1717067386,\"function\":\"print_timings\",\"msg\":\
        \"generation eval time =    3559.27 ms /    25 runs (  142.37 ms per token)\",\"id_slot\":0,\"id_task\":19}\n\
        {\"timestamp\":1717067386,\"function\":\"update_slots\",\"msg\":\"slot released\",\"id_slot\":0,\"id_task\":19,\
        \"n_past\":323,\"truncated\":false}\n";
    let keys = "INFO [  print_timings] prompt eval time     =    2684.39 ms /    27 tokens | tid=\"1\" \
        timestamp=1717067386 id_slot=0 id_task=19\n\
        INFO [  print_timings] generation eval time =    3559.27 ms /    25 runs | tid=\"1\" timestamp=1717067386 \
        id_slot=0 id_task=19\n\
        INFO [  update_slots] slot released | tid=\"1\" timestamp=1717067386 id_slot=0 id_task=19 n_past=323 \
        truncated=false\n";
    let (recording, _) = log(json);
    let [request] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
    // 323 tokens at the end = 272 from the cache + 27 computed + 25 generated, of which the last is not kept.
    assert_eq!((request.prompt_tokens, request.cached_tokens, request.output_tokens), (Some(299), Some(272), Some(25)));
    assert_eq!(request.first_token_ns, Some(1_717_067_386_000 * MS - 3_559_270_000));
    assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Unix, 1_000_000_000));
    assert_eq!(log(keys).0.requests, recording.requests);
    let oldest = "print_timings: prompt eval time =     232.47 ms /   492 tokens (    0.47 ms per token)\n\
        print_timings:        eval time =     100.00 ms /     4 runs   (   25.00 ms per token)\n\
        print_timings:       total time =     332.47 ms\n";
    let (recording, _) = log(&oldest.repeat(2));
    assert_eq!(recording.requests.len(), 2);
    assert_eq!((recording.requests[1].decode_ns, recording.requests[1].prompt_tokens), (Some(100 * MS), None));
}

#[test]
fn fixture() {
    let (recording, list) = log(FIXTURE);
    for (key, value) in [
        ("model", "/models/toy-q8.gguf"),
        ("max_num_seqs", "2"),
        ("n_ctx_slot", "4096"),
        ("kv_cache_capacity_tokens", "8192"),
        ("max_num_batched_tokens", "2048"),
        ("draft_tokens", "20"),
        ("draft_tokens_accepted", "15"),
    ] {
        assert_eq!(recording.facts.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(recording.server_version.as_deref(), Some("b10001"));
    assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Monotonic, 1000));
    let running: Vec<(i64, f64)> = list.iter().filter(|s| s.1 == "running").map(|s| (s.0 / MS, s.3)).collect();
    let want = [(10_000, 1.0), (10_500, 2.0), (11_100, 1.0), (12_000, 0.0), (13_000, 1.0), (13_500, 0.0)];
    assert_eq!(running, want);
    let [first, second, third] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
    assert_eq!((first.prompt_tokens, first.cached_tokens, first.output_tokens), (Some(153), Some(0), Some(71)));
    assert_eq!(first.first_scheduled_ns.map(|ns| ns / MS), Some(10_000));
    assert_eq!((first.first_token_ns, first.last_token_ns), (Some(10_290 * MS), Some(11_100 * MS)));
    // Drafts make the length at release uncertain.
    assert_eq!((second.prompt_tokens, second.output_tokens), (None, Some(24)));
    assert_eq!(third.error.as_deref(), Some("cancelled"));
    assert!(recording.issues.is_empty());
    assert_eq!(recording.events.iter().map(|e| e.at_ns).collect::<Vec<_>>(), [86_912_000]);
}

#[test]
fn clocks() {
    let line = |at: &str, port: &str, task: u32| {
        format!(
            "{port}{at} I slot print_timing: id  0 | task {task} |        eval time =      10.00 ms /     2 tokens (\n"
        )
    };
    let (recording, _) = log(&(line("0.10.000.000", "", 1) + &line("0.01.000.000", "", 1)));
    assert_eq!(recording.issues.count(IssueCode::ServerRestarted), 1);
    let times: Vec<Option<i64>> = recording.requests.iter().map(|r| r.last_token_ns).collect();
    assert_eq!(times, [Some(10_000 * MS), None]);
    let (recording, _) = log(&(line("0.10.000.000", "[8001] ", 1) + &line("0.01.000.000", "[8002] ", 1)));
    let times: Vec<Option<i64>> = recording.requests.iter().map(|r| r.last_token_ns).collect();
    assert_eq!(times, [Some(10_000 * MS), None]);
    let outer = format!("2026-01-02T03:04:05.5Z host llama-server[9]: {}", line("0.01.000.000", "", 1));
    let (recording, _) = log(&outer);
    assert_eq!(recording.requests[0].last_token_ns, Some(1_767_323_045_500 * MS));
    assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Unix, MS));
}

#[test]
fn odd_values_and_recognition() {
    let line =
        |value: &str| format!("slot print_timing: id 0 | task 1 | eval time = {value} ms / 99999999999 tokens\n");
    let whole = "slot print_timing: id 0 | task 1 | total time = 1.00 ms / 2 tokens\n";
    let (recording, _) = log(&(line("-5.00") + whole));
    assert_eq!(recording.issues.count(IssueCode::NegativeDuration), 1);
    assert_eq!((recording.requests[0].decode_ns, recording.requests[0].output_tokens), (None, None));
    let (recording, _) = log(&(line("nan") + whole));
    assert_eq!(recording.issues.count(IssueCode::NonFiniteValue), 1);
    let (recording, _) = log(&(whole.to_string() + line("5.00").trim_end() + "\n{\"a\":\n" + whole.trim_end()));
    assert_eq!(recording.issues.count(IssueCode::TruncatedRecord), 1);
    assert_eq!(recording.issues.count(IssueCode::BadRecord), 1);
    assert_eq!(sniff(&LLAMA_CPP_LOG, "x.log", FIXTURE.as_bytes()), Sniff::Strong);
    for text in [
        "",
        "{\"id_slot\":0}",
        "llama_perf_context_print: prompt eval time =     927.17 ms /    49 tokens",
        "llama_print_timings:        eval time = 115222.19 ms /   510 runs",
        "a slot machine: id 1",
    ] {
        assert_eq!(sniff(&LLAMA_CPP_LOG, "x.log", text.as_bytes()), Sniff::No, "{text}");
    }
}

#[test]
fn damage_adds_nothing_and_breaks_nothing() {
    let (whole, all) = log(FIXTURE);
    let all: BTreeSet<String> = all.iter().map(|s| format!("{s:?}")).collect();
    let bytes = FIXTURE.as_bytes();
    for end in 1..bytes.len() {
        let (mut cut, _dir) = read(&LLAMA_CPP_LOG, "llama.log", &bytes[..end]).unwrap();
        assert!(samples(&mut cut).iter().all(|s| all.contains(&format!("{s:?}"))), "cut at {end}");
        for (key, value) in cut.facts.iter().filter(|(key, _)| !key.starts_with("draft")) {
            assert_eq!(Some(value), whole.facts.get(key), "{key} cut at {end}");
        }
        for (request, full) in cut.requests.iter().zip(&whole.requests) {
            for (got, want) in [
                (request.prefill_ns, full.prefill_ns),
                (request.decode_ns, full.decode_ns),
                (request.inference_ns, full.inference_ns),
                (request.output_tokens.map(i64::from), full.output_tokens.map(i64::from)),
                (request.last_token_ns, full.last_token_ns),
            ] {
                assert!(got.is_none() || got == want, "cut at {end}");
            }
        }
    }
    mutate_at_random(&LLAMA_CPP_LOG, "llama.log", bytes);
}
