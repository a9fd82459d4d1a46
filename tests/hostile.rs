//! Hostile text in every place that a recording has for text: it stays text, on a terminal, in Markdown, in HTML, in CSV and
//! in the names of files.

use crate::support::{Ran, binary, postrun, root, run, temp_file};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Steers terminals, is markup of HTML and Markdown, reorders text, and leaves folders.
const EVIL: &str = "\u{1b}[31mEVIL\u{1b}]0;pwn\u{7}\u{9b}2J\r\u{202e}\u{2028}<img src=x onerror=alert(1)>|[a](javascript:b)\n# c `d` &lt;../../e";

/// Marks that must come out of JSON as they went in.
const EVIL_MARK: &str = "\u{202e}";

/// A client's file and metrics of its server with the text in model, label, errors, request ids and metric labels; the name
/// of the file is as bad as a name can be.
fn recording() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("input");
    std::fs::create_dir(&input).unwrap();
    let result = json!({
        "backend": EVIL, "model_id": EVIL, "label": EVIL, "tokenizer_id": EVIL, "burstiness": 1.0, "request_rate": EVIL,
        "duration": 2.0, "completed": 2, "input_lens": [5, 6, 7], "output_lens": [3, 3, 0], "ttfts": [0.1, 0.2, 0.0],
        "itls": [[0.1, 0.1], [0.1, 0.1], []], "errors": ["", "", EVIL], "request_ids": [EVIL, "=1+1", "b"],
        "start_times": [10.0, 10.1, 10.2], "generated_texts": [EVIL, EVIL, ""], EVIL: EVIL,
    });
    let name = EVIL.replace('/', "");
    std::fs::write(input.join(format!("{name}.json")), result.to_string()).unwrap();
    let label = EVIL.replace(['\\', '"'], "").replace('\n', "\\n");
    let mut text = String::new();
    for second in 0..4 {
        text.push_str(&format!("# scrape_time {}.0\n", 1_700_000_000 + second));
        text.push_str(&format!("vllm:num_requests_running{{engine=\"0\",model_name=\"{label}\"}} {second}\n"));
        text.push_str(&format!("vllm:num_requests_waiting{{engine=\"{label}\"}} 1\nmine{{a=\"{label}\"}} 1\n"));
    }
    std::fs::write(input.join(format!("{name}.prom")), text).unwrap();
    (dir, input)
}

fn steers(c: char) -> bool {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    (c.is_control() && c != '\n') || reorders
}

fn tame(ran: &Ran, what: &str) {
    assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
    for (name, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        assert!(!text.contains(steers), "{what}: {name} has {:?}", text.chars().find(|c| steers(*c)));
    }
}

#[test]
fn no_command_lets_recorded_text_steer_the_terminal() {
    let (dir, input) = recording();
    let path = input.to_str().unwrap();
    let dataset = dir.path().join("set");
    let ingested = run(["ingest", path, "-o", dataset.to_str().unwrap()]);
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    tame(&ingested, "ingest");
    for place in [path, dataset.to_str().unwrap()] {
        for command in ["report", "diagnose", "inspect", "parity"] {
            let ran = run([command, place]);
            assert!(ran.code <= 1, "{command}: {}", ran.stderr);
            tame(&ran, command);
        }
        // JSON has escapes for what steers: also in a file nobody need fear it.
        let ran = run(["report", place, "--format", "json"]);
        assert!(ran.stdout.contains("\\u202e") && ran.json().to_string().contains(EVIL_MARK), "{}", ran.stdout);
        for command in ["report", "diagnose", "parity"] {
            tame(&run([command, place, "--format", "json"]), command);
        }
    }
    // The folder is named after the file where nobody names it.
    let file = std::fs::read_dir(&input).unwrap().map(|e| e.unwrap().path()).find(|p| p.extension().unwrap() == "json");
    let own = Ran::from(postrun().current_dir(dir.path()).arg("ingest").arg(file.unwrap()).output().unwrap());
    assert_eq!(own.code, 0, "{}", own.stderr);
    tame(&own, "ingest without -o");
    let folders = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert!(folders.into_iter().all(|name| !name.contains(char::is_control)));
}

