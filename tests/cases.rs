//! Public faults of tools like this one, each as a fixture with its right answer (`fixtures/**/truth.json`).

use crate::support::{differences, fixture, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn truths(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            truths(&path, out);
        } else if path.file_name().is_some_and(|n| n == "truth.json") {
            out.push(path);
        }
    }
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(|v| v.as_str().unwrap()).collect()
}

/// Texts under `key` of the entries in each run's `list`.
fn listed<'a>(report: &'a Value, list: &str, key: &str) -> Vec<&'a str> {
    let runs = report["runs"].as_array().into_iter().flatten();
    runs.flat_map(|r| r[list].as_array().into_iter().flatten()).map(|e| e[key].as_str().unwrap()).collect()
}

/// What a check may hold: one that is spelled otherwise would check nothing.
const KEYS: [&str; 9] = [
    "args",
    "data_quality",
    "data_quality_absent",
    "exit",
    "input",
    "report",
    "runs",
    "stderr_contains",
    "unavailable",
];

fn check(dir: &Path, check: &Value, failures: &mut Vec<String>) {
    for key in check.as_object().unwrap().keys().filter(|key| !KEYS.contains(&key.as_str())) {
        failures.push(format!("{}: a check has no key {key:?}; it has {}", dir.display(), KEYS.join(", ")));
    }
    let inputs = strings(&check["input"]);
    let name = format!("{} {}", dir.file_name().unwrap().to_string_lossy(), inputs.join(" "));
    let paths = inputs.iter().map(|i| dir.join(i).to_str().unwrap().to_string());
    let here = dir.to_str().unwrap();
    let extra = strings(&check["args"]).into_iter().map(|arg| arg.replace("{here}", here));
    let ran = run(["report", "--format", "json"].map(String::from).into_iter().chain(paths).chain(extra));
    let mut wrong = Vec::new();
    let exit = check["exit"].as_i64().unwrap_or(0);
    if i64::from(ran.code) != exit {
        wrong.push(format!("exit code: expected {exit}, found {}: {}", ran.code, ran.stderr));
    }
    for text in strings(&check["stderr_contains"]) {
        if !ran.stderr.contains(text) {
            wrong.push(format!("standard error lacks {text:?}: {}", ran.stderr));
        }
    }
    if exit == 0 && ran.code == 0 {
        let report = ran.json();
        differences(&check["report"], &report, "", &mut wrong);
        if let Some(n) = check["runs"].as_u64() {
            let found = report["runs"].as_array().unwrap().len() as u64;
            if n != found {
                wrong.push(format!("runs: expected {n}, found {found}"));
            }
        }
        let codes = listed(&report, "data_quality", "code");
        wrong.extend(
            strings(&check["data_quality"])
                .iter()
                .filter(|c| !codes.contains(c))
                .map(|c| format!("data quality lacks {c}: {codes:?}")),
        );
        wrong.extend(
            strings(&check["data_quality_absent"])
                .iter()
                .filter(|c| codes.contains(c))
                .map(|c| format!("data quality should not have {c}")),
        );
        let absent = listed(&report, "unavailable", "metric");
        wrong.extend(
            strings(&check["unavailable"])
                .iter()
                .filter(|m| !absent.contains(m))
                .map(|m| format!("unavailable lacks {m}: {absent:?}")),
        );
    }
    failures.extend(wrong.into_iter().map(|w| format!("{name}: {w}")));
}

#[test]
fn every_fixture_gives_its_right_answer() {
    let mut files = Vec::new();
    truths(&fixture(""), &mut files);
    files.sort();
    assert!(files.len() >= 20, "only {} truth files", files.len());
    let mut failures = Vec::new();
    let mut checks = 0;
    for file in &files {
        let truth: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let list = truth["checks"].as_array().unwrap_or_else(|| panic!("{}: no checks", file.display()));
        assert!(!list.is_empty(), "{}: no checks", file.display());
        for one in list {
            check(file.parent().unwrap(), one, &mut failures);
            checks += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {checks} checks:\n{}", failures.len(), failures.join("\n"));
}
