//! Commands as a person types them: exit codes, streams, inputs of every kind.

use crate::support::{fixture, postrun, run, run_with_stdin, temp_file};
use std::io::Write;
use std::process::Stdio;

const RECORDING: &str = "fixtures/vllm_bench/long_prompts/input/result.json";

fn recording() -> Vec<u8> {
    std::fs::read(fixture("vllm_bench/long_prompts/input/result.json")).unwrap()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

#[test]
fn plain_compressed_and_piped_input_give_the_same_figures() {
    let plain = run(["report", RECORDING, "--format", "json"]).json();
    let check = |name: &str, ran: crate::support::Ran| {
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let other = ran.json();
        for key in ["metrics", "throughput", "buckets", "requests", "steady"] {
            assert_eq!(plain["runs"][0][key], other["runs"][0][key], "{name}: {key}");
        }
    };
    let (_a, gz) = temp_file("result.json.gz", &gzip(&recording()));
    check("gzip", run(["report", gz.to_str().unwrap(), "--format", "json"]));
    let (_b, zst) = temp_file("result.json.zst", &zstd::encode_all(recording().as_slice(), 1).unwrap());
    check("zstd", run(["report", zst.to_str().unwrap(), "--format", "json"]));
    check("stdin", run_with_stdin(["report", "-", "--format", "json"], &recording()));
    check("gzip on stdin", run_with_stdin(["report", "-", "--format", "json"], &gzip(&recording())));
    let both = [gzip(&recording()[..5000]), gzip(&recording()[5000..])].concat();
    check("two gzip members", run_with_stdin(["report", "-", "--format", "json"], &both));
}

#[test]
fn a_cut_gzip_file_is_an_error() {
    let data = gzip(&recording());
    let (_dir, path) = temp_file("cut.json.gz", &data[..data.len() / 2]);
    let ran = run(["report", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cut.json.gz"), "{}", ran.stderr);
}

#[test]
fn bad_arguments_exit_with_2_and_say_what_is_expected() {
    for (args, expected) in [
        (vec!["report", RECORDING, "--slo", "ttft=500"], "no unit"),
        (vec!["report", RECORDING, "--slo", "speed=5ms"], "(known: ttft, tpot"),
        (vec!["report", RECORDING, "--buckets", "many"], "no prompt length"),
        (vec!["report", RECORDING, "--percentiles", "101"], "between 0 and 100"),
        (vec!["report", RECORDING, "--window", "5m..1s"], "is empty"),
        (vec!["report", RECORDING, "--input-format", "nonesuch"], "vllm_bench"),
        (vec!["report", "nonesuch.json"], "nonesuch.json"),
        (vec!["report"], "Usage"),
        (vec!["explain", "tftt"], "ttft_ms"),
        (vec!["ingest", "-"], "-o DIR"),
    ] {
        let ran = run(&args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
}

#[test]
fn formats_are_recognised_refused_or_asked_for() {
    let arrays =
        br#"{"duration":1,"completed":1,"input_lens":[1],"output_lens":[1],"ttfts":[0.1],"itls":[[]],"errors":[""]}"#;
    let (_a, both) = temp_file("both.json", arrays);
    let ran = run(["report", both.to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("vllm_bench") && ran.stderr.contains("sglang_bench"), "{}", ran.stderr);
    let forced = run(["report", both.to_str().unwrap(), "--input-format", "sglang_bench", "--format", "json"]);
    assert_eq!(forced.json()["runs"][0]["tool"], "sglang bench_serving");
    let (_b, none) = temp_file("none.json", b"{\"a\": 1}\n");
    let ran = run(["report", none.to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("no known format") && ran.stderr.contains("keys a"), "{}", ran.stderr);
}

#[test]
fn folders_use_what_they_know_and_name_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("sweep");
    for (n, (folder, file)) in
        [("c1", "run=0.json"), ("c1", "run=1.json"), ("c16", "run=0.json"), ("c2", "run=0.json")].iter().enumerate()
    {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        let text = String::from_utf8(recording()).unwrap();
        let start = text.find("\"duration\": ").unwrap();
        let end = start + text[start..].find(',').unwrap();
        std::fs::write(root.join(folder).join(file), format!("{}\"duration\": {n}.5{}", &text[..start], &text[end..]))
            .unwrap();
    }
    std::fs::write(root.join("notes.txt"), "hello").unwrap();
    std::fs::write(root.join("empty.json"), "").unwrap();
    let warmup = br#"{"burstiness":1.0,"backend":"vllm","duration":1.0,"completed":1,"run_number":-1}"#;
    std::fs::write(root.join("c1/warmup.json"), warmup).unwrap();
    let copy = std::fs::read(root.join("c1/run=0.json")).unwrap();
    std::fs::write(root.join("c1/summary.json"), [b"[".as_slice(), &copy, b"]"].concat()).unwrap();
    let ran = run(["report", root.to_str().unwrap(), "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let labels: Vec<String> =
        ran.json()["runs"].as_array().unwrap().iter().map(|r| r["label"].as_str().unwrap().to_string()).collect();
    assert_eq!(labels, ["c1.run=0", "c1.run=1", "c2.run=0", "c16.run=0"]);
    for left in ["notes.txt", "empty.json", "warmup.json", "summary.json"] {
        assert!(ran.stderr.contains(left), "{left}: {}", ran.stderr);
    }
    let nothing = tempfile::tempdir().unwrap();
    std::fs::write(nothing.path().join("notes.txt"), "hello").unwrap();
    let ran = run(["report", nothing.path().to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("notes.txt"), "{}", ran.stderr);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = postrun()
        .current_dir(crate::support::root())
        .args(["explain", "ttft"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn output_files_get_the_form_of_their_ending() {
    let dir = tempfile::tempdir().unwrap();
    for (name, start) in [
        ("r.json", "{\n  \"schema\""),
        ("r.md", "# postrun report"),
        ("r.csv", "run,scope,"),
        ("r.txt", "long_prompts\n"),
    ] {
        let path = dir.path().join(name);
        let ran = run(["report", RECORDING, "-o", path.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(start), "{name}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4, "nothing half-written stays");
    let ran = run(["report", RECORDING, "-o", dir.path().join("no/such/r.json").to_str().unwrap()]);
    assert_eq!(ran.code, 2);
}

#[test]
fn pipes_get_plain_text_of_eighty_columns() {
    let ran = run(["report", RECORDING]);
    assert!(!ran.stdout.contains('\u{1b}'));
    let widest = ran.stdout.lines().max_by_key(|l| l.chars().count()).unwrap();
    assert!(widest.chars().count() <= 80, "{widest}");
}

#[test]
fn inspect_says_what_can_and_cannot_be_known() {
    let ran = run(["inspect", RECORDING]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in ["vllm bench serve result", "0.31 or newer", "ttft_ms", "cannot be known", "queue_ms", "spans"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}
