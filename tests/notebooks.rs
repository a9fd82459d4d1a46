//! Notebooks: each runs from start to end, shows what is committed, and arrives at the figures of the report.

use crate::python::python;
use crate::support::{binary, fixture, report, root, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Relative difference of two floats that were added up in another order: all digits but the last two or three are equal.
const DIGITS: f64 = 1e-12;
/// Bytes of a notebook at most.
const MOST: usize = 100_000;
/// The notebook with its outputs, in the folder of an executed one.
const FRESH: &str = "executed.ipynb";

/// An executed notebook.
struct Executed {
    /// Its datasets, one folder a run.
    dir: tempfile::TempDir,
    /// By run, then by path in the report of the run.
    figures: Value,
    /// Figures of no report.
    derived: Value,
}

fn folder() -> PathBuf {
    root().join("notebooks")
}

fn notebook(name: &str) -> PathBuf {
    folder().join(name).with_extension("ipynb")
}

/// Runs the notebook, on another recording than its own where one is given.
fn ran(name: &str, input: Option<&Path>) -> Option<Executed> {
    let python = python("notebooks", &std::fs::read_to_string(folder().join("requirements.txt")).unwrap())?;
    let dir = tempfile::tempdir().unwrap();
    // Settings of the machine's user stay outside; fonts are looked for once.
    let own = python.parent().unwrap().join("../settings");
    let output = Command::new(&python)
        .arg(root().join("tests/notebooks/execute.py"))
        .args([&notebook(name), &dir.path().join(FRESH), &dir.path().to_path_buf()])
        .args(input)
        .envs(["IPYTHONDIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"].map(|variable| (variable, &own)))
        .env("POSTRUN", binary())
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}, {input:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(Executed { dir, figures: found["figures"].take(), derived: found["derived"].take() })
}

/// Runs the notebook and holds its outputs to the committed ones; with `INSTA_UPDATE=always` the committed notebook is written anew.
fn executed(name: &str) -> Option<Executed> {
    let executed = ran(name, None)?;
    let fresh = executed.dir.path().join(FRESH);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::copy(&fresh, notebook(name)).unwrap();
    }
    let (committed, fresh) = (cells(&notebook(name)), cells(&fresh));
    assert_eq!(committed.len(), fresh.len(), "{name}");
    for (committed, fresh) in committed.iter().zip(&fresh) {
        let (is, should) = (shown(committed), shown(fresh));
        assert_eq!(is, should, "{name}: {} (`INSTA_UPDATE=always cargo test` writes it anew)", fresh["id"]);
    }
    Some(executed)
}

fn cells(notebook: &Path) -> Vec<Value> {
    let content: Value = serde_json::from_slice(&std::fs::read(notebook).unwrap()).unwrap();
    content["cells"].as_array().unwrap().clone()
}

/// Outputs of a cell. Of a picture only that there is one: its bytes are the machine's, what it draws are the tables' figures.
fn shown(cell: &Value) -> Value {
    let mut outputs = cell["outputs"].clone();
    for output in outputs.as_array_mut().into_iter().flatten() {
        if let Some(picture) = output.pointer_mut("/data/image~1png") {
            *picture = Value::from("a picture");
        }
    }
    outputs
}

impl Executed {
    /// The report of one of its runs.
    fn report(&self, run: &str, args: &[&str]) -> Value {
        report(&self.dir.path().join(format!("{run}.postrun")), args)["runs"][0].take()
    }

    /// Every figure is the one that the report of its run has; there are at least `fewest`.
    fn held_to_reports(&self, fewest: usize, args: &[&str]) {
        let mut compared = 0;
        for (run, figures) in self.figures.as_object().unwrap() {
            let report = self.report(run, args);
            for (path, value) in figures.as_object().unwrap() {
                let reported = report.pointer(&format!("/{path}")).and_then(Value::as_f64);
                let reported = reported.unwrap_or_else(|| panic!("{run}: no {path} in the report"));
                let value = value.as_f64().unwrap();
                assert!((value - reported).abs() <= DIGITS * reported.abs(), "{run}, {path}: {value}, {reported}");
                compared += 1;
            }
        }
        assert!(compared >= fewest, "only {compared} figures");
    }

    /// What it knows of the run, the report says too. It may know less; of few requests the report leaves out their growth.
    fn held_where_known(&self, run: &str) {
        let report = self.report(run, &[]);
        for (path, value) in self.figures[run].as_object().unwrap() {
            let Some(value) = value.as_f64() else { continue };
            match report.pointer(&format!("/{path}")).and_then(Value::as_f64) {
                Some(reported) => {
                    assert!((value - reported).abs() <= DIGITS * reported.abs(), "{path}: {value}, {reported}");
                }
                None => assert!(path.starts_with("evidence/growth/"), "{path}: {value}, and the report has none"),
            }
        }
    }

    fn derived(&self, key: &str) -> f64 {
        self.derived[key].as_f64().unwrap_or_else(|| panic!("no {key}"))
    }
}

#[test]
fn post_mortem() {
    let Some(notebook) = executed("post_mortem") else { return };
    notebook.held_to_reports(130, &[]);
    // Every latency that the report has, except what needs more than a query and what describes the load.
    let report = notebook.report("kv_tight", &[]);
    let others = ["itl_per_token_ms", "interarrival_ms", "prompt_length", "output_length"];
    for metric in report["metrics"].as_object().unwrap().keys().filter(|m| !others.contains(&m.as_str())) {
        assert!(notebook.figures["kv_tight"].get(format!("metrics/{metric}/p99.9")).is_some(), "no {metric}");
    }
}

