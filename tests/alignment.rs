//! Files of the server beside a client's run that are not its own, or not all its own: refused, or placed where they belong.

use crate::made_up::{ZERO_S, client, every, scrapes};
use crate::support::{Ran, fixture, run, shared, temp_file};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn kv_tight(name: &str) -> PathBuf {
    fixture(&format!("server_side/kv_tight/input/{name}"))
}

fn ran(inputs: &[&Path], extra: &[&str]) -> Ran {
    let inputs = inputs.iter().map(|p| p.to_str().unwrap());
    run(["report", "--format", "json"].into_iter().chain(inputs).chain(extra.iter().copied()))
}

fn runs(inputs: &[&Path], extra: &[&str]) -> Vec<Value> {
    let ran = ran(inputs, extra);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()["runs"].as_array().unwrap().clone()
}

fn one(inputs: &[&Path]) -> Value {
    runs(inputs, &[]).remove(0)
}

fn issue<'a>(run: &'a Value, code: &str) -> Option<&'a Value> {
    run["data_quality"].as_array().unwrap().iter().find(|q| q["code"] == code)
}

/// True where the server's clock is placed; then the run must have figures to show for it.
fn aligned(run: &Value) -> bool {
    !run["clock"]["uncertainty_ms"].is_null()
}

/// How far the clock lies from the truth, and what it claims, in milliseconds.
fn error_ms(run: &Value, truth_ms: f64) -> (f64, f64) {
    let clock = &run["clock"];
    (clock["offset_ms"].as_f64().unwrap() - truth_ms, clock["uncertainty_ms"].as_f64().unwrap())
}

/// The spans of the fixture, each changed.
fn spans(change: impl Fn(&mut Value)) -> (tempfile::TempDir, PathBuf) {
    let text = std::fs::read_to_string(kv_tight("spans.otlp.jsonl")).unwrap();
    let mut out = String::new();
    for line in text.lines() {
        let mut batch: Value = serde_json::from_str(line).unwrap();
        for resource in batch["resourceSpans"].as_array_mut().unwrap() {
            for scope in resource["scopeSpans"].as_array_mut().unwrap() {
                scope["spans"].as_array_mut().unwrap().iter_mut().for_each(&change);
            }
        }
        writeln!(out, "{batch}").unwrap();
    }
    temp_file("spans.otlp.jsonl", out.as_bytes())
}

fn later(span: &mut Value, seconds: i64) {
    for key in ["startTimeUnixNano", "endTimeUnixNano"] {
        let ns: i64 = span[key].as_str().unwrap().parse().unwrap();
        span[key] = (ns + seconds * 1_000_000_000).to_string().into();
    }
}

/// The client's result of the fixture with some of its fields replaced.
fn result(change: impl Fn(&mut Value)) -> (tempfile::TempDir, PathBuf) {
    let mut value = serde_json::from_slice(&std::fs::read(kv_tight("result.json")).unwrap()).unwrap();
    change(&mut value);
    temp_file("result.json", value.to_string().as_bytes())
}

#[test]
fn spans_of_another_run_of_the_same_workload_are_refused() {
    let client = kv_tight("result.json");
    let (_a, same) = spans(|_| ());
    assert!(aligned(&one(&[&client, &same])));
    // The server took longer than the client waited.
    let (_b, slower) = spans(|span| {
        for attribute in span["attributes"].as_array_mut().unwrap() {
            if attribute["key"].as_str().unwrap().starts_with("gen_ai.latency") {
                let took = attribute["value"]["doubleValue"].as_f64().unwrap();
                attribute["value"]["doubleValue"] = (took * 1.2 + 0.01).into();
            }
        }
    });
    let alone = one(&[&client]);
    // The client saved its file seven minutes before the run ended.
    let (_c, after) = spans(|span| later(span, 420));
    for spans in [&slower, &after] {
        let run = one(&[&client, spans]);
        assert!(!aligned(&run), "{}", run["clock"]);
        assert!(run["metrics"]["queue_ms"].is_null(), "{}", run["metrics"]["queue_ms"]);
        assert!(issue(&run, "server_request_not_joined").is_some() && issue(&run, "clock_not_aligned").is_some());
        assert_eq!(run["findings"], alone["findings"]);
    }
}

