//! Figures that rest on too little, files that are broken: said, never shown as if they were whole.

use crate::support::{Ran, fixture, run, temp_file};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

fn kv_tight(name: &str) -> PathBuf {
    fixture(&format!("server_side/kv_tight/input/{name}"))
}

fn ran(inputs: &[&Path], extra: &[&str]) -> Ran {
    let inputs = inputs.iter().map(|p| p.to_str().unwrap());
    run(["report", "--format", "json"].into_iter().chain(inputs).chain(extra.iter().copied()))
}

fn json(inputs: &[&Path], extra: &[&str]) -> Value {
    let ran = ran(inputs, extra);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()["runs"][0].take()
}

fn issue<'a>(run: &'a Value, code: &str) -> Option<&'a Value> {
    run["data_quality"].as_array().unwrap().iter().find(|q| q["code"] == code)
}

fn has_rule(run: &Value, list: &str, rule: &str) -> bool {
    run[list].as_array().unwrap().iter().any(|r| r["rule"] == rule)
}

/// The scrapes of a recording, each from its time marker on.
fn scrapes() -> Vec<String> {
    let text = std::fs::read_to_string(kv_tight("metrics.prom")).unwrap();
    text.split("# scrape_time").skip(1).map(|scrape| format!("# scrape_time{scrape}")).collect()
}

