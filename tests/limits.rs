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
fn settings_of_the_server_beyond_the_limit_are_left_out_and_counted() {
    let settings = (0..10_100).map(|i| format!(", 'setting{i}': 1"));
    let start = "INFO 01-02 03:04:05 [utils.py:278] non-default args: {'model': 'm'".to_string();
    let (_dir, path) = file("server.log", [start].into_iter().chain(settings).chain(["}\n".to_string()]));
    let (code, out, err, _) = report(&path);
    assert_eq!(code, 0, "{err}");
    // One stands before them.
    let issue = issue(&out, "too_many_records");
    assert_eq!(issue["count"], 101);
    assert!(issue["example"].as_str().unwrap().contains("setting"), "{issue}");
}

#[test]
fn settings_inside_a_setting_count_too() {
    let inner = (0..10_100).map(|i| format!("\"setting{i}\":1,"));
    let run = r#""ttfts":[0.1],"itls":[[0.01]],"input_lens":[5],"output_lens":[2],"duration":2.0,"completed":1}"#;
    let start = r#"{"backend":"sglang","random_range_ratio":1.0,"server_info":{"#.to_string();
    let end = format!("\"last\":1}},{run}\n");
    let (_dir, path) = file("sglang.jsonl", [start].into_iter().chain(inner).chain([end]));
    let (code, out, err, _) = report(&path);
    assert_eq!(code, 0, "{err}");
    // Two stand before them, and one after; others behind them find no place either.
    let left_out = issue(&out, "too_many_records")["count"].as_u64().unwrap();
    assert_eq!(left_out, 103);
}

/// A vLLM result of failed requests, each with an error message of so many bytes.
fn failures(n: usize, bytes: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let list =
        |text: String| std::iter::repeat_n(text, n).enumerate().map(|(i, t)| if i == 0 { t } else { format!(",{t}") });
    let numbers = |name: &str, value: &str| {
        let list = std::iter::repeat_n(value, n).collect::<Vec<_>>().join(",");
        format!("\"{name}\":[{list}],")
    };
    let head = format!(
        "{{\"backend\":\"vllm\",\"burstiness\":1.0,\"duration\":2.0,\"completed\":0,{}{}{}\"errors\":[",
        numbers("input_lens", "5"),
        numbers("output_lens", "0"),
        numbers("ttfts", "0.0"),
    );
    let errors = list(format!("\"{}\"", "e".repeat(bytes)));
    file("result.json", [head].into_iter().chain(errors).chain(["]}".to_string()]))
}

/// The error messages of a file, as the flat table of its requests has them.
fn errors(input: &Path) -> Vec<String> {
    let ran = run(["export", input.to_str().unwrap(), "--to", "csv"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut rows = ran.stdout.lines();
    let column = rows.next().unwrap().split(',').position(|name| name == "error").unwrap();
    rows.map(|row| row.split(',').nth(column).unwrap().to_string()).collect()
}

#[test]
fn of_an_error_message_a_kilobyte_is_kept() {
    for (bytes, kept) in [(1024, 1024), (1025, 1024), (1 << 20, 1024)] {
        let (_dir, path) = failures(2, bytes);
        assert_eq!(errors(&path), vec!["e".repeat(kept); 2], "{bytes}");
    }
}

#[test]
fn of_all_error_messages_64_mebibytes_are_kept() {
    let n = 67_000;
    let (_dir, path) = failures(n, 1024);
    let (code, out, err, peak_mb) = report(&path);
    assert_eq!(code, 0, "{err}");
    assert!(peak_mb < MOST_MB, "{peak_mb} MB");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["runs"][0]["requests"]["failed"], n, "every request is there");
    let errors = errors(&path);
    let whole = errors.iter().filter(|text| text.len() == 1024).count();
    assert_eq!((whole, errors.len()), (64 << 10, n));
    assert!(errors[n - 1].contains("beyond what is kept"), "{}", errors[n - 1]);
}

#[test]
fn a_folder_of_too_many_files_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    (0..10_001).for_each(|i| drop(std::fs::File::create(dir.path().join(format!("{i}.json"))).unwrap()));
    let ran = run(["report", dir.path().to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("more than 10000 files"), "{}", ran.stderr);
}
