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
    for what in ["metrics", "formats"] {
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
    // Metrics that a client's file of these formats gives, and those that only a server-side recording does.
    let given = report(&fixture("vllm_bench/long_prompts/input/result.json"), &["--slo", "ttft=1s"]);
    let given = given["runs"][0].clone();
    let server_side = ["queue_ms", "prefill_ms", "decode_ms", "inference_ms"];
    for (id, _) in listed("metrics") {
        let value = [&given["metrics"][&id], &given["throughput"][&id], &given[&id]].into_iter().any(|v| !v.is_null());
        let goodput = id == "goodput_requests_per_s" && !given["goodput"]["requests_per_s"].is_null();
        let unavailable = given["unavailable"].as_array().unwrap().iter().any(|u| u["metric"] == id.as_str());
        assert!(value || goodput || (unavailable && server_side.contains(&id.as_str())), "{id}");
        assert!(!(value && unavailable), "{id} is both there and not");
    }
}

#[test]
fn every_format_has_a_fixture() {
    let mut text = String::new();
    for path in case_inputs() {
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