#[test]
fn errors_that_name_files_cannot_steer_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let name = EVIL.replace('/', "");
    let missing = dir.path().join(&name);
    let not_json = dir.path().join(format!("{name}.json"));
    std::fs::write(&not_json, format!("{EVIL} is no recording")).unwrap();
    let cut = dir.path().join(format!("{name}.jsonl"));
    std::fs::write(&cut, format!("{{\"backend\": \"vllm\", \"burstiness\": 1, \"duration\": {EVIL}")).unwrap();
    let rules = dir.path().join(format!("{name}.toml"));
    std::fs::write(&rules, format!("[rules.\"{EVIL}\"]\nx = 1")).unwrap();
    let (missing, not_json, cut) = (missing.to_str().unwrap(), not_json.to_str().unwrap(), cut.to_str().unwrap());
    for args in [
        vec!["report", missing],
        vec!["report", not_json],
        vec!["inspect", cut],
        vec!["diagnose", dir.path().to_str().unwrap()],
        vec!["report", not_json, "--mapping", cut],
        vec!["report", "fixtures/vllm_bench/long_prompts/input/result.json", "--rules", rules.to_str().unwrap()],
        vec!["explain", EVIL],
        vec!["export", not_json, "--to", "csv"],
        vec!["simulate", EVIL, "-o", "/nowhere"],
    ] {
        let ran = run(args.iter().copied());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        tame(&ran, args[0]);
    }
}

/// On a terminal even data are tame; in a file they are what was recorded.
#[cfg(target_os = "linux")]
#[test]
fn data_shown_on_a_terminal_cannot_steer_it() {
    let (_dir, input) = recording();
    let quoted = format!("'{}'", input.display());
    let binary = binary().to_str().unwrap();
    for command in [
        "report --format csv",
        "report --format json",
        "report --format markdown",
        "report --format html",
        "report",
        "export --to csv",
    ] {
        let line = match command.split_once(' ') {
            Some((verb, rest)) => format!("{binary} {verb} {quoted} {rest}"),
            None => format!("{binary} {command} {quoted}"),
        };
        let shown = Command::new("script").current_dir(root()).args(["-qec", &line, "/dev/null"]).output();
        let Ok(shown) = shown else {
            eprintln!("SKIPPED: `script` is not here, so no terminal was looked at");
            return;
        };
        let text = String::from_utf8_lossy(&shown.stdout).replace("\r\n", "\n");
        // Bold is ours.
        let text = text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").replace('\t', " ");
        assert!(text.contains("EVIL") && text.len() > 100, "{command}: {text}");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{command}: {text:?}");
    }
}

#[test]
fn recorded_text_is_no_markup() {
    let (_dir, input) = recording();
    let path = input.to_str().unwrap();
    let markdown = run(["report", path, "--format", "markdown"]);
    tame(&markdown, "markdown");
    for text in [
        &markdown.stdout,
        &run(["diagnose", path, "--format", "markdown"]).stdout,
        &run(["parity", path, "--format", "markdown"]).stdout,
    ] {
        assert!(!text.is_empty());
        for (at, _) in text.match_indices("<img").chain(text.match_indices("[a]")).chain(text.match_indices("`d`")) {
            assert_eq!(&text[at - 1..at], "\\", "{}", &text[at.saturating_sub(40)..at]);
        }
        assert!(!text.contains("\n# c") && !text.replace("\\](", "").contains("]("), "{text}");
    }
    assert!(markdown.stdout.contains("EVIL"));
    let html = run(["report", path, "--format", "html"]);
    tame(&html, "html");
    assert!(html.stdout.contains("&lt;img src=x") && !html.stdout.contains("<img"));
    assert!(!html.stdout.contains("href=\"javascript"));
    let dir = tempfile::tempdir().unwrap();
    let charts = dir.path().join("charts");
    let drawn = run(["report", path, "--charts", charts.to_str().unwrap()]);
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    for file in below(&charts).iter().filter(|p| p.extension().is_some_and(|e| e == "svg")) {
        let svg = std::fs::read_to_string(file).unwrap();
        assert!(!svg.contains("<img") && !svg.contains(|c: char| c.is_control() && c != '\n'), "{}", file.display());
    }
}

