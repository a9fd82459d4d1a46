//! Faults once found by trying to break the tool, each with its smallest input.

use crate::support::{report, run, run_with_stdin, temp_file};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Four good requests sent one second apart, as `vllm bench serve` stores them.
fn four() -> Value {
    json!({
        "burstiness": 1.0, "backend": "openai", "endpoint_type": "openai", "request_rate": "inf", "duration": 10.0,
        "completed": 4, "failed": 0, "input_lens": [10, 10, 10, 10], "output_lens": [5, 5, 5, 5],
        "ttfts": [0.1, 0.1, 0.1, 0.1], "itls": [[0.02, 0.02, 0.02, 0.02], [0.02, 0.02, 0.02, 0.02],
        [0.02, 0.02, 0.02, 0.02], [0.02, 0.02, 0.02, 0.02]], "start_times": [100, 101, 102, 103],
        "errors": ["", "", "", ""]
    })
}

/// `four` with some members replaced.
fn with(changes: Value) -> Value {
    let mut run = four();
    for (key, value) in changes.as_object().unwrap() {
        run[key] = value.clone();
    }
    run
}

fn file(value: &Value) -> (tempfile::TempDir, PathBuf) {
    temp_file("run.json", value.to_string().as_bytes())
}

fn codes(run: &Value) -> Vec<&str> {
    run["data_quality"].as_array().unwrap().iter().map(|i| i["code"].as_str().unwrap()).collect()
}

#[test]
fn a_window_counts_only_its_own_requests() {
    let (_d, path) = file(&with(json!({ "start_times": [0, 10, 20, 30], "duration": 40.0 })));
    let report = report(&path, &["--window", "0s..15s", "--slo", "ttft=1s", "--buckets", "0,1k"]);
    let run = &report["runs"][0];
    assert_eq!(run["requests"]["total"], 2);
    assert_eq!(run["goodput"]["share"], 1.0);
    assert_eq!(run["buckets"][0]["requests"], 2);
    assert_eq!(run["metrics"]["ttft_ms"]["count"], 2);
}

#[test]
fn failures_belong_to_the_window_they_were_sent_in() {
    let failed = json!({ "errors": ["", "x", "", "x"], "ttfts": [0.1, 0, 0.1, 0], "output_lens": [5, 0, 5, 0],
        "itls": [[0.02], [], [0.02], []], "completed": 2, "failed": 2 });
    let (_d, path) = file(&with(failed));
    let report = report(&path, &["--window", "0s..10s"]);
    assert_eq!(report["runs"][0]["failure_rate"], 0.5);
}

#[test]
fn a_window_outside_the_run_is_an_error() {
    let (_d, path) = file(&four());
    for window in ["100s..200s", "5s.."] {
        let ran = run(["report", path.to_str().unwrap(), "--window", window]);
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains("outside the run"), "{}", ran.stderr);
    }
}

#[test]
fn nulls_are_counted_and_kept_out_of_means() {
    let (_d, path) = file(&with(json!({ "output_lens": [null, 5, 5, 5], "input_lens": [10, null, 10, 10] })));
    let report = report(&path, &[]);
    let run = &report["runs"][0];
    assert!(codes(run).contains(&"wrong_type"));
    assert_eq!(run["tokens_per_chunk"], 1.0);
    assert_eq!(run["metrics"]["itl_per_token_ms"]["count"], 12);
    assert_eq!(run["metrics"]["itl_ms"]["count"], 16);
}

#[test]
fn answers_without_a_token_are_in_no_latency() {
    let empty = json!({ "output_lens": [5, 5, 5, 0], "ttfts": [0.1, 0.1, 0.1, 0], "latencies": [0.18, 0.18, 0.18, 9.0],
        "itls": [[0.02, 0.02, 0.02, 0.02], [0.02, 0.02, 0.02, 0.02], [0.02, 0.02, 0.02, 0.02], []] });
    let (_d, path) = file(&with(empty));
    let run = &report(&path, &[])["runs"][0];
    assert_eq!(run["metrics"]["e2e_ms"]["count"], 3);
    assert_eq!(run["requests"]["ok"], 4);
    assert!(codes(run).contains(&"no_output"));
}

