//! The dataset: complete or absent, the same bytes every time, refused when damaged.

use crate::support::{fixture, postrun, root, run, shared};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const RECORDING: &str = "fixtures/vllm_bench/long_prompts/input/result.json";

fn ingested() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("run");
    let ran = run(["ingest", RECORDING, "-o", target.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (dir, target)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn refused(target: &Path, expected: &str) {
    let ran = run(["report", target.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
}

#[test]
fn a_dataset_reports_like_its_file_and_is_reproducible() {
    let (dir, target) = ingested();
    assert_eq!(names(&target), ["chunks.parquet", "manifest.json", "reported.parquet", "requests.parquet"]);
    assert_eq!(names(dir.path()), ["run"]);
    let from_file = run(["report", RECORDING, "--format", "json"]);
    let from_dataset = run(["report", target.to_str().unwrap(), "--format", "json"]);
    assert_eq!(from_file.stdout, from_dataset.stdout);
    let (_dir2, again) = ingested();
    for name in names(&target) {
        assert_eq!(std::fs::read(target.join(&name)).unwrap(), std::fs::read(again.join(&name)).unwrap(), "{name}");
    }
}

#[test]
fn several_runs_lie_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("campaign");
    let input = fixture("cases/b16_several_runs/input");
    let file = std::fs::read_dir(&input)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "jsonl"))
        .unwrap();
    let ran = run(["ingest", file.to_str().unwrap(), "-o", target.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let folders = names(&target);
    assert_eq!(folders.len(), 2);
    assert!(folders.iter().all(|f| f.starts_with("run=")), "{folders:?}");
    let report = run(["report", target.to_str().unwrap(), "--format", "json"]).json();
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    assert_eq!(
        run(["ingest", file.to_str().unwrap(), "-o", dir.path().join("x").to_str().unwrap(), "--label", "one"]).code,
        2
    );
}

#[test]
fn an_existing_target_is_kept_unless_forced() {
    let (_dir, target) = ingested();
    let again = run(["ingest", RECORDING, "-o", target.to_str().unwrap()]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(run(["ingest", RECORDING, "-o", target.to_str().unwrap(), "--force", "--label", "new"]).code, 0);
    assert!(std::fs::read_to_string(target.join("manifest.json")).unwrap().contains("\"label\": \"new\""));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.tex"), "years of work").unwrap();
    let ran = run(["ingest", RECORDING, "-o", dir.path().to_str().unwrap(), "--force"]);
    assert_eq!(ran.code, 2, "a folder that is no dataset is never replaced");
    assert!(dir.path().join("thesis.tex").exists());
}

#[test]
fn damaged_partial_and_newer_datasets_are_refused() {
    let (_d, target) = ingested();
    let requests = target.join("requests.parquet");
    let good = std::fs::read(&requests).unwrap();
    std::fs::write(&requests, &good[..good.len() - 1]).unwrap();
    refused(&target, "bytes");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    std::fs::write(&requests, &flipped).unwrap();
    refused(&target, "sha256");
    std::fs::remove_file(&requests).unwrap();
    refused(&target, "requests.parquet");
    std::fs::write(&requests, &good).unwrap();

    let manifest = target.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("postrun.dataset/1", "postrun.dataset/2")).unwrap();
    refused(&target, "newer");
    std::fs::write(&manifest, text.replace("postrun.dataset/1", "other.dataset/1")).unwrap();
    refused(&target, "other.dataset/1");
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    refused(&target, "damaged");
    std::fs::remove_file(&manifest).unwrap();
    let campaign = tempfile::tempdir().unwrap();
    std::fs::rename(&target, campaign.path().join("run=cut")).unwrap();
    refused(campaign.path(), "no manifest.json");
}

#[test]
fn a_killed_ingest_leaves_nothing_that_looks_whole() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("run");
    let mut child = postrun()
        .current_dir(root())
        .args(["ingest", "-", "-o", target.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let data = std::fs::read(fixture("vllm_bench/long_prompts/input/result.json")).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &data[..data.len() - 2000]).unwrap();
    // It has the whole head and waits for the rest: the partial folder is there by now or in a moment.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while names(dir.path()).is_empty() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!target.exists());
    let left = names(dir.path());
    assert!(left.len() == 1 && left[0].starts_with("run.partial-"), "{left:?}");
    assert_eq!(run(["report", dir.path().join(&left[0]).to_str().unwrap()]).code, 2);
    assert_eq!(run(["report", dir.path().to_str().unwrap()]).code, 2);
}

#[test]
fn manifest_tells_where_the_run_came_from() {
    let (_d, target) = ingested();
    let manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(target.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["schema"], "postrun.dataset/1");
    assert_eq!(manifest["sources"][0]["name"], "result.json", "base names only");
    assert_eq!(manifest["sources"][0]["format"], "vllm_bench");
    assert_eq!(manifest["clocks"]["client"]["kind"], "monotonic");
    assert_eq!(manifest["clocks"]["server"], serde_json::Value::Null);
    assert_eq!(manifest["load"]["request_rate"], 0.7);
    assert_eq!(manifest["tables"]["requests"]["rows"], 45);
    let sha =
        std::process::Command::new("sha256sum").arg(fixture("vllm_bench/long_prompts/input/result.json")).output();
    if let Ok(output) = sha {
        let expected = String::from_utf8_lossy(&output.stdout);
        assert_eq!(manifest["sources"][0]["sha256"].as_str(), expected.split_whitespace().next());
    }
}

/// Reads `../shared`: every recording of the two clients becomes a dataset whose report equals that of the file.
#[test]
fn shared_recordings_become_datasets() {
    let Some(shared) = shared() else { return };
    for name in ["vllm-bench-serve", "sglang-bench-serving", "vllm-server-cpu"] {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("campaign");
        let input = shared.join("recordings").join(name);
        let ran = run(["ingest", input.to_str().unwrap(), "-o", target.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let a = run(["report", target.to_str().unwrap(), "--format", "json"]).json();
        let b = run(["report", input.to_str().unwrap(), "--format", "json"]).json();
        let by_label = |report: &serde_json::Value| -> std::collections::BTreeMap<String, serde_json::Value> {
            let runs = report["runs"].as_array().unwrap().iter();
            runs.map(|r| (r["label"].as_str().unwrap().to_string(), r.clone())).collect()
        };
        let (a, b) = (by_label(&a), by_label(&b));
        assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{name}");
        for (label, run) in &a {
            assert!(*run == b[label], "{name} {label}: dataset and file differ");
        }
    }
}
