//! Truncated, mutated and hostile input: an error or a counted issue with its place, exit code 2 if nothing usable
//! remains, never a panic, never an invented row, never half a dataset.

use crate::support::{case_inputs, fixture, run, temp_file};
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

/// Every recording among the fixtures, small enough to be cut in many places.
fn recordings() -> Vec<(String, Vec<u8>)> {
    let named = |path: std::path::PathBuf| {
        let extension = path.extension().unwrap().to_string_lossy().into_owned();
        (format!("input.{extension}"), std::fs::read(&path).unwrap())
    };
    case_inputs().into_iter().map(named).collect()
}

fn report_of(name: &str, data: &[u8]) -> (i32, String, String) {
    let (_dir, path) = temp_file(name, data);
    let ran = run(["report", path.to_str().unwrap(), "--format", "json"]);
    (ran.code, ran.stdout, ran.stderr)
}

fn total(report: &str) -> u64 {
    let report: Value = serde_json::from_str(report).unwrap();
    report["runs"].as_array().unwrap().iter().map(|r| r["requests"]["total"].as_u64().unwrap()).sum()
}

fn never_panics(name: &str, data: &[u8]) -> (i32, String, String) {
    let (code, stdout, stderr) = report_of(name, data);
    assert!(code == 0 || code == 2, "exit code {code}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    if code == 2 {
        assert!(stderr.starts_with("postrun: ") && stdout.is_empty(), "{stderr}");
    }
    (code, stdout, stderr)
}

#[test]
fn cut_anywhere_it_reports_or_refuses_and_invents_nothing() {
    for (name, data) in recordings() {
        let (code, whole, _) = report_of(&name, &data);
        let most = if code == 0 { total(&whole) } else { 0 };
        for part in 1..12 {
            let cut = data.len() * part / 12;
            let (code, stdout, stderr) = never_panics(&name, &data[..cut]);
            match code {
                0 => assert!(total(&stdout) <= most, "{name} cut at {cut}"),
                _ => assert!(stderr.contains("input."), "the file is named: {stderr}"),
            }
        }
    }
}

#[test]
fn a_cut_object_names_the_byte() {
    let data = std::fs::read(fixture("vllm_bench/long_prompts/input/result.json")).unwrap();
    let (code, _, stderr) = never_panics("cut.json", &data[..50_000]);
    assert_eq!(code, 2);
    assert!(stderr.contains("byte 50000") && stderr.contains("cut.json"), "{stderr}");
}

/// A complete small vLLM object with one member replaced or added.
fn object(member: &str, value: &str) -> Vec<u8> {
    let mut members = vec![
        ("backend", "\"vllm\"".to_string()),
        ("burstiness", "1.0".to_string()),
        ("duration", "2.0".to_string()),
        ("completed", "3".to_string()),
        ("input_lens", "[10,20,30]".to_string()),
        ("output_lens", "[3,3,3]".to_string()),
        ("ttfts", "[0.1,0.2,0.3]".to_string()),
        ("itls", "[[0.01,0.02],[0.01,0.02],[0.01,0.02]]".to_string()),
        ("errors", "[\"\",\"\",\"\"]".to_string()),
    ];
    members.retain(|(k, _)| *k != member);
    members.push((member, value.to_string()));
    let body: Vec<String> = members.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
    format!("{{{}}}", body.join(",")).into_bytes()
}

fn codes(report: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(report).unwrap();
    let issues = report["runs"][0]["data_quality"].as_array().unwrap().clone();
    issues.iter().map(|i| i["code"].as_str().unwrap().to_string()).collect()
}