#[test]
fn send_times_that_no_arrivals_follow_are_no_alignment() {
    for step in [0.0, 1.0] {
        let (_dir, client) = result(|value| {
            let n = value["start_times"].as_array().unwrap().len();
            value["start_times"] = every(n, step, 5.0).into();
        });
        for file in ["spans.otlp.jsonl", "metrics.prom", "server.log"] {
            let run = one(&[&client, &kv_tight(file)]);
            assert!(!aligned(&run), "{step} {file}: {}", run["clock"]);
        }
    }
}

/// Reads `../shared`: of runs of one workload, nothing but their times tells whose a file is.
#[test]
fn no_file_of_another_run_is_aligned() {
    let Some(shared) = shared() else { return };
    let dir = |name: &str| shared.join("recordings/vllm-server-cpu").join(name);
    let alike = [vec!["healthy", "healthy-b", "healthy-c", "healthy-d"], vec!["kv-tight", "kv-room", "kv-preempt"]];
    let mut pairs = 0;
    for (a, b) in alike.iter().flat_map(|names| names.iter().flat_map(move |a| names.iter().map(move |b| (a, b)))) {
        for file in ["spans.otlp.jsonl", "metrics.prom", "server.log"] {
            let run = one(&[&dir(a).join("result.json"), &dir(b).join(file)]);
            assert_eq!(aligned(&run), a == b, "{a} beside {file} of {b}: {}", run["clock"]);
            pairs += 1;
        }
    }
    assert_eq!(pairs, 3 * (16 + 9));
}

#[test]
fn of_two_runs_in_one_recording_each_gets_its_own() {
    // The same requests twice, a little differently spaced.
    let (a, b) = (every(40, 0.25, 100.0), every(40, 0.26, 160.0));
    let both: Vec<f64> = a.iter().chain(&b).copied().collect();
    let preempted = |at: f64| if at < 161.0 { 0.0 } else { 5.0 };
    let (_m, metrics) = temp_file("metrics.prom", scrapes(90.25, 190.0, &both, 0.05, preempted).as_bytes());
    for (sent, total) in [(&a, 0.0), (&b, 5.0)] {
        let (_r, client) = temp_file("result.json", client(sent, &[10; 40], 0.05).as_bytes());
        let run = one(&[&client, &metrics]);
        let (error, claimed) = error_ms(&run, ZERO_S * 1e3);
        assert!(error.abs() <= claimed && claimed < 100.0, "{error} ±{claimed}");
        assert_eq!(run["preemption"]["total"].as_f64(), Some(total));
    }
}

#[test]
fn a_recording_that_fits_twice_is_ambiguous() {
    let (a, b) = (every(40, 0.25, 100.0), every(40, 0.25, 160.0));
    let both: Vec<f64> = a.iter().chain(&b).copied().collect();
    let (_m, metrics) = temp_file("metrics.prom", scrapes(90.25, 190.0, &both, 0.05, |_| 0.0).as_bytes());
    let (_r, client) = temp_file("result.json", client(&a, &[10; 40], 0.05).as_bytes());
    let run = one(&[&client, &metrics]);
    assert!(!aligned(&run) && issue(&run, "ambiguous_recording").is_some(), "{}", run["data_quality"]);
}

/// Requests that come in waves: where the counter stood tells when it was.
fn uneven(n: usize) -> Vec<f64> {
    (0..n).map(|i| 100.0 + 0.25 * i as f64 + 1.2 * (i as f64 / 9.0).sin()).collect()
}

#[test]
fn two_servers_recordings_in_one_file_are_two_lives_of_it() {
    // The first is cut off before its run ended, the second begins at 0 again: its tokens are no continuation.
    let (a, b) = (uneven(100), every(40, 0.3, 160.0));
    let first = scrapes(90.25, 124.5, &a, 0.05, |_| 0.0);
    let second = scrapes(150.25, 190.0, &b, 0.05, |at| if at < 165.0 { 0.0 } else { 5.0 });
    let (_m, metrics) = temp_file("metrics.prom", [first, second].concat().as_bytes());
    let (_r, client) = temp_file("result.json", client(&a, &[10; 100], 0.05).as_bytes());
    let run = one(&[&client, &metrics]);
    let (error, claimed) = error_ms(&run, ZERO_S * 1e3);
    assert!(error.abs() <= claimed && claimed < 150.0, "{error} ±{claimed}");
    assert_eq!(run["preemption"]["total"].as_f64(), Some(0.0));
}