fn metrics(text: &str) -> (tempfile::TempDir, PathBuf) {
    temp_file("metrics.prom", text.as_bytes())
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_decompression_bomb_is_an_error() {
    let result = std::fs::read(kv_tight("result.json")).unwrap();
    // White space before a good record: all of it is read before anything can be wrong.
    let mut bomb = gzip(
        b"{\"burstiness\":1.0,\"backend\":\"x\",\"ttfts\":[0.1],\"itls\":[[]],\"errors\":[\"\"],\"duration\":1}\n",
    );
    bomb.extend(gzip(&vec![b' '; 16 << 20]).repeat(20));
    bomb.extend(gzip(&result));
    let (_dir, path) = temp_file("result.json.gz", &bomb);
    let refused = ran(&[&path], &[]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("result.json.gz: ") && refused.stderr.contains("--max-expansion"),
        "{}",
        refused.stderr
    );
    let allowed = ran(&[&path], &["--max-expansion", "2000"]);
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    assert_eq!(allowed.json()["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_cut_compressed_file_gives_what_was_before_the_cut() {
    let whole = gzip(&std::fs::read(kv_tight("metrics.prom")).unwrap());
    let (_dir, path) = temp_file("metrics.prom.gz", &whole[..whole.len() * 4 / 5]);
    let run = json(&[&kv_tight("result.json"), &path], &[]);
    let damaged = issue(&run, "damaged_file").unwrap();
    assert_eq!((damaged["count"].as_u64(), damaged["severity"].as_str()), (Some(1), Some("error")));
    let at = damaged["at"].as_str().unwrap();
    assert!(at.contains("metrics.prom.gz") && at.contains("of the decompressed text"), "{at}");
    assert!(run["running"]["max"].as_f64() > Some(1.0));
    let strict = ran(&[&kv_tight("result.json"), &path], &["--strict"]);
    assert_eq!(strict.code, 2);
    assert!(strict.stderr.contains("metrics.prom.gz") && strict.stderr.contains("--strict"), "{}", strict.stderr);
}

#[test]
fn a_named_file_without_anything_usable_is_left_out_loudly() {
    for (name, content) in [("empty.json", ""), ("notes.json", "{\"a\":1}"), ("cut.json.gz", "\u{1f}\u{8b}")] {
        let content: Vec<u8> = content.chars().map(|c| c as u32 as u8).collect();
        let (_dir, path) = temp_file(name, &content);
        let beside = ran(&[&kv_tight("result.json"), &path], &[]);
        assert_eq!(beside.code, 0, "{name}: {}", beside.stderr);
        assert!(beside.stderr.contains("warning") && beside.stderr.contains(name), "{}", beside.stderr);
        let report = beside.json();
        let unused = issue(&report["runs"][0], "file_not_used").unwrap();
        assert!(unused["severity"] == "error" && unused["at"].as_str().unwrap().contains(name), "{unused}");
        for refused in [ran(&[&kv_tight("result.json"), &path], &["--strict"]), ran(&[&path], &[])] {
            assert!(refused.code == 2 && refused.stderr.contains(name), "{name}: {}", refused.stderr);
        }
    }
    let missing = ran(&[&kv_tight("result.json"), Path::new("nonesuch.prom")], &[]);
    assert!(missing.code == 2 && missing.stderr.contains("nonesuch.prom"), "{}", missing.stderr);
}

#[test]
fn a_few_scrapes_are_no_recording_of_a_run() {
    let all = scrapes();
    let result = kv_tight("result.json");
    let (_a, one) = metrics(&all[all.len() - 1]);
    let (_b, early) = metrics(&all[..5].concat());
    for file in [&one, &early] {
        let run = json(&[&result, file], &[]);
        assert!(run["preemption"]["total"].is_null() && run["waiting"].is_null(), "{}", run["preemption"]);
        for rule in ["frequent_preemption", "memory_near_limit"] {
            assert!(!has_rule(&run, "cleared", rule), "{rule}");
        }
    }
    // A mean of two samples would rest on the first alone.
    let (_c, two) = metrics(&[all[20].as_str(), all[40].as_str()].concat());
    let run = json(&[&two], &[]);
    assert!(run["running"]["mean"].is_null() && run["running"]["max"].as_f64() > Some(1.0), "{}", run["running"]);
    assert!(has_rule(&run, "not_checked", "memory_near_limit"));
}

#[test]
fn scrapes_in_reverse_are_disorder_and_no_restart() {
    let mut all = scrapes();
    let right = json(&[&kv_tight("result.json"), &kv_tight("metrics.prom")], &[]);
    all.reverse();
    let (_dir, reversed) = metrics(&all.concat());
    let run = json(&[&kv_tight("result.json"), &reversed], &[]);
    assert!(issue(&run, "counter_reset").is_none());
    assert_eq!(issue(&run, "unordered_times").unwrap()["count"], all.len() - 1);
    for key in ["preemption", "running", "waiting", "kv_cache_usage"] {
        assert_eq!(run[key], right[key], "{key}");
    }
}

#[test]
fn values_that_cannot_be_are_none() {
    let text = std::fs::read_to_string(kv_tight("metrics.prom")).unwrap();
    for absurd in ["1e308", "1e23", "-5"] {
        let lines = text.lines().map(|line| match line.split_once("} ") {
            Some((series, _)) if series.contains("requests_waiting") => format!("{series}}} {absurd}\n"),
            _ => format!("{line}\n"),
        });
        let (_dir, path) = metrics(&lines.collect::<String>());
        let run = json(&[&kv_tight("result.json"), &path], &[]);
        assert!(run["waiting"].is_null(), "{absurd}: {}", run["waiting"]);
        assert!(issue(&run, "out_of_range").unwrap()["count"].as_u64() > Some(20), "{absurd}");
        assert!(!run["findings"].to_string().contains("\"value\":null"), "{absurd}");
    }
}

#[test]
fn what_is_not_aligned_is_never_sure() {
    // The server's counters lie still while tokens come: nothing places them.
    let text: String = (0..60)
        .map(|second| {
            format!(
                "# scrape_time {}\nvllm:num_preemptions_total{{engine=\"0\"}} {second}\nvllm:kv_cache_usage_perc{{engine=\"0\"}} 0.99\n",
                1_600_000_000 + second
            )
        })
        .collect();
    let (_dir, path) = metrics(&text);
    let run = json(&[&kv_tight("result.json"), &path], &[]);
    let findings = run["findings"].as_array().unwrap();
    let found = findings.iter().find(|f| f["rule"] == "frequent_preemption").unwrap();
    assert!(found["confidence"].as_f64() <= Some(0.5) && found["severity"] == "warning", "{found}");
    assert!(found["summary"].as_str().unwrap().contains("not aligned"), "{found}");
}

#[test]
fn a_file_that_nothing_places_is_named() {
    let rows: String = (0..60).map(|s| format!("2026/01/01 10:00:{s:02}.000, 0, 70000 MiB, 99 %\n")).collect();
    let csv = format!("timestamp, index, memory.used [MiB], utilization.gpu [%]\n{rows}");
    let (_dir, path) = temp_file("gpu.csv", csv.as_bytes());
    let inputs = [kv_tight("result.json"), kv_tight("spans.otlp.jsonl"), path];
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let run = json(&inputs, &[]);
    assert!(run["clock"]["uncertainty_ms"].as_f64() < Some(5.0));
    let unplaced = issue(&run, "clock_not_aligned").unwrap();
    assert!(unplaced["at"].as_str().unwrap().contains("gpu.csv"), "{unplaced}");
    let names = inputs.iter().map(|p| p.to_str().unwrap());
    let table = crate::support::run(["report"].into_iter().chain(names)).stdout;
    assert!(table.contains("not aligned: gpu.csv"), "{table}");
}

#[test]
fn a_window_counts_what_is_in_it() {
    let folder = fixture("server_side/kv_tight/input");
    let whole = json(&[&folder], &[]);
    let parts = [json(&[&folder], &["--window", "..15s"]), json(&[&folder], &["--window", "15s.."])];
    let total = |run: &Value| run["stalls_total"].as_u64().unwrap();
    assert!(parts.iter().all(|part| total(part) > 0));
    assert_eq!(total(&parts[0]) + total(&parts[1]), total(&whole));
    // The peak lies at 24.6 s, of requests that were sent long before a window around it.
    let around = json(&[&folder], &["--window", "24s..25s"]);
    assert_eq!(around["kv_cache_tokens"]["peak_tokens"], whole["kv_cache_tokens"]["peak_tokens"]);
}

#[test]
fn small_words() {
    let folder = fixture("server_side/kv_tight/input");
    let folder = folder.to_str().unwrap();
    let csv = run(["report", folder, "--format", "csv"]).stdout;
    assert!(csv.lines().any(|line| line.contains(",preemption_total,") && line.ends_with(",count")), "{csv}");
    let markdown = run(["report", folder, "--format", "markdown"]).stdout;
    assert!(markdown.contains("See `postrun explain stalls`."));
    let negative = run(["report", folder, "--window=-5s.."]);
    assert!(negative.code == 2 && negative.stderr.contains("negative"), "{}", negative.stderr);
    let clocks = run(["explain", "clocks"]).stdout;
    for point in 1..=4 {
        assert!(clocks.lines().any(|line| line.starts_with(&format!("{point}. "))), "{clocks}");
    }
}