#[test]
fn answers_in_one_piece_say_nothing_of_chunks() {
    let gaps: Vec<f64> = vec![0.1; 41];
    let mixed = json!({ "output_lens": [42, 42, 42, 42], "ttfts": [2.7, 1.6, 1.6, 1.6], "itls": [[], gaps, gaps, gaps],
        "latencies": [2.7, 5.7, 5.7, 5.7] });
    let (_d, path) = file(&with(mixed));
    let run = &report(&path, &[])["runs"][0];
    assert_eq!(run["tokens_per_chunk"], 1.0);
    assert!(!codes(run).contains(&"multi_token_chunks"));
}

#[test]
fn a_record_of_another_format_is_left_out_by_name() {
    let mut other = four();
    other["random_range_ratio"] = json!(0.5);
    let text = format!("{}\n{other}\n", four());
    let (_d, path) = temp_file("mixed.jsonl", text.as_bytes());
    let report = report(&path, &[]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 1);
    let quality = report["runs"][0]["data_quality"].to_string();
    assert!(quality.contains("not_a_run") && quality.contains("sglang_bench"), "{quality}");
}

#[test]
fn runs_that_differ_in_anything_are_two_runs() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, value: &Value| std::fs::write(dir.path().join(name), value.to_string()).unwrap();
    write("a.json", &with(json!({ "model_id": "A" })));
    write("b.json", &with(json!({ "model_id": "B" })));
    write("c.json", &with(json!({ "model_id": "A", "ttfts": [0.2, 0.1, 0.1, 0.1] })));
    write("copy.json", &with(json!({ "model_id": "B" })));
    let report = report(dir.path(), &[]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 3);
}