/// Those that invite to a run of one's own. The recordings: a client alone that stored no duration, one that stored no request,
/// a server alone.
#[test]
fn what_a_recording_lacks_is_null_and_never_0() {
    for input in ["inference_perf/shared_times", "genai_perf_summary/alone", "prometheus_text/queueing"] {
        let input = fixture(&format!("{input}/input"));
        for name in ["post_mortem", "preemption"] {
            let Some(notebook) = ran(name, Some(&input)) else { return };
            notebook.held_where_known("kv_tight");
            let figures = &notebook.figures["kv_tight"];
            assert!(figures["preemption/total"].is_null(), "{name}, {}: {figures}", input.display());
            if name == "post_mortem" {
                assert!(figures["queue_share_of_ttft"].is_null(), "{}: {figures}", input.display());
            }
        }
    }
}

#[test]
fn ttft_drivers() {
    let Some(notebook) = executed("ttft_drivers") else { return };
    notebook.held_to_reports(40, &["--buckets", "0,128,512,1024,2048"]);
}

#[test]
fn preemption() {
    let Some(notebook) = executed("preemption") else { return };
    notebook.held_to_reports(2, &[]);
    // Millionths of a second in both, whatever unit they were divided into.
    let key = |pause: &Value| {
        let whole = |key: &str, scale: f64| (pause[key].as_f64().unwrap() * scale).round() as i64;
        (pause["request"].as_u64().unwrap(), whole("at_s", 1e6), whole("length_ms", 1e3))
    };
    let report = notebook.report("kv_tight", &[]);
    let sure = |s: &&Value| s["class"] == "preemption" && s["confidence"].as_f64().unwrap() >= 0.7;
    let mut reported: Vec<_> = report["stalls"].as_array().unwrap().iter().filter(sure).map(key).collect();
    let mut found: Vec<_> = notebook.derived["preempted"].as_array().unwrap().iter().map(key).collect();
    reported.sort_unstable();
    found.sort_unstable();
    assert!(found.len() > 20);
    assert_eq!(found, reported);
}

#[test]
fn mix_shift() {
    let Some(notebook) = executed("mix_shift") else { return };
    notebook.held_to_reports(20, &["--buckets", "0,256,1024"]);
    let (base, candidate) = (notebook.report("base", &[]), notebook.report("candidate", &[]));
    let split = notebook.derived["split"].as_array().unwrap();
    assert_eq!(split.len(), 2);
    for row in split {
        let of = |key: &str| row[key].as_f64().unwrap();
        let mean = |report: &Value| report["metrics"][row["metric"].as_str().unwrap()]["mean"].as_f64().unwrap();
        let same = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9, "{row}: {a}, {b}");
        same(of("base"), mean(&base));
        same(of("candidate"), mean(&candidate));
        same(of("workload") + of("system"), mean(&candidate) - mean(&base));
        assert!(of("workload") > 0.0 && of("system") < 0.0, "the story that is told: {row}");
    }
}

#[test]
fn sweep_knee() {
    let Some(notebook) = executed("sweep_knee") else { return };
    notebook.held_to_reports(48, &[]);
    let folders = notebook.figures.as_object().unwrap().keys().map(|name| format!("{name}.postrun"));
    let paths = folders.map(|f| notebook.dir.path().join(f).to_string_lossy().into_owned());
    let args = ["report".to_string()].into_iter().chain(paths).chain(["--format", "json"].map(String::from));
    let sweep = run(args).json()["sweep"].take();
    let load = sweep["evidence"].as_array().unwrap().iter().find(|e| e["metric"] == "load").unwrap();
    assert_eq!(load["compared_with"]["value"].as_f64(), Some(notebook.derived("knee_per_s")), "{sweep}");
    assert_eq!(load["value"].as_f64(), Some(notebook.derived("beyond_per_s")), "{sweep}");
}

#[test]
fn capacity() {
    let Some(notebook) = executed("capacity") else { return };
    notebook.held_to_reports(28, &[]);
    let (forecast, answered) = (notebook.derived("limit_per_s"), notebook.derived("answered_per_s"));
    assert!((forecast / answered - 1.0).abs() < 0.1, "forecast {forecast}/s, answered {answered}/s");
}

#[test]
fn committed_notebooks_are_small_and_clean() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "ipynb") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() <= MOST, "{name}: {} bytes", text.len());
        for word in ["/tmp", "/home", "/root", "/Users", "/var", "\\\\Users", "stderr", "iopub", "Traceback", "Warning"]
        {
            assert!(!text.contains(word), "{name}: {word}");
        }
        let content: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(content["metadata"]["language_info"], serde_json::json!({"name": "python"}), "{name}");
        let cells = content["cells"].as_array().unwrap();
        let source = |cell: &Value| match &cell["source"] {
            Value::Array(lines) => lines.iter().map(|l| l.as_str().unwrap()).collect(),
            text => text.as_str().unwrap().to_string(),
        };
        let opening = source(&cells[0]);
        let question = opening.split("**").nth(1).unwrap_or_default();
        assert!(opening.starts_with("# ") && question.ends_with('?'), "{name} opens without its question");
        let code: Vec<&Value> = cells.iter().filter(|c| c["cell_type"] == "code").collect();
        for (position, cell) in code.iter().enumerate() {
            assert_eq!(cell["execution_count"], position + 1, "{name}: not run from start to end");
            assert_eq!(cell["metadata"], serde_json::json!({}), "{name}");
            assert!(!source(cell).contains("import postrun"), "{name}: Polars and the dataset only");
        }
        assert!(code.iter().filter(|c| c["outputs"].as_array().is_some_and(|o| !o.is_empty())).count() >= 3, "{name}");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["capacity", "mix_shift", "post_mortem", "preemption", "sweep_knee", "ttft_drivers"]);
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    assert!(names.iter().all(|name| readme.contains(&format!("({name}.ipynb)"))), "README.md names each");
}
