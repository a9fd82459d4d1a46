//! What the lines of every version give, and what damaged ones do not.

use super::VLLM_SERVER_LOG;
use crate::formats::damage_test::mutate_at_random;
use crate::formats::reading_test::{Sample, read, read_file, samples, shared, sniff};
use crate::ingestor::Sniff;
use crate::server::recording::Recording;
use crate::text::stamp::StampClock;
use postrun_schema::{EventKind, IssueCode};
use std::collections::{BTreeMap, BTreeSet};

const FIXTURE: &str = include_str!("../../../../../fixtures/vllm_server_log/waiting_and_restart/input/server.log");
/// 2 January of the year that stands for the unknown one, 03:04:05.
const T: i64 = 1_704_164_645_000_000_000;
const S: i64 = 1_000_000_000;

fn log(text: &str) -> (Recording, Vec<Sample>) {
    let (mut recording, _dir) = read(&VLLM_SERVER_LOG, "server.log", text.as_bytes()).unwrap();
    let list = samples(&mut recording);
    (recording, list)
}

fn stamped(messages: &[&str]) -> String {
    messages.iter().map(|m| format!("INFO 01-02 03:04:05 [loggers.py:271] {m}\n")).collect()
}

/// Series to value, for logs in which every series has one sample.
fn by_name(list: &[Sample]) -> BTreeMap<&str, f64> {
    list.iter().map(|(_, series, _, value)| (series.as_str(), *value)).collect()
}

fn fact<'a>(recording: &'a Recording, key: &str) -> &'a str {
    recording.facts.get(key).map_or("", String::as_str)
}

const V1: &str = "Engine 000: Avg prompt throughput: 120.5 tokens/s, Avg generation throughput: 88.0 tokens/s, \
                  Running: 3 reqs, Waiting: 1 reqs, Deferred: 1 reqs, Preemptions: 2, XPU KV cache usage: 91.2%, \
                  Prefix cache hit rate: 12.0%, MM cache hit rate: 50.0%";

#[test]
fn present_engine() {
    let (recording, list) = log(&format!("(APIServer pid=7) {}", stamped(&[V1])));
    assert!(list.iter().all(|s| s.0 == T && s.2.as_deref() == Some("engine=0")));
    let want = [
        ("prompt_tokens_per_s", 120.5),
        ("output_tokens_per_s", 88.0),
        ("running", 3.0),
        ("waiting", 1.0),
        ("deferred", 1.0),
        ("preemptions_in_interval", 2.0),
        ("kv_cache_usage", 0.912),
        ("prefix_cache_hit_rate", 0.12),
        ("mm_cache_hit_rate", 0.5),
    ];
    assert_eq!(by_name(&list), want.into_iter().collect());
    assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Local, S));
    assert!(recording.issues.is_empty());
}

#[test]
fn first_engine() {
    let text = "INFO 01-02 03:04:00 llm_engine.py:237] Initializing an LLM engine (v0.6.6) with config: \
        model='toy/m', max_seq_len=4096, chunked_prefill_enabled=False, use_async_output_proc=True)\n\
        INFO 01-02 03:04:01 distributed_gpu_executor.py:57] # GPU blocks: 790, # CPU blocks: 512\n\
        INFO 01-02 03:04:05 metrics.py:455] Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 5.0 \
        tokens/s, Running: 1 reqs, Swapped: 4 reqs, Pending: 2 reqs, GPU KV cache usage: 3.5%, CPU KV cache usage: \
        1.0%.\nINFO 01-02 03:04:05 metrics.py:471] Prefix cache hit rate: GPU: 25.00%, CPU: 0.00%\n\
        WARNING 01-02 03:04:06 scheduler.py:1] Sequence group cmpl-9-0 is preempted by PreemptionMode.RECOMPUTE mode \
        because there is not enough KV cache space. More. total_num_cumulative_preemption=51\n";
    let (recording, list) = log(text);
    let values = by_name(&list);
    let expected = [("waiting", 2.0), ("swapped", 4.0), ("kv_cache_usage", 0.035), ("cpu_kv_cache_usage", 0.01)];
    for (series, value) in expected.into_iter().chain([("prefix_cache_hit_rate", 0.25), ("preemptions_total", 51.0)]) {
        assert_eq!(values[series], value, "{series}");
    }
    assert!(list.contains(&(T - 5 * S, "preemptions_total".to_string(), None, 0.0)));
    assert_eq!((fact(&recording, "max_model_len"), fact(&recording, "num_gpu_blocks")), ("4096", "790"));
    assert_eq!((fact(&recording, "enable_chunked_prefill"), fact(&recording, "num_cpu_blocks")), ("false", "512"));
    assert_eq!(recording.server_version.as_deref(), Some("0.6.6"));
    let event = recording.events.last().unwrap();
    assert_eq!((event.kind, event.request_id.as_deref()), (EventKind::Preempted, Some("cmpl-9-0")));
    assert_eq!(event.detail.as_deref(), Some("RECOMPUTE"));
}

