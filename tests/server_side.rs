//! The server's files beside the client's: joined, aligned, counted, never wrongly.

use crate::made_up::{ZERO_S, client, every, scrapes};
use crate::support::{Ran, fixture, report, run, shared};
use serde_json::Value;
use std::path::Path;

/// Unix time of the client's clock zero in the recordings that one machine made, in milliseconds, as its spans bound it.
const TRUE_OFFSET_MS: f64 = 1_796_015_124_317.5;

fn json(inputs: &[&Path], extra: &[&str]) -> Value {
    let ran = ran(inputs, extra);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()
}

fn ran(inputs: &[&Path], extra: &[&str]) -> Ran {
    let inputs = inputs.iter().map(|p| p.to_str().unwrap());
    run(["report", "--format", "json"].into_iter().chain(inputs).chain(extra.iter().copied()))
}

fn codes(run: &Value) -> Vec<&str> {
    run["data_quality"].as_array().unwrap().iter().map(|q| q["code"].as_str().unwrap()).collect()
}

fn kv_tight(name: &str) -> std::path::PathBuf {
    fixture(&format!("server_side/kv_tight/input/{name}"))
}

#[test]
fn clocks_agree_whatever_recording_they_come_from() {
    let result = kv_tight("result.json");
    for files in [vec!["spans.otlp.jsonl"], vec!["metrics.prom"], vec!["metrics.prom", "server.log"]] {
        let paths: Vec<_> = files.iter().map(|f| kv_tight(f)).collect();
        let inputs: Vec<&Path> = [result.as_path()].into_iter().chain(paths.iter().map(|p| p.as_path())).collect();
        let report = json(&inputs, &[]);
        assert_eq!(report["runs"].as_array().unwrap().len(), 1, "{files:?}");
        let clock = &report["runs"][0]["clock"];
        let error = clock["offset_ms"].as_f64().unwrap() - TRUE_OFFSET_MS;
        assert!(error.abs() < 50.0, "{files:?}: {error} ms off: {clock}");
        assert!(error.abs() <= clock["uncertainty_ms"].as_f64().unwrap() + 2.0, "{files:?}: {error}: {clock}");
        let sources = report["runs"][0]["sources"].as_array().unwrap();
        assert!(sources[1..].iter().all(|s| s["aligned"] == true), "{sources:?}");
    }
}

#[test]
fn a_log_alone_is_aligned_to_about_a_second() {
    let report = json(&[&kv_tight("result.json"), &kv_tight("server.log")], &[]);
    let run = &report["runs"][0];
    assert_eq!(run["sources"][1]["aligned"], true);
    let uncertainty = run["clock"]["uncertainty_ms"].as_f64().unwrap();
    assert!((400.0..2000.0).contains(&uncertainty), "{uncertainty}");
    // The log says nothing of preemption, and a wide clock proves nothing.
    assert_eq!(run["preemption"]["total"], Value::Null);
    assert_eq!(run["server"]["kv_cache_capacity_tokens"], "3840");
}

#[test]
fn a_user_knows_better() {
    let report = json(&[&kv_tight("result.json"), &kv_tight("metrics.prom")], &["--clock-offset", "1796015124.3175"]);
    let clock = &report["runs"][0]["clock"];
    assert_eq!(clock["offset_ms"].as_f64(), Some(TRUE_OFFSET_MS));
    assert_eq!(clock["how"], "given by the user");
}

#[test]
fn two_runs_against_one_server_get_their_own_part() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (every(40, 0.25, 100.0), every(40, 0.3, 160.0));
    let all: Vec<f64> = a.iter().chain(&b).copied().collect();
    let prompts = vec![10; 40];
    std::fs::write(dir.path().join("a.json"), client(&a, &prompts, 0.05)).unwrap();
    std::fs::write(dir.path().join("b.json"), client(&b, &prompts, 0.05)).unwrap();
    // Three preemptions in the first run, five in the second.
    let preempted = |at: f64| {
        if at < 103.0 {
            0.0
        } else if at < 164.0 {
            3.0
        } else {
            8.0
        }
    };
    let text = scrapes(90.25, 190.0, &all, 0.05, preempted);
    std::fs::write(dir.path().join("metrics.prom"), text).unwrap();
    let report = json(&[dir.path()], &[]);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for (run, total) in runs.iter().zip([3.0, 5.0]) {
        assert_eq!(run["preemption"]["total"].as_f64(), Some(total), "{}: {}", run["label"], run["clock"]);
        let offset = run["clock"]["offset_ms"].as_f64().unwrap();
        assert!((offset - ZERO_S * 1e3).abs() < 50.0, "{offset}");
    }
}