#[test]
fn wrong_values_are_counted_with_their_place() {
    for (member, value, expected) in [
        ("ttfts", "[0.1,\"soon\",0.3]", "wrong_type"),
        ("ttfts", "[0.1,NaN,0.3]", "non_finite_value"),
        ("ttfts", "[0.1,-Infinity,0.3]", "non_finite_value"),
        ("ttfts", "[0.1,-0.2,0.3]", "negative_duration"),
        ("ttfts", "[0.1,1764481545.2,0.3]", "implausible_time"),
        ("ttfts", "[0.1,0.2]", "array_length_mismatch"),
        ("ttfts", "\"none\"", "wrong_type"),
        ("itls", "[[0.01],null,[0.02]]", "wrong_type"),
        ("itls", "[[0.01,-5],[0.01],[0.02]]", "negative_duration"),
        ("itls", "[[0.01,[0.2]],[0.01],[0.02]]", "wrong_type"),
        ("output_lens", "[3,-3,3]", "out_of_range"),
        ("output_lens", "[3,3.5,3]", "out_of_range"),
        ("output_lens", "[3,99999999999,3]", "out_of_range"),
        ("input_lens", "[10,true,30]", "wrong_type"),
        ("errors", "[\"\",\"timeout\",\"\"]", "failed_requests"),
        ("duration", "2.0,\"duration\":3.0", "duplicate_key"),
    ] {
        let (code, stdout, stderr) = never_panics("odd.json", &object(member, value));
        assert_eq!(code, 0, "{member} {value}: {stderr}");
        assert!(codes(&stdout).iter().any(|c| c == expected), "{member} {value}: {:?}", codes(&stdout));
        assert_eq!(total(&stdout), 3, "{member} {value}: every request stays");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let issue = &report["runs"][0]["data_quality"][0];
        assert!(issue["at"].as_str().unwrap().contains("odd.json"), "{issue}");
    }
}

#[test]
fn hostile_files_end_with_exit_code_2() {
    let deep = [b"{\"burstiness\":1,\"backend\":".to_vec(), b"[".repeat(3_000_000)].concat();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("spaces", b" \n\n ".to_vec()),
        ("elf", b"\x7fELF\x02\x01\x01\0\0\0\0\0".repeat(100)),
        ("png", b"\x89PNG\r\n\x1a\n".to_vec()),
        ("deep", deep),
        ("open", b"{".to_vec()),
        ("array", b"[1,2,3]".to_vec()),
        ("text", b"hello world\n".to_vec()),
        ("gzip header only", b"\x1f\x8b".to_vec()),
        ("zstd header only", b"\x28\xb5\x2f\xfd".to_vec()),
        ("object in quotes", b"\"{}\"".to_vec()),
        ("nothing usable", br#"{"burstiness":1,"backend":"vllm","note":"no figures"}"#.to_vec()),
        ("key without value", br#"{"burstiness":1,"backend":"vllm","duration":}"#.to_vec()),
        ("second itls", object("itls", "[[0.1],[0.1],[0.1]],\"itls\":[[0.1]]")),
    ];
    for (name, data) in cases {
        let (code, _, stderr) = never_panics("hostile.json", &data);
        assert_eq!(code, 2, "{name}: {stderr}");
        assert!(stderr.contains("hostile.json"), "{name}: {stderr}");
    }
    let ran = run(["report", "/dev/null"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

#[test]
fn a_ten_megabyte_string_and_bad_utf8_are_read() {
    let long = "x".repeat(10 << 20);
    let (code, stdout, stderr) = never_panics("long.json", &object("errors", &format!("[\"\",\"{long}\",\"\"]")));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.len() < 200_000, "an error text is kept to 1 KiB");
    assert_eq!(total(&stdout), 3);
    let mut data = object("errors", "[\"\",\"caf?\",\"\"]");
    let at = data.windows(4).position(|w| w == b"caf?").unwrap();
    data[at + 3] = 0xe9;
    let (code, stdout, stderr) = never_panics("latin1.json", &data);
    assert_eq!(code, 0, "{stderr}");
    assert!(codes(&stdout).contains(&"not_utf8".to_string()));
}

#[test]
fn strict_refuses_lost_records_and_writes_nothing() {
    let good = String::from_utf8(object("random_range_ratio", "0.0")).unwrap();
    let torn = format!("{good}\n{}", &good[..good.len() / 2]);
    let (dir, path) = temp_file("two.jsonl", torn.as_bytes());
    let target = dir.path().join("out");
    let args = ["ingest", path.to_str().unwrap(), "-o", target.to_str().unwrap(), "--format", "sglang_bench"];
    let ran = run(args.into_iter().chain(["--strict"]));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("line 2") && ran.stderr.contains("--strict"), "{}", ran.stderr);
    assert!(!target.exists());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let ran = run(args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(Path::new(&target).join("manifest.json").exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes changed at random: whatever comes out, it is an answer and not a crash.
    #[test]
    fn mutated_bytes_never_crash(edits in prop::collection::vec((0.0f64..1.0, any::<u8>()), 1..8), which in 0usize..1000) {
        let all = recordings();
        let (name, data) = &all[which % all.len()];
        let mut data = data.clone();
        for (at, byte) in edits {
            let at = (at * data.len() as f64) as usize;
            data[at] = byte;
        }
        never_panics(name, &data);
    }
}