#[test]
fn engines_do_not_count_twice() {
    let line = |who: &str, running: u32| format!("{who}: Avg prompt throughput: 0.0 tokens/s, Running: {running} reqs");
    let running = |messages: &[&str]| -> Vec<(Option<String>, f64)> {
        log(&stamped(messages)).1.into_iter().filter(|s| s.1 == "running").map(|s| (s.2, s.3)).collect()
    };
    let (all, zero, one) = (line("2 Engines Aggregated", 5), line("Engine 000", 2), line("Engine 001", 3));
    let label = |engine: &str| Some(format!("engine={engine}"));
    assert_eq!(running(&[&all]), [(label("aggregated"), 5.0)]);
    assert_eq!(running(&[&all, &zero, &one]), [(label("0"), 2.0), (label("1"), 3.0)]);
    assert_eq!(running(&[&zero, &one, &all]), [(label("0"), 2.0), (label("1"), 3.0)]);
    // The same line twice in one second is one line.
    assert_eq!(running(&[&zero, &zero]), [(label("0"), 2.0)]);
}

#[test]
fn speculation_and_iterations() {
    let spec = "SpecDecoding metrics: Mean acceptance length: 3.49, Accepted throughput: 0.12 tokens/s, Drafted \
        throughput: 0.34 tokens/s, Accepted: 92 tokens, Drafted: 259 tokens, Per-position acceptance rate: 0.757, \
        0.622, Avg Draft acceptance rate: 35.5%";
    let (_, list) = log(&stamped(&[V1, spec]));
    let labels = |k: &str| Some(format!("engine=0,position={k}"));
    for (series, label, value) in [
        ("spec_decode_acceptance_length", Some("engine=0".to_string()), 3.49),
        ("spec_decode_position_acceptance_rate", labels("0"), 0.757),
        ("spec_decode_position_acceptance_rate", labels("1"), 0.622),
        ("spec_decode_draft_acceptance_rate", Some("engine=0".to_string()), 0.355),
    ] {
        assert!(list.contains(&(T, series.to_string(), label, value)), "{series}");
    }
    let step = |ms: &str| {
        format!(
            "(EngineCore_DP1 pid=9) {}",
            stamped(&[&format!(
                "Iteration(4): 2 context requests, 796 context tokens, 14 generation requests, \
            15 generation tokens, iteration elapsed time: {ms}, GPU KV cache usage: 1.2%"
            )])
        )
    };
    let (_, list) = log(&(step("115.64 ms") + &step("0.50 ms") + &step("9.00 ms (dummy)")));
    let times: Vec<(i64, f64)> = list.iter().filter(|s| s.1 == "iteration_ms").map(|s| (s.0 - T, s.3)).collect();
    assert_eq!(times, [(115_640_000, 115.64), (116_140_000, 0.5)]);
    assert!(list.contains(&(T + 115_640_000, "batch_requests".into(), Some("engine=1".into()), 16.0)));
    assert!(list.contains(&(T + 116_140_000, "batch_prompt_tokens".into(), Some("engine=1".into()), 796.0)));
}

#[test]
fn requests_where_they_are_logged() {
    let text = stamped(&[
        "non-default args: {'api_key': ['hush'], 'model': 'toy/m'}",
        "Received request c-1: prompt: 'say, params: SamplingParams(max_tokens=1)', params: SamplingParams(n=1, \
         stop=['a)'], max_tokens=64, min_tokens=0), prompt_token_ids: [1, 2, 3], lora_request: None.",
        "Added request c-1.",
        "Received request c-2: params: SamplingParams(max_tokens=None), lora_request: None.",
        "Generated response c-1 (streaming complete): output: 'x, finish_reason: no', output_token_ids: [4, 5], \
         finish_reason: length",
        "Aborted request(s) c-2.",
    ]);
    let (recording, _) = log(&text);
    let [one, two] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
    assert_eq!((one.prompt_tokens, one.output_tokens, one.requested_output_tokens), (Some(3), Some(2), Some(64)));
    assert_eq!((one.arrival_ns, one.queued_ns, one.finish_reason.as_deref()), (Some(T), Some(T), Some("length")));
    assert_eq!((two.error.as_deref(), two.requested_output_tokens), (Some("aborted"), None));
    let kinds: Vec<EventKind> = recording.events.iter().map(|e| e.kind).collect();
    use EventKind::{Arrived, Failed, Finished, Queued, ServerStarted};
    assert_eq!(kinds, [ServerStarted, Arrived, Queued, Arrived, Finished, Failed]);
    assert!(!recording.facts.contains_key("api_key"));
}

