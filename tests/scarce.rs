//! What reports, charts and exports say where little was recorded or nothing was answered: the true reason, once.

use crate::support::{report, run, run_with_stdin};
use serde_json::{Value, json};
use std::path::Path;

fn write(dir: &Path, name: &str, result: &Value) {
    std::fs::write(dir.join(name), result.to_string()).unwrap();
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_string()
}

/// Twenty requests with prompt lengths and send times, none of which was answered.
fn failed(start_times: Vec<f64>) -> Value {
    let all = |value: Value| Value::from(vec![value; 20]);
    json!({
        "burstiness": 1.0, "backend": "openai", "endpoint_type": "openai", "request_rate": 5.0, "duration": 10.0,
        "completed": 0, "failed": 20, "input_lens": all(json!(100)), "output_lens": all(json!(0)), "ttfts": all(json!(0.0)),
        "itls": all(json!([])), "start_times": start_times, "errors": all(json!("HTTP 500")),
    })
}

/// What `vllm bench serve` stores without `--save-detailed`.
fn summary(limit: u32) -> Value {
    let (load, slow) = (f64::from(limit), f64::from(limit).sqrt());
    json!({
        "date": "20260816-160853", "backend": "vllm", "endpoint_type": "vllm", "model_id": "m", "tokenizer_id": "m",
        "num_prompts": 80, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": limit, "duration": 40.0 / slow,
        "completed": 80, "failed": 0, "total_input_tokens": 8000, "total_output_tokens": 1600,
        "request_throughput": 2.0 * slow, "output_throughput": 40.0 * slow, "total_token_throughput": 240.0 * slow,
        "mean_ttft_ms": 50.0 * load, "median_ttft_ms": 40.0 * load, "std_ttft_ms": 5.0, "p99_ttft_ms": 100.0 * load,
        "mean_tpot_ms": 10.0, "median_tpot_ms": 10.0, "std_tpot_ms": 1.0, "p99_tpot_ms": 12.0,
        "mean_itl_ms": 10.0, "median_itl_ms": 10.0, "std_itl_ms": 1.0, "p99_itl_ms": 12.0,
    })
}

#[test]
fn of_a_run_without_answers_nothing_is_said_to_be_unrecorded_that_is() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "failed.json", &failed((0..20).map(|i| f64::from(i) * 0.5).collect()));
    let (file, charts) = (text(&dir.path().join("failed.json")), dir.path().join("charts"));
    let ran = run(["report", &file, "--slo", "ttft=200ms", "--charts", &text(&charts)]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("No request was answered: there is no latency to read."), "{}", ran.stdout);
    for untrue in ["of the 0 %", "P99 is one of them", "--save-detailed", "send times not recorded"] {
        assert!(!ran.stdout.contains(untrue), "{untrue}: {}", ran.stdout);
    }
    for untrue in ["prompt lengths", "send times are", "times of single"] {
        assert!(!ran.stderr.contains(untrue), "{untrue}: {}", ran.stderr);
    }
    assert!(charts.join("load_over_time.svg").is_file(), "{}", ran.stderr);
    let missing = report(&dir.path().join("failed.json"), &[])["runs"][0]["unavailable"].to_string();
    assert!(missing.contains("no request was answered in full"), "{missing}");
}

#[test]
fn a_run_that_was_sent_at_once_has_no_tenths() {
    let dir = tempfile::tempdir().unwrap();
    for (at_once, said) in [(false, true), (true, false)] {
        let starts = (0..20).map(|i| if at_once { 0.0 } else { f64::from(i / 15) * 10.0 }).collect();
        write(dir.path(), "failed.json", &failed(starts));
        let ran = run(["report", &text(&dir.path().join("failed.json"))]);
        assert_eq!(ran.stdout.contains("within one tenth"), said, "{}", ran.stdout);
    }
}

#[test]
fn summaries_of_rising_load_make_a_curve_and_have_a_best() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("runs");
    std::fs::create_dir(&input).unwrap();
    [1, 4, 16].iter().for_each(|limit| write(&input, &format!("c{limit}.json"), &summary(*limit)));
    let charts = dir.path().join("charts");
    let ran = run(["report", &text(&input), "--charts", &text(&charts)]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let curve = std::fs::read_to_string(charts.join("throughput_latency.svg")).unwrap();
    assert!(curve.contains("TTFT P99†") && curve.contains("No knee is looked for"), "{curve}");
    assert!(ran.stdout.contains("▸100.0†") && ran.stdout.contains("best of the runs"), "{}", ran.stdout);
    // Each reason once, whatever the number of runs.
    let reasons: Vec<&str> = ran.stderr.lines().filter(|l| l.starts_with("not drawn")).collect();
    assert!(!reasons.is_empty());
    for line in reasons {
        let charts: Vec<&str> = line.split(": ").nth(1).unwrap().split(", ").collect();
        let once: std::collections::BTreeSet<&str> = charts.iter().copied().collect();
        assert_eq!(once.len(), charts.len(), "{line}");
    }
}

#[test]
fn runs_of_different_tools_have_no_best() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = summary(4);
    other["model_id"] = "n".into();
    write(dir.path(), "a.json", &summary(1));
    write(dir.path(), "b.json", &other);
    let ran = run(["report", &text(dir.path())]);
    assert!(!ran.stdout.contains('▸') && ran.stdout.contains("of different models"), "{}", ran.stdout);
}

#[test]
fn an_export_without_requests_says_so() {
    let summary = summary(1).to_string();
    let ran = run_with_stdin(["export", "-", "--to", "csv"], summary.as_bytes());
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1));
    assert!(ran.stderr.contains("no request is recorded"), "{}", ran.stderr);
}

#[test]
fn several_runs_make_no_folder_named_like_a_file() {
    let dir = tempfile::tempdir().unwrap();
    [1, 4].iter().for_each(|limit| write(dir.path(), &format!("c{limit}.json"), &summary(*limit)));
    let target = dir.path().join("sweep.csv");
    let ran = run(["export", &text(dir.path()), "--to", "csv", "-o", &text(&target)]);
    assert!(ran.code == 2 && ran.stderr.contains("name a folder") && !target.exists(), "{}", ran.stderr);
}