#[test]
fn a_foreign_result_gets_nothing_of_a_recording() {
    let (a, b) = (every(40, 0.25, 100.0), every(40, 0.4, 500.0));
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str, text: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mine = path("mine.json", client(&a, &[10; 40], 0.05));
    let foreign = path("foreign.json", client(&b, &[10; 40], 0.05));
    let blocks = |n: u32, text: String| format!("{text}vllm:cache_config_info{{num_gpu_blocks=\"{n}\"}} 1\n");
    let metrics =
        path("metrics.prom", blocks(30, scrapes(90.25, 130.0, &a, 0.05, |at| f64::from(u8::from(at > 102.0)))));
    let by_label = |inputs: &[&Path], label: &str| {
        runs(inputs, &[]).into_iter().find(|run| run["label"].as_str().unwrap().contains(label)).unwrap()
    };
    let inputs: [&Path; 3] = [&mine, &foreign, &metrics];
    let run = by_label(&inputs, "mine");
    assert!(aligned(&run) && run["preemption"]["total"].as_f64() == Some(1.0), "{}", run["clock"]);
    let run = by_label(&inputs, "foreign");
    assert!(run["preemption"]["total"].is_null() && issue(&run, "clock_not_aligned").is_some(), "{run}");
    assert!(run["server"]["num_gpu_blocks"].is_null());
    // Each server's settings go where its samples go.
    let other = path("other.prom", blocks(200, scrapes(490.25, 530.0, &b, 0.05, |_| 0.0)));
    let inputs: [&Path; 4] = [&mine, &foreign, &metrics, &other];
    for (label, blocks, preempted) in [("mine", "30", 1.0), ("foreign", "200", 0.0)] {
        let run = by_label(&inputs, label);
        assert_eq!(run["server"]["num_gpu_blocks"], blocks, "{label}");
        assert_eq!(run["preemption"]["total"].as_f64(), Some(preempted), "{label}");
    }
}

