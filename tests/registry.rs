//! Walks the registries: what is listed is documented, tested and named by the rules.

use crate::support::{case_inputs, fixture, report, root, run};
use std::collections::BTreeSet;

/// `(id, headline)` of a listing.
fn listed(what: &str) -> Vec<(String, String)> {
    let ran = run(["list", what]);
    assert_eq!(ran.code, 0);
    let split = |line: &str| {
        let (id, text) = line.split_once("  ").unwrap_or_else(|| panic!("{line:?}"));
        (id.trim().to_string(), text.trim().to_string())
    };
    ran.stdout.lines().map(split).collect()
}

#[test]
fn ids_are_unique_and_snake_case() {
    for what in ["metrics", "formats", "rules", "charts"] {
        let mut seen = BTreeSet::new();
        for (id, headline) in listed(what) {
            assert!(id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{id}");
            assert!(seen.insert(id.clone()), "{id} twice");
            assert!(headline.len() > 20, "{id} has no headline: {headline:?}");
        }
        assert!(!seen.is_empty());
    }
}

#[test]
fn every_page_has_its_sections() {
    for (what, sections) in [
        ("metrics", vec!["# Definition", "# Needs", "# Caveats"]),
        ("formats", vec!["# Which files", "# Versions seen", "# What is not recorded"]),
        (
            "rules",
            vec!["# What it finds", "# Why it happens", "# How it is decided", "# What to try", "# When it is wrong"],
        ),
    ] {
        for (id, _) in listed(what) {
            let ran = run(["explain", &id]);
            assert_eq!(ran.code, 0, "{id}: {}", ran.stderr);
            for section in &sections {
                assert!(ran.stdout.contains(section), "{id} lacks {section}");
            }
        }
    }
}

#[test]
fn every_metric_has_a_truth_or_a_reason() {
    // A client's file alone, a client with its server, and devices: every metric comes from one of them, or says why not.
    let inputs =
        ["vllm_bench/long_prompts/input/result.json", "server_side/kv_tight/input", "gpu_dmon/both_tools/input"];
    let runs: Vec<_> = inputs.iter().map(|i| report(&fixture(i), &["--slo", "ttft=1s"])["runs"][0].clone()).collect();
    // What no recording of ours has yet: events or records that only some servers write.
    let elsewhere = ["preemptions", "preempted_prefill_ms", "preempted_decode_ms"];
    for (id, _) in listed("metrics") {
        let mut anywhere = elsewhere.contains(&id.as_str());
        for run in &runs {
            let unavailable = run["unavailable"].as_array().unwrap().iter().any(|u| u["metric"] == id.as_str());
            let distribution = !run["metrics"][&id].is_null() || !run["throughput"][&id].is_null();
            assert!(!(distribution && unavailable), "{id} is both there and not");
            anywhere |= !unavailable;
        }
        assert!(anywhere, "{id} is nowhere");
    }
}

/// Input folders of all fixtures but the cases.
fn scenarios() -> Vec<std::path::PathBuf> {
    let folders = |dir: std::path::PathBuf| {
        let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        entries.filter(|p| p.is_dir() && !p.ends_with("cases")).collect::<Vec<_>>()
    };
    folders(fixture("")).into_iter().flat_map(folders).map(|scenario| scenario.join("input")).collect()
}

#[test]
fn every_format_has_a_fixture() {
    let mut text = String::new();
    for path in case_inputs().into_iter().chain(scenarios()) {
        text.push_str(&run(["report", path.to_str().unwrap(), "--format", "json"]).stdout);
    }
    for (id, _) in listed("formats") {
        assert!(text.contains(&format!("\"format\": \"{id}\"")), "{id} has no fixture");
    }
}

#[test]
fn data_quality_entries_explain_themselves() {
    let source = std::fs::read_to_string(root().join("crates/postrun-schema/src/issue.rs")).unwrap();
    let body = source.split("pub enum IssueCode {").nth(1).unwrap().split('}').next().unwrap();
    let names: Vec<&str> = body.lines().map(|l| l.trim().trim_end_matches(',')).filter(|l| !l.is_empty()).collect();
    assert!(names.len() > 15);
    for name in names {
        let mut id = String::new();
        for c in name.chars() {
            if c.is_uppercase() && !id.is_empty() {
                id.push('_');
            }
            id.extend(c.to_lowercase());
        }
        let ran = run(["explain", &id]);
        assert_eq!(ran.code, 0, "{id}: {}", ran.stderr);
    }
}