#[test]
fn fixture_with_a_restart() {
    let (recording, list) = log(FIXTURE);
    for (key, value) in [
        ("model", "toy/llama-small"),
        ("max_num_seqs", "16"),
        ("served_model_name", "small"),
        ("gpu_memory_utilization", "0.85"),
        ("enable_prefix_caching", "true"),
        ("kv_cache_capacity_tokens", "49152"),
        ("max_concurrency_of_longest", "24.00"),
        ("model_memory_bytes", "15032385536"),
        ("torch_compile_s", "12.50"),
        ("init_engine_s", "20.75"),
        ("startup_s", "38"),
        ("http_200", "2"),
        ("http_post_200", "1"),
        ("http_post_500", "1"),
    ] {
        assert_eq!(fact(&recording, key), value, "{key}");
    }
    assert_eq!(recording.server_version.as_deref(), Some("0.22.1"));
    let starts = recording.events.iter().filter(|e| e.kind == EventKind::ServerStarted).count();
    assert_eq!((starts, recording.issues.count(IssueCode::ServerRestarted)), (2, 1));
    assert_eq!(recording.issues.count(IssueCode::ForeignLines), 1);
    let waiting: Vec<f64> = list.iter().filter(|s| s.1 == "waiting").map(|s| s.3).collect();
    assert_eq!(waiting, [0.0, 5.0, 12.0, 0.0]);
}

#[test]
fn odd_values_and_stamps() {
    let line = "Engine 000: Avg prompt throughput: nan tokens/s, Avg generation throughput: -1.0 tokens/s, Running: \
        99999999999999999999999 reqs, Waiting: 1 re";
    let (recording, list) = log(&stamped(&[line]));
    assert!(list.is_empty());
    assert_eq!(recording.issues.count(IssueCode::NonFiniteValue), 1);
    assert_eq!(recording.issues.count(IssueCode::OutOfRange), 2);
    assert_eq!(recording.issues.count(IssueCode::BadRecord), 1);
    let text = format!("2026-01-02T03:04:05.250Z (APIServer pid=7) {}", stamped(&[V1]));
    let (recording, list) = log(&text);
    assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Unix, 1_000_000));
    assert_eq!(list[0].0, 1_767_323_045_250_000_000);
    let coloured = stamped(&[V1]).replace("INFO", "\u{1b}[32mINFO\u{1b}[0m").replace('\n', "\r\n");
    assert_eq!(log(&format!("bar 1%\rbar 2%\r{coloured}")).1.len(), 9);
}

#[test]
fn what_is_recognised() {
    assert_eq!(sniff(&VLLM_SERVER_LOG, "server.log", FIXTURE.as_bytes()), Sniff::Strong);
    let other = "INFO 01-02 03:04:05 [manager.py:1] hello\n".repeat(3);
    assert_eq!(sniff(&VLLM_SERVER_LOG, "x.log", other.as_bytes()), Sniff::Weak);
    let quoted = format!("{{\"log\": \"{}\"}}", stamped(&[V1]).trim());
    assert_eq!(sniff(&VLLM_SERVER_LOG, "x.json", quoted.as_bytes()), Sniff::No);
    for text in ["", "Traceback (most recent call last):\n  File \"a.py\"", "2026-01-02 INFO Avg prompt throughput: 1"]
    {
        assert_eq!(sniff(&VLLM_SERVER_LOG, "x.log", text.as_bytes()), Sniff::No);
    }
}

#[test]
fn damage_adds_nothing_and_breaks_nothing() {
    let (whole, all) = log(FIXTURE);
    let all: BTreeSet<String> = all.iter().map(|s| format!("{s:?}")).collect();
    let counted = |key: &str| key.starts_with("http_");
    let bytes = FIXTURE.as_bytes();
    for end in 1..bytes.len() {
        let (mut cut, _dir) = read(&VLLM_SERVER_LOG, "server.log", &bytes[..end]).unwrap();
        assert!(samples(&mut cut).iter().all(|s| all.contains(&format!("{s:?}"))), "cut at {end}");
        for (key, value) in cut.facts.iter().filter(|(key, _)| !counted(key)) {
            assert_eq!(Some(value), whole.facts.get(key), "{key} cut at {end}");
        }
        assert!(cut.requests.len() <= whole.requests.len() && cut.events.len() <= whole.events.len());
    }
    mutate_at_random(&VLLM_SERVER_LOG, "server.log", bytes);
}

#[test]
fn real_logs() {
    let Some(path) = shared("recordings/vllm-server-cpu/kv-tight/server.log") else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut recording = read_file(&VLLM_SERVER_LOG, &path, dir.path()).unwrap();
    let list = samples(&mut recording);
    let of = |series: &str| list.iter().filter(|s| s.1 == series).map(|s| s.3).collect::<Vec<_>>();
    assert_eq!(of("running"), [0.0, 0.0, 10.0, 16.0, 4.0]);
    assert_eq!(of("waiting"), [0.0, 0.0, 0.0, 3.0, 0.0]);
    assert_eq!(of("kv_cache_usage"), [0.0, 0.0, 0.828, 0.966, 0.483]);
    for (key, value) in
        [("kv_cache_capacity_tokens", "3840"), ("num_gpu_blocks", "30"), ("max_num_seqs", "16"), ("startup_s", "61")]
    {
        assert_eq!(fact(&recording, key), value, "{key}");
    }
    assert_eq!(recording.server_version.as_deref(), Some("0.32.0"));
    assert_eq!(recording.skipped, 0);
}