#[test]
fn an_array_that_stands_twice_costs_its_own_record_only() {
    let torn = four().to_string().replace("\"errors\"", "\"itls\":[[0.1]],\"errors\"");
    let text = format!("{}\n{torn}\n{}\n", four(), with(json!({ "duration": 11.0 })));
    let (_d, path) = temp_file("twice.jsonl", text.as_bytes());
    let report = report(&path, &[]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    assert_eq!(report["runs"][0]["sources"][0]["skipped"], 1);
}

#[test]
fn what_lies_behind_damage_in_indented_json_is_said_to_be_unread() {
    let good = serde_json::to_string_pretty(&four()).unwrap();
    let text = format!("{good}\n{}\n{good}\n", good.replace("\"completed\": 4", "\"completed\": oops"));
    let (_d, path) = temp_file("three.json", text.as_bytes());
    let report = report(&path, &[]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 1);
    assert!(codes(&report["runs"][0]).contains(&"unread_rest"), "{:?}", codes(&report["runs"][0]));
}

#[test]
fn one_bad_file_does_not_cost_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("good.json"), four().to_string()).unwrap();
    std::fs::write(dir.path().join("broken.gz"), b"\x1f\x8bgarbage").unwrap();
    std::fs::write(dir.path().join("broken.zst"), b"\x28\xb5\x2f\xfd\0\0").unwrap();
    std::fs::create_dir(dir.path().join("web")).unwrap();
    std::fs::write(dir.path().join("web/manifest.json"), "{}").unwrap();
    std::fs::write(dir.path().join("web/other.json"), with(json!({ "duration": 12.0 })).to_string()).unwrap();
    let ran = run(["report", dir.path().to_str().unwrap(), "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["runs"].as_array().unwrap().len(), 2);
    assert!(ran.stderr.contains("broken.gz") && ran.stderr.contains("broken.zst"), "{}", ran.stderr);
}

#[test]
fn folders_of_a_sweep_come_in_the_order_of_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    for rate in ["10", "5.5", "5"] {
        let folder = dir.path().join(format!("r{rate}"));
        std::fs::create_dir(&folder).unwrap();
        let rate: f64 = rate.parse().unwrap();
        std::fs::write(folder.join("result.json"), with(json!({ "request_rate": rate })).to_string()).unwrap();
    }
    let runs = report(dir.path(), &[])["runs"].take();
    let labels: Vec<&str> = runs.as_array().unwrap().iter().map(|r| r["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["r5", "r5.5", "r10"]);
}

#[test]
fn a_page_without_a_chart_says_where_the_reasons_stand() {
    let page = run(["report", "fixtures/lmdeploy/serving/input", "--format", "html"]).stdout;
    let (_, charts) = page.split_once("None can be drawn").expect("no words instead of charts");
    let link = charts.split("href=\"#").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(page.contains(&format!("id=\"{link}\"")), "the link leads nowhere: {link}");
}

#[test]
fn formats_are_recognised_behind_large_arrays() {
    let many = |v: &str| format!("[{}]", vec![v; 30_000].join(","));
    let text = format!(
        "{{\"errors\":{},\"ttfts\":{},\"input_lens\":{},\"output_lens\":{},\"burstiness\":1.0,\"backend\":\"vllm\",\"duration\":9.0,\"completed\":30000}}",
        many("\"\""),
        many("0.1"),
        many("7"),
        many("1")
    );
    let (_d, path) = temp_file("late.json", text.as_bytes());
    assert_eq!(report(&path, &[])["runs"][0]["requests"]["ok"], 30_000);
}

#[test]
fn foreign_folders_are_never_replaced() {
    let (dir, path) = file(&four());
    let web = dir.path().join("web");
    std::fs::create_dir(&web).unwrap();
    std::fs::write(web.join("manifest.json"), "{\"name\":\"my web app\"}").unwrap();
    let hive = dir.path().join("hive");
    std::fs::create_dir_all(hive.join("run=1")).unwrap();
    std::fs::write(hive.join("run=1/requests.parquet"), "x").unwrap();
    std::fs::write(hive.join("thesis.txt"), "precious").unwrap();
    for target in [&web, &hive] {
        let ran = run(["ingest", path.to_str().unwrap(), "-o", target.to_str().unwrap(), "--force"]);
        assert_eq!(ran.code, 2, "{}", ran.stdout);
    }
    assert!(web.join("manifest.json").exists() && hive.join("thesis.txt").exists());
}

#[test]
fn rejected_records_leave_no_folder_behind() {
    let text = format!("{}\n{{\"burstiness\":1,\"ttfts\":[0.1\n{}\n", four(), with(json!({ "duration": 11.0 })));
    let (dir, path) = temp_file("torn.jsonl", text.as_bytes());
    let target = dir.path().join("out");
    let ran = run(["ingest", path.to_str().unwrap(), "-o", target.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for entry in std::fs::read_dir(&target).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(name.starts_with("run="), "{name}");
    }
}

#[test]
fn absurd_times_overflow_nothing() {
    let (_a, far) = file(&with(json!({ "start_times": [-9e9, 9e9, 0, 1] })));
    let long: Vec<f64> = vec![999_999.0; 3000];
    let (_b, sum) = file(&with(json!({ "itls": [long, [0.02], [0.02], [0.02]] })));
    for path in [far, sum] {
        let ran = run(["report", path.to_str().unwrap(), "--format", "json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(codes(&ran.json()["runs"][0]).contains(&"implausible_time"));
    }
}

#[test]
fn recorded_text_cannot_steer_the_terminal() {
    let evil = "\u{1b}[31mEVIL\u{1b}]0;pwn\u{7}\u{9b}2J";
    let (_d, path) =
        file(&with(json!({ "model_id": evil, "backend": evil, "errors": [evil, "", "", ""], "label": evil })));
    for args in
        [vec!["report"], vec!["inspect"], vec!["report", "--format", "markdown"], vec!["report", "--format", "csv"]]
    {
        let ran = run(args.iter().copied().chain([path.to_str().unwrap()]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{args:?}");
    }
    let ran = run(["report", "no\u{1b}[31msuch.json"]);
    assert!(ran.code == 2 && !ran.stderr.contains('\u{1b}'));
}

#[test]
fn an_objective_that_was_never_measured_is_not_missed() {
    let (_d, path) = file(&four());
    let report = report(&path, &["--slo", "queue=1s"]);
    let run = &report["runs"][0];
    assert_eq!(run["goodput"]["good"], Value::Null);
    assert!(run["unavailable"].to_string().contains("goodput_requests_per_s"));
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let ran = run_with_stdin(["report", "-", "--format", "json"], format!("\u{feff}{}", four()).as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_growing_queue_is_no_steady_state() {
    let n = 60;
    let starts: Vec<f64> = (0..n).map(|i| f64::from(i) * 0.25).collect();
    let ttfts: Vec<f64> = (0..n).map(|i| 0.1 + f64::from(i)).collect();
    let run = with(json!({ "start_times": starts, "ttfts": ttfts, "itls": vec![vec![0.02; 4]; n as usize],
        "input_lens": vec![10; n as usize], "output_lens": vec![5; n as usize], "errors": vec![""; n as usize],
        "completed": n, "duration": 75.0 }));
    let (_d, path) = file(&run);
    let why = report(&path, &[])["runs"][0]["steady_unavailable"].to_string();
    assert!(why.contains("kept rising"), "{why}");
}

#[test]
fn a_rate_over_unknown_counts_is_withheld() {
    let (_d, path) = file(&with(json!({ "input_lens": [8.5, 10, 10, 10] })));
    let run = &report(&path, &[])["runs"][0];
    assert_eq!(run["throughput"]["prompt_tokens_per_s"], Value::Null);
    assert_eq!(run["throughput"]["total_tokens_per_s"], Value::Null);
    assert_eq!(run["throughput"]["output_tokens_per_s"], 2.0);
}

#[test]
fn strict_holds_for_folders_too() {
    let dir = tempfile::tempdir().unwrap();
    let text = four().to_string();
    std::fs::write(dir.path().join("ok.json"), &text).unwrap();
    std::fs::write(dir.path().join("notes.txt"), "hello").unwrap();
    let args = ["report", dir.path().to_str().unwrap(), "--strict", "--format", "json"];
    assert_eq!(run(args).code, 0);
    std::fs::write(dir.path().join("cut.json"), &text[..text.len() / 2]).unwrap();
    assert_eq!(run(args).code, 2);
}

#[test]
fn an_impossible_duration_is_counted() {
    for (duration, code) in [(json!(-5), "negative_duration"), (json!(1e300), "implausible_time")] {
        let (_d, path) = file(&with(json!({ "duration": duration })));
        let run = &report(&path, &[])["runs"][0];
        assert!(codes(run).contains(&code), "{code}: {:?}", codes(run));
        assert_eq!(run["throughput"]["duration_from"], "first_send_to_last_token");
    }
}

#[test]
fn many_may_write_to_one_target() {
    let (dir, path) = file(&four());
    let target = dir.path().join("out");
    let start = |force: &str| {
        let mut command = crate::support::postrun();
        command
            .args(["ingest", path.to_str().unwrap(), "-o", target.to_str().unwrap()])
            .args((!force.is_empty()).then_some(force));
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let codes = |mut running: Vec<std::process::Child>| -> Vec<i32> {
        running.iter_mut().map(|child| child.wait().unwrap().code().unwrap()).collect()
    };
    let first = codes((0..6).map(|_| start("")).collect());
    assert_eq!(first.iter().filter(|c| **c == 0).count(), 1, "{first:?}");
    let forced = codes((0..6).map(|_| start("--force")).collect());
    assert!(forced.iter().all(|c| *c == 0), "{forced:?}");
    assert_eq!(report(&target, &[])["runs"][0]["requests"]["ok"], 4);
}

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    std::fs::write(&path, four().to_string()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.json");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for second in [&path, &link] {
        for inputs in [[dir.path(), second.as_path()], [second.as_path(), dir.path()]] {
            let ran = run(["report", "--format", "json", inputs[0].to_str().unwrap(), inputs[1].to_str().unwrap()]);
            assert_eq!(ran.json()["runs"].as_array().unwrap().len(), 1);
            assert!(ran.stderr.contains("and read once"), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_number_of_requests_that_is_not_recorded_is_not_zero() {
    let sheet = "Metric,avg,min,max,p50\nInter Chunk Latency (ms),20.50,10.00,31.00,20.00\n";
    let (_d, path) = temp_file("profile_export_aiperf.csv", sheet.as_bytes());
    assert_eq!(report(&path, &[])["runs"][0]["requests"]["total"], Value::Null);
    let shown = run(["report", path.to_str().unwrap()]).stdout;
    assert!(shown.contains("number of requests not recorded") && !shown.contains("\n0 requests"), "{shown}");
}
