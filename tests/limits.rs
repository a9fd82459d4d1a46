//! The limits of `postrun explain limits`, each from beyond: a clear error or a counted issue, and no memory without bound.
//! Nesting stands in `damage.rs`, decompression in the tests of the ingest crate.

use crate::support::{postrun, root, run};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use wait4::Wait4;

/// What hostile input may take, in 10^6 bytes; the most is what the requests of a run need.
const MOST_MB: f64 = 500.0;

/// Code, standard output and error, and the most memory the process had.
fn report(input: &Path) -> (i32, String, String, f64) {
    let dir = tempfile::tempdir().unwrap();
    let (out, err) = (dir.path().join("out"), dir.path().join("err"));
    let mut command = postrun();
    command.current_dir(root()).arg("report").arg(input).args(["--format", "json"]).stdin(Stdio::null());
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let used = command.spawn().unwrap().wait4().unwrap();
    let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    (used.status.code().unwrap_or(-1), text(&out), text(&err), used.rusage.maxrss as f64 / 1e6)
}

fn issue(report: &str, code: &str) -> Value {
    let report: Value = serde_json::from_str(report).unwrap();
    let issues = report["runs"][0]["data_quality"].as_array().unwrap().clone();
    issues.into_iter().find(|i| i["code"] == code).unwrap_or_else(|| panic!("no {code} in {report:#}"))
}

fn file(name: &str, parts: impl Iterator<Item = String>) -> (tempfile::TempDir, std::path::PathBuf) {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    parts.for_each(|part| out.write_all(part.as_bytes()).unwrap());
    out.flush().unwrap();
    (dir, path)
}

/// A vLLM result of three requests, with these members first.
fn object(members: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let start = std::iter::once(r#"{"backend":"vllm","burstiness":1.0,"#.to_string());
    let end = r#""duration":2.0,"completed":3,"input_lens":[5,6,7],"output_lens":[3,3,3],"ttfts":[0.1,0.2,0.3]}"#;
    start.chain(members).chain([end.to_string()])
}

fn metrics(lines: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let known = "# scrape_time 1700000000.0\nvllm:num_requests_running{engine=\"0\"} 1\n".to_string();
    [known].into_iter().chain(lines)
}

#[test]
fn long_lines_are_shortened_and_counted() {
    let long =
        (0..40).map(|_| "x".repeat(1 << 20)).chain(["\nvllm:num_requests_waiting{engine=\"0\"} 1\n".to_string()]);
    let (_dir, path) = file("metrics.prom", metrics(["a".to_string()].into_iter().chain(long)));
    let (code, out, err, peak_mb) = report(&path);
    assert_eq!(code, 0, "{err}");
    assert_eq!(issue(&out, "long_line")["count"], 1);
    assert!(peak_mb < MOST_MB, "{peak_mb} MB");
}

#[test]
fn series_beyond_the_limit_are_left_out_and_counted() {
    let most = 1 << 17;
    let lines = (0..most + 1000).map(|i| format!("mine{{id=\"{i}\"}} 1\n"));
    let (_dir, path) = file("metrics.prom", metrics(lines));
    let (code, out, err, peak_mb) = report(&path);
    assert_eq!(code, 0, "{err}");
    // One more series stands before them.
    assert_eq!(issue(&out, "too_many_series")["count"], 1001);
    assert!(peak_mb < MOST_MB, "{peak_mb} MB");
}

#[test]
fn labels_of_many_bytes_are_left_out_and_counted() {
    let wide = "x".repeat(1 << 19);
    let lines = (0..200).map(|i| format!("mine{{id=\"{i}{wide}\"}} 1\n"));
    let (_dir, path) = file("metrics.prom", metrics(lines));
    let (code, out, err, peak_mb) = report(&path);
    assert_eq!(code, 0, "{err}");
    let left_out = issue(&out, "too_many_series")["count"].as_u64().unwrap();
    assert!((70..=75).contains(&left_out), "{left_out}");
    assert!(peak_mb < 2.0 * MOST_MB, "{peak_mb} MB");
}

#[test]
fn a_run_of_too_many_requests_is_refused() {
    let most = 1 << 24;
    let zeros = (0..(most >> 12) + 1).map(|_| "0,".repeat(1 << 12));
    let (_dir, path) =
        file("result.json", object([r#""e2els":["#.to_string()].into_iter().chain(zeros).chain(["0],".to_string()])));
    let ran = run(["report", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "an array that is none of the known ones is passed over: {}", ran.stderr);
    let zeros = (0..(most >> 12) + 1).map(|_| "0,".repeat(1 << 12));
    let array = [r#""start_times":["#.to_string()].into_iter().chain(zeros).chain(["0],".to_string()]);
    let (_dir, path) = file("result.json", object(array));
    let (code, out, err, peak_mb) = report(&path);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(
        err.contains("result.json") && err.contains("explain limits") && err.contains("more than 16777216"),
        "{err}"
    );
    assert!(peak_mb < MOST_MB, "{peak_mb} MB");
}

#[test]
fn gaps_of_one_request_beyond_the_limit_cost_it_its_gaps() {
    let many = (0..1100).map(|_| "0.01,".repeat(1 << 12));
    let array = [r#""itls":[["#.to_string()].into_iter().chain(many).chain(["0.01],[0.1,0.1],[0.1,0.1]],".to_string()]);
    let (_dir, path) = file("result.json", object(array));
    let (code, out, err, peak_mb) = report(&path);
    assert_eq!(code, 0, "{err}");
    let issue = issue(&out, "out_of_range");
    assert_eq!(issue["count"], 1);
    assert!(issue["example"].as_str().unwrap().contains("more than 4194304 gaps"), "{issue}");
    assert!(peak_mb < MOST_MB, "{peak_mb} MB");
}

#[test]
fn settings_beyond_the_limit_are_counted() {
    let settings = (0..10_100).map(|i| format!("\"setting{i}\":1,"));
    // Behind them, so that the arrays come in time.
    let text = object(std::iter::empty()).collect::<String>();
    let text = text.strip_suffix('}').unwrap().to_string();
    let parts = [text, ",".to_string()].into_iter().chain(settings).chain(["\"last\":1}".to_string()]);
    let (_dir, path) = file("result.json", parts);
    let (code, out, err, _) = report(&path);
    assert_eq!(code, 0, "{err}");
    // Seven members stand before them, and one after.
    assert_eq!(issue(&out, "too_many_records")["count"], 10_100 + 8 - 10_000);
}

#[test]
fn a_folder_of_too_many_files_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    (0..10_001).for_each(|i| drop(std::fs::File::create(dir.path().join(format!("{i}.json"))).unwrap()));
    let ran = run(["report", dir.path().to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("more than 10000 files"), "{}", ran.stderr);
}
