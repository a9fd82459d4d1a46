//! Exports: what other tools read is what the dataset holds.

use crate::python::python;
use crate::support::{fixture, report, root, run, shared, temp_file};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const WITH_SERVER: &str = "fixtures/server_side/kv_tight/input";
pub const CLIENT_ONLY: &str = "fixtures/vllm_bench/long_prompts/input/result.json";

pub type Counts = BTreeMap<String, u64>;

pub fn exported(input: &str, target: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let ran = run(["export", input, "--to", target, "-o", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{input}: {}", ran.stderr);
    (dir, path)
}

pub fn chrome(input: &str) -> Vec<Value> {
    let (_dir, path) = exported(input, "chrome-trace");
    let trace: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

pub fn named(events: &[Value], phase: &str) -> Counts {
    let mut counts = Counts::new();
    for event in events.iter().filter(|e| e["ph"] == phase) {
        *counts.entry(event["name"].as_str().unwrap().to_string()).or_default() += 1;
    }
    counts
}

fn counts(pairs: &[(&str, u64)]) -> Counts {
    pairs.iter().map(|(name, n)| (name.to_string(), *n)).collect()
}

/// What the report says of the same run.
fn stalls_of(report: &Value) -> Counts {
    let (listed, total) = (&report["runs"][0]["stalls"], &report["runs"][0]["stalls_total"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(total.as_u64(), Some(listed.len() as u64), "a report lists all pauses of so small a run");
    let mut out = Counts::new();
    for stall in listed {
        let class = stall["class"].as_str().unwrap();
        *out.entry(if class == "preemption" { "looks_like_preemption" } else { class }.to_string()).or_default() += 1;
    }
    out
}

#[test]
fn a_timeline_has_what_the_report_counts() {
    for (input, phases, counters) in [
        (WITH_SERVER, vec![("request", 60), ("queue", 60), ("prefill", 60), ("decode", 60)], 32),
        (CLIENT_ONLY, vec![], 0),
    ] {
        let events = chrome(input);
        let report = report(&root().join(input), &[]);
        let requests = report["runs"][0]["requests"]["total"].as_u64().unwrap();
        let phases = if phases.is_empty() {
            vec![("request", requests), ("ttft", requests), ("decode", requests)]
        } else {
            phases
        };
        let mut expected = counts(&phases);
        let mut stalls = stalls_of(&report);
        let arrows = named(&events, "f").values().sum();
        stalls.extend((arrows > 0).then(|| ("behind_prefill".to_string(), arrows)));
        assert!(!stalls.is_empty());
        expected.extend(stalls);
        assert_eq!(named(&events, "X"), expected, "{input}");
        let series = ["kv_cache_usage", "preemptions_total", "running", "waiting"];
        let expected = if counters == 0 { Counts::new() } else { counts(&series.map(|s| (s, counters))) };
        assert_eq!(named(&events, "C"), expected, "{input}");
    }
}

#[test]
fn arrows_lead_from_a_prefill_to_a_pause_of_another_request() {
    let events = chrome(WITH_SERVER);
    let inside = |event: &Value, slice: &Value| {
        let at = |key: &str| slice[key].as_f64().unwrap();
        let ts = event["ts"].as_f64().unwrap();
        slice["ph"] == "X" && slice["tid"] == event["tid"] && at("ts") <= ts && ts <= at("ts") + at("dur")
    };
    let starts: Vec<&Value> = events.iter().filter(|e| e["ph"] == "s").collect();
    assert!(starts.len() > 20, "{} arrows", starts.len());
    for start in starts {
        let ends: Vec<&Value> = events.iter().filter(|e| e["ph"] == "f" && e["id"] == start["id"]).collect();
        let [end] = ends[..] else { panic!("{} ends of {start}", ends.len()) };
        assert!(start["ts"].as_f64() < end["ts"].as_f64() && start["tid"] != end["tid"], "{start} {end}");
        let from = |name: &str| events.iter().any(|e| e["name"] == name && inside(start, e));
        assert!(from("prefill") || from("preempted") || from("looks_like_preemption"), "{start}");
        let by = start["tid"].as_u64().unwrap() - 1;
        let held = |e: &Value| e["args"]["held_up_by_request"] == by && inside(end, e);
        assert!(events.iter().any(|e| e["name"] == "prefill_interference" && held(e)), "{end}");
    }
}

#[test]
fn clocks_that_are_not_aligned_never_share_an_axis() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(root().join(CLIENT_ONLY), dir.path().join("result.json")).unwrap();
    let log = fixture("vllm_server_log/waiting_and_restart/input/server.log");
    std::fs::copy(log, dir.path().join("server.log")).unwrap();
    let path = dir.path().join("trace.json");
    let ran = run(["export", dir.path().to_str().unwrap(), "--to", "chrome-trace", "-o", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let trace: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(named(events, "C"), Counts::new());
    assert!(named(events, "X").contains_key("ttft"));
    assert!(ran.stderr.contains("the server's times are left out: its clock is not aligned"), "{}", ran.stderr);
}

#[test]
fn a_run_without_a_client_is_drawn_on_the_servers_clock() {
    let events = chrome("fixtures/otlp_spans/nested_and_retried/input");
    let found = named(&events, "X");
    assert!(found.contains_key("queue") && found.contains_key("prefill") && !found.contains_key("ttft"), "{found:?}");
}

#[test]
fn what_has_no_point_in_time_is_refused_and_named_among_many() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("none");
    let ran = run(["export", "fixtures/lmdeploy/serving/input", "--to", "perfetto", "-o", folder.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no point in time of a request is recorded"), "{}", ran.stderr);
    assert!(!folder.exists());
    let (_dir, path) = exported("fixtures/cases/b09_requested_length/input", "chrome-trace");
    let files = std::fs::read_dir(path).unwrap().count();
    assert!(files > 0);
}

/// Cells of a line of CSV without line breaks in its cells.
pub fn cells(line: &str) -> Vec<String> {
    let (mut out, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(String::new()),
            c => out.last_mut().unwrap().push(c),
        }
    }
    out
}

#[test]
fn flat_tables_have_a_row_a_request_and_the_reports_figures() {
    let ran = run(["export", WITH_SERVER, "--to", "csv"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<Vec<String>> = ran.stdout.lines().map(cells).collect();
    let (header, rows) = lines.split_first().unwrap();
    assert_eq!(rows.len(), 60);
    assert!(rows.iter().all(|r| r.len() == header.len()));
    let report = report(&root().join(WITH_SERVER), &[]);
    for metric in ["ttft_ms", "tpot_ms", "e2e_ms", "queue_ms", "prefill_ms", "decode_ms", "server_ttft_ms"] {
        let at = header.iter().position(|h| h == metric).unwrap();
        let values: Vec<f64> = rows.iter().filter_map(|r| r[at].parse().ok()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let expected = report["runs"][0]["metrics"][metric]["mean"].as_f64().unwrap();
        assert!((mean - expected).abs() < 1e-6 * expected, "{metric}: {mean}, reported {expected}");
    }
    let (_dir, path) = exported(WITH_SERVER, "parquet");
    let bytes = std::fs::read(path).unwrap();
    assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (b"PAR1".as_slice(), b"PAR1".as_slice()));
}

#[test]
fn recorded_text_is_no_formula_and_no_markup_of_another_format() {
    let evil = r#"{"duration":2,"completed":1,"failed":1,"input_lens":[5,6],"output_lens":[2,0],"ttfts":[0.1,0],"itls":[[0.1],[]],"errors":["","=cmd|' /C calc'!A0"],"start_times":[10.0,10.5],"generated_texts":["a",""],"backend":"vllm","burstiness":1.0}"#;
    let (dir, file) = temp_file("evil.json", evil.as_bytes());
    let file = file.to_str().unwrap();
    let csv = run(["export", file, "--input-format", "vllm_bench", "--to", "csv"]);
    assert_eq!(csv.code, 0, "{}", csv.stderr);
    assert!(csv.stdout.contains(",'=cmd|") && !csv.stdout.contains(",=cmd|"), "{}", csv.stdout);
    let out = dir.path().join("t.json");
    let ran =
        run(["export", file, "--input-format", "vllm_bench", "--to", "chrome-trace", "-o", out.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let trace: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().iter().any(|e| e["name"] == "request (error)"));
}

#[test]
fn several_runs_go_into_a_folder() {
    let input = "fixtures/guidellm/two_benchmarks/input";
    let ran = run(["export", input, "--to", "csv"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("name a folder with -o"), "{}", ran.stderr);
    let (_dir, path) = exported(input, "csv");
    let mut names: Vec<String> =
        std::fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["two_benchmarks-c4.csv", "two_benchmarks-r4.csv"]);
}

#[test]
fn benchmark_reports_have_the_shape_of_the_schema() {
    let ran = run(["export", WITH_SERVER, "--to", "benchmark-report"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (exported, report) = (ran.json(), report(&root().join(WITH_SERVER), &[]));
    let report = &report["runs"][0];
    assert_eq!(exported["version"], "0.2");
    assert_eq!(exported["run"]["uid"].as_str().unwrap().len(), 64);
    let aggregate = &exported["results"]["request_performance"]["aggregate"];
    assert_eq!((&aggregate["requests"]["total"], &aggregate["requests"]["failures"]), (&60.into(), &0.into()));
    for (key, metric, units) in [
        ("time_to_first_token", "ttft_ms", "ms"),
        ("time_per_output_token", "tpot_ms", "ms/token"),
        ("inter_token_latency", "itl_per_token_ms", "ms/token"),
        ("normalized_time_per_output_token", "e2e_per_output_token_ms", "ms/token"),
        ("request_latency", "e2e_ms", "ms"),
    ] {
        let (found, expected) = (&aggregate["latency"][key], &report["metrics"][metric]);
        assert_eq!(found["units"], units, "{key}");
        let mean = expected["mean"].as_f64().unwrap();
        assert!((found["mean"].as_f64().unwrap() - mean).abs() < 1e-9 * mean, "{key}");
        let ranks = ["min", "p0p1", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99p9", "max"];
        let values: Vec<f64> =
            ranks.iter().map(|r| found[r].as_f64().unwrap_or_else(|| panic!("{key}: {r}"))).collect();
        assert!(values.windows(2).all(|w| w[0] <= w[1]), "{key}: {values:?}");
    }
    let component = &exported["results"]["observability"]["components"][0];
    assert_eq!(component["component_label"], exported["scenario"]["stack"][0]["metadata"]["label"]);
    assert_eq!(component["aggregate"]["preemptions"]["mean"], 31.0);
    assert_eq!(exported["scenario"]["load"]["standardized"]["input_seq_len"]["distribution"], "other");
}

#[test]
fn exports_are_the_same_every_time_and_leave_nothing_half_written() {
    for target in ["perfetto", "chrome-trace", "parquet", "csv", "benchmark-report"] {
        let (dir, path) = exported(WITH_SERVER, target);
        let (_again, second) = exported(WITH_SERVER, target);
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&second).unwrap(), "{target}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "{target}");
        assert_eq!(run(["explain", target]).code, 0, "{target}");
    }
    let ran = run(["export", WITH_SERVER, "--to", "csv", "-o", "no/such/folder/r.csv"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// What a script of `tests/export` prints.
pub fn judged(python: &Path, script: &str, args: &[&str]) -> String {
    let output = Command::new(python).arg(root().join("tests/export").join(script)).args(args).output().unwrap();
    assert!(output.status.success(), "{script} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Recordings to check beside the fixtures, where they are.
pub fn inputs() -> Vec<String> {
    let mut out = vec![WITH_SERVER.to_string(), CLIENT_ONLY.to_string()];
    let beside = shared().map(|dir| dir.join("recordings/vllm-server-cpu"));
    for entry in beside.iter().flat_map(|dir| std::fs::read_dir(dir).unwrap()) {
        let path = entry.unwrap().path();
        out.extend(path.is_dir().then(|| path.to_string_lossy().into_owned()));
    }
    out
}

#[test]
fn the_published_package_accepts_the_benchmark_reports() {
    let Some(python) = python("llmd-benchmark-report", "llmd-benchmark-report") else { return };
    let mut inputs = inputs();
    inputs.extend(
        ["fixtures/lmdeploy/serving/input", "fixtures/aiperf_records/warmup_and_failures/input"].map(String::from),
    );
    for input in inputs {
        let (_dir, path) = exported(&input, "benchmark-report");
        let files: Vec<PathBuf> = match path.is_dir() {
            true => std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()).collect(),
            false => vec![path],
        };
        let args: Vec<&str> = files.iter().map(|f| f.to_str().unwrap()).collect();
        let said = judged(&python, "check_benchmark_report.py", &args);
        assert_eq!(said.matches("BenchmarkReportV02 0.2 ").count(), files.len(), "{input}: {said}");
    }
}