#[test]
fn a_counter_with_tokens_of_others_claims_no_more_than_it_knows() {
    // Streams that broke, chunks of several tokens or in bursts, slow steps, a cold start: all bias a counter of tokens.
    for scenario in [
        "failures_distort_latency-t2",
        "failures_distort_latency-h1",
        "memory_near_limit+speculation_or_chunking_distorts_itl-h1",
        "high_tpot-t2",
        "itl_jitter-t2",
        "high_tpot+warm_up_in_the_numbers-h1",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let made = run(["simulate", scenario, "-o", dir.path().join("run").to_str().unwrap()]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let file = |name: &str| dir.path().join("run").join(name);
        let truth: Value = serde_json::from_slice(&std::fs::read(file("truth.json")).unwrap()).unwrap();
        let truth_ms = truth["clocks"]["server_minus_client_ns"].as_f64().unwrap() / 1e6;
        let run = one(&[&file("result.json"), &file("metrics.prom")]);
        let (error, claimed) = error_ms(&run, truth_ms);
        assert!(error.abs() <= claimed && claimed < 500.0, "{scenario}: {error} ±{claimed}");
    }
}

#[test]
fn another_model_is_said_and_a_path_of_the_same_is_not() {
    let text = std::fs::read_to_string(kv_tight("metrics.prom")).unwrap();
    let (_dir, metrics) = temp_file("metrics.prom", text.replace("tiny-llama", "other-model").as_bytes());
    let run = one(&[&kv_tight("result.json"), &metrics]);
    let other = issue(&run, "other_model").unwrap();
    assert_eq!(other["example"], "tiny-llama asked for, other-model served");
    // The log names the folder that the model was loaded from.
    let whole = one(&[&fixture("server_side/kv_tight/input")]);
    assert!(issue(&whole, "other_model").is_none() && issue(&whole, "double_fact").is_none());
}

/// `nvidia-smi` of a device that is free while the client runs and full before and after, `late` seconds off UTC.
fn device(late: i64) -> (tempfile::TempDir, PathBuf) {
    let client: Value = serde_json::from_slice(&std::fs::read(kv_tight("result.json")).unwrap()).unwrap();
    let sent =
        client["start_times"].as_array().unwrap().iter().map(|t| t.as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    let began = sent as i64 + 1_796_015_124;
    let mut csv = "timestamp, index, memory.used [MiB], utilization.gpu [%]\n".to_string();
    for second in -60..120 {
        let of_day = (began + second + late).rem_euclid(86_400);
        let day = 30 + (began + second + late).div_euclid(86_400) - began.div_euclid(86_400);
        let (used, busy) = if (0..=30).contains(&second) { (10_000, 50) } else { (70_000, 99) };
        let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        writeln!(csv, "2026/11/{day:02} {h:02}:{m:02}:{s:02}.500, 0, {used} MiB, {busy} %").unwrap();
    }
    temp_file("gpu.csv", csv.as_bytes())
}

#[test]
fn a_device_is_shown_as_it_was_during_the_run() {
    let inputs = |gpu: &Path| one(&[&kv_tight("result.json"), &kv_tight("spans.otlp.jsonl"), gpu]);
    // UTC, or half past five.
    for zone in [0, 19_800] {
        let (_dir, gpu) = device(zone);
        let run = inputs(&gpu);
        assert_eq!(run["sources"][2]["aligned"], true, "{zone}");
        let (busy, used) = (&run["device"]["utilization_mean"], &run["device"]["memory_peak_bytes"]);
        assert!((0.49..0.56).contains(&busy.as_f64().unwrap()), "{}", run["device"]);
        assert_eq!(used.as_f64(), Some(10_000.0 * 1_048_576.0));
    }
    // Seven minutes later, three days earlier.
    for late in [420, -3 * 86_400] {
        let (_dir, gpu) = device(late);
        let run = inputs(&gpu);
        assert_eq!(run["sources"][2]["aligned"], false, "{late}");
        assert!(issue(&run, "clock_not_aligned").unwrap()["at"].as_str().unwrap().contains("gpu.csv"));
    }
}

#[test]
fn stamps_at_the_end_of_time_break_nothing() {
    let scrape =
        |at: &str, running: &str| format!("# scrape_time {at}\nvllm:num_requests_running{{engine=\"0\"}} {running}\n");
    let text = [
        scrape("1796024370.558", "3"),
        scrape("9223372036854775807", "7"),
        scrape("1796024375.833", "9223372036854775807"),
        scrape("9223372036", "2"),
        scrape("-9223372036", "5"),
        scrape("1796024376.898", "13"),
    ];
    let (_dir, metrics) = temp_file("metrics.prom", text.concat().as_bytes());
    let run = one(&[&kv_tight("result.json"), &metrics]);
    assert!(!aligned(&run), "{}", run["clock"]);
}

#[test]
fn an_offset_that_the_recordings_refute_is_said() {
    let inputs = [kv_tight("result.json"), kv_tight("spans.otlp.jsonl"), kv_tight("metrics.prom")];
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    for (offset, off_ms) in [("1796015134.3175", 10_000.0), ("0s", 1_796_015_124_317.5)] {
        let run = runs(&inputs, &["--clock-offset", offset]).remove(0);
        let refuted = issue(&run, "clock_offset_refuted").unwrap_or_else(|| panic!("{}", run["data_quality"]));
        assert!(refuted["example"].as_str().unwrap().contains("60 joined requests"), "{refuted}");
        assert!(run["clock"]["uncertainty_ms"].as_f64() >= Some(off_ms), "{}", run["clock"]);
    }
    // At the beginning of 1970 there are no scrapes.
    let run = runs(&inputs, &["--clock-offset", "0s"]).remove(0);
    let unavailable = run["unavailable"].as_array().unwrap();
    let running = unavailable.iter().find(|metric| metric["metric"] == "running_mean").unwrap();
    assert!(running["missing"].as_str().unwrap().contains("lie in the run"), "{running}");
    let right = runs(&inputs, &["--clock-offset", "1796015124.3175"]).remove(0);
    assert!(issue(&right, "clock_offset_refuted").is_none());
}

#[test]
fn a_log_without_year_and_zone_gives_no_offset() {
    let run = one(&[&kv_tight("result.json"), &kv_tight("server.log")]);
    assert!(aligned(&run) && run["clock"]["offset_ms"].is_null(), "{}", run["clock"]);
}