#[test]
fn a_restart_of_the_server_takes_nothing_away() {
    let dir = tempfile::tempdir().unwrap();
    let sent = every(40, 0.25, 100.0);
    let result = dir.path().join("result.json");
    std::fs::write(&result, client(&sent, &[10; 40], 0.05)).unwrap();
    let text = scrapes(95.25, 120.0, &sent, 0.05, |at| if at < 104.0 { 9.0 } else { 2.0 });
    let metrics = dir.path().join("metrics.prom");
    std::fs::write(&metrics, text).unwrap();
    let report = json(&[&result, &metrics], &[]);
    let run = &report["runs"][0];
    assert_eq!(run["preemption"]["total"], 2.0);
    assert!(codes(run).contains(&"counter_reset"), "{:?}", codes(run));
}

#[test]
fn another_runs_metrics_are_not_joined() {
    let dir = tempfile::tempdir().unwrap();
    let result = dir.path().join("result.json");
    std::fs::write(&result, client(&every(40, 0.25, 100.0), &[10; 40], 0.05)).unwrap();
    // A server that did nothing while the client ran, whenever that was.
    let metrics = dir.path().join("metrics.prom");
    std::fs::write(&metrics, scrapes(90.25, 160.0, &[], 0.05, |_| 4.0)).unwrap();
    let report = json(&[&result, &metrics], &[]);
    let run = &report["runs"][0];
    assert_eq!(run["clock"]["uncertainty_ms"], Value::Null);
    assert_eq!(run["clock"]["offset_ms"], Value::Null);
    assert_eq!(run["sources"][1]["aligned"], false);
    assert!(codes(run).contains(&"clock_not_aligned"));
}

#[test]
fn the_servers_side_alone_is_a_run() {
    let report = json(&[&kv_tight("spans.otlp.jsonl"), &kv_tight("metrics.prom")], &[]);
    let run = &report["runs"][0];
    assert_eq!(report["runs"].as_array().unwrap().len(), 1);
    assert_eq!((&run["preemption"]["total"], &run["requests"]["total"]), (&Value::from(31.0), &Value::from(61)));
    assert_eq!(run["metrics"]["queue_ms"]["count"], 61);
    assert_eq!(run["metrics"]["ttft_ms"], Value::Null);
    let table = run_table(&[&kv_tight("spans.otlp.jsonl")]);
    assert!(table.contains("no file of a benchmark client"), "{table}");
}

fn run_table(inputs: &[&Path]) -> String {
    let ran = run(["report"].into_iter().chain(inputs.iter().map(|p| p.to_str().unwrap())));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

/// Reads `../shared`.
#[test]
fn real_servers_and_their_counters() {
    let Some(shared) = shared() else { return };
    let expected =
        [("kv-preempt", 41.0), ("kv-tight", 31.0), ("kv-room", 0.0), ("queue-bound", 0.0), ("healthy-c", 0.0)];
    for (name, preemptions) in expected {
        let report = report(&shared.join("recordings/vllm-server-cpu").join(name), &[]);
        let run = &report["runs"][0];
        assert_eq!(run["preemption"]["total"].as_f64(), Some(preemptions), "{name}");
        let error = run["clock"]["offset_ms"].as_f64().unwrap() - TRUE_OFFSET_MS;
        assert!(error.abs() < 50.0, "{name}: {error} ms");
        assert!(run["sources"].as_array().unwrap()[1..].iter().all(|s| s["aligned"] == true), "{name}");
    }
    // Against the simulated server's own record: arrivals of its ground truth less the client's send times.
    for name in ["run_a", "run_b", "run_d_preemption_storm", "small"] {
        let dir = shared.join("recordings/vllm-bench-serve").join(name);
        let run = report(&dir, &[])["runs"][0].clone();
        let truth = std::fs::read_to_string(dir.join("ground_truth.jsonl")).unwrap();
        let rows: Vec<Value> = truth.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let preempted: usize = rows.iter().map(|r| r["preempted_at"].as_array().unwrap().len()).sum();
        assert_eq!(run["preemption"]["total"].as_f64(), Some(preempted as f64), "{name}");
        let offset = run["clock"]["offset_ms"].as_f64().unwrap_or_else(|| panic!("{name}: {}", run["clock"]));
        let error = offset - TRUE_OFFSET_MS;
        assert!(error.abs() < 50.0, "{name}: {error} ms");
    }
}