#[test]
fn no_cell_of_a_table_is_a_formula() {
    for start in ["=", "+", "-", "@", "\t=", "\r=", "\n="] {
        let text = format!("{start}cmd|' /C calc'!A0");
        let result = json!({
            "backend": "vllm", "model_id": text, "label": text, "burstiness": 1.0, "duration": 2.0, "completed": 1,
            "input_lens": [5, 6], "output_lens": [3, 0], "ttfts": [0.1, 0.0], "itls": [[0.1, 0.1], []],
            "errors": ["", text], "request_ids": [text, text],
        });
        let (_dir, path) = temp_file("=cmd.json", result.to_string().as_bytes());
        let path = path.to_str().unwrap();
        for args in
            [["export", path, "--to", "csv"], ["report", path, "--format", "csv"], ["parity", path, "--format", "csv"]]
        {
            let ran = run(args);
            assert!(ran.code <= 1, "{}", ran.stderr);
            for (at, _) in ran.stdout.match_indices(&text) {
                assert!(ran.stdout[..at].ends_with('\''), "{args:?}: {}", ran.stdout);
            }
            assert!(args[0] != "export" || ran.stdout.contains(&text), "the error's text is in no cell");
        }
    }
}

/// Every file below a folder; links are not followed.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() { open.push(path) } else { out.push(path) }
        }
    }
    out.sort();
    out
}

/// A label is a part of file names, and a dataset from elsewhere may have any.
#[test]
fn labels_lead_out_of_no_folder_and_over_no_other_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut sets = Vec::new();
    for (i, label) in ["../../../e", "..", "/tmp/e", "a/b", "a.b", "A.b", EVIL, &"x".repeat(5000)].iter().enumerate() {
        let set = dir.path().join(format!("set{i}"));
        let ran = run(["ingest", "fixtures/vllm_bench/long_prompts/input/result.json", "-o", set.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let manifest = set.join("manifest.json");
        let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
        value["label"] = json!(label);
        value["sources"][0]["name"] = json!("../../../../e");
        std::fs::write(&manifest, value.to_string()).unwrap();
        sets.push(set.to_str().unwrap().to_string());
    }
    let before = below(dir.path());
    let out = dir.path().join("deep/er/out");
    for args in [["export", "--to", "csv", "-o"].as_slice(), &["report", "--charts"]] {
        let args = args.iter().map(|a| a.to_string()).chain([out.display().to_string()]);
        let ran = run(args.chain(sets.iter().cloned()));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        tame(&ran, "export");
    }
    let new: Vec<PathBuf> = below(dir.path()).into_iter().filter(|p| !before.contains(p)).collect();
    assert!(new.iter().all(|p| p.starts_with(&out)), "{new:?}");
    assert_eq!(new.iter().filter(|p| p.extension().is_some_and(|e| e == "csv")).count(), sets.len(), "{new:?}");
    let folders: std::collections::BTreeSet<_> = new.iter().filter_map(|p| p.parent().filter(|d| *d != out)).collect();
    assert_eq!(folders.len(), sets.len(), "{folders:?}");
    // Labels from the command line and from file names become names of folders that every system takes.
    let (target, evil) = (dir.path().join("mine"), EVIL.replace('\0', ""));
    let input = "fixtures/vllm_bench/long_prompts/input/result.json";
    assert_eq!(run(["ingest", input, "-o", target.to_str().unwrap(), "--label", &evil]).code, 0);
    let manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(target.join("manifest.json")).unwrap()).unwrap();
    let label = manifest["label"].as_str().unwrap();
    assert!(!label.contains(['/', '<', '\u{202e}']) && !label.contains(steers), "{label:?}");
}

#[cfg(unix)]
#[test]
fn links_in_a_folder_end() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("runs");
    std::fs::create_dir_all(folder.join("a")).unwrap();
    let recording = root().join("fixtures/vllm_bench/long_prompts/input/result.json");
    symlink(&folder, folder.join("a/loop")).unwrap();
    symlink("../a", folder.join("a/again")).unwrap();
    symlink("self", folder.join("self")).unwrap();
    symlink("/nowhere", folder.join("lost.json")).unwrap();
    symlink(&recording, folder.join("a/linked.json")).unwrap();
    let ran = run(["report", folder.to_str().unwrap(), "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let runs = ran.json()["runs"].as_array().unwrap().len();
    assert_eq!(runs, 1, "the linked file is read once");
    let ran = run(["report", folder.join("self").to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    // A result is written in place of a link; what the link led to stays.
    let (kept, out) = (dir.path().join("kept"), dir.path().join("out.html"));
    std::fs::write(&kept, "mine").unwrap();
    symlink(&kept, &out).unwrap();
    assert_eq!(run(["report", recording.to_str().unwrap(), "-o", out.to_str().unwrap()]).code, 0);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "mine");
    assert!(!out.is_symlink());
}
