//! The dataset guide: its columns are the schema's, its queries run, and three engines agree on what they give.

use crate::python::python;
use crate::support::{report, root, run};
use postrun_schema::{Across, Dtype, EXTRAS, SERIES, SeriesKind, Table, Unit};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn guide() -> String {
    std::fs::read_to_string(root().join("notebooks/DATASET.md")).unwrap()
}

/// The text between a heading and the next.
fn section(heading: &str) -> String {
    let guide = guide();
    let (_, rest) = guide.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    rest.split("\n#").next().unwrap().to_string()
}

fn columns(table: Table) -> String {
    let mut out = "| column | type | unit | null | meaning |\n| --- | --- | --- | --- | --- |\n".to_string();
    for c in table.columns() {
        let dtype = match c.dtype {
            Dtype::U16 => "u16",
            Dtype::U32 => "u32",
            Dtype::I64 => "i64",
            Dtype::F64 => "f64",
            Dtype::Utf8 => "text",
            Dtype::Bool => "bool",
        };
        let unit = match c.unit {
            Unit::Nanoseconds => "ns",
            Unit::Tokens => "tokens",
            Unit::Count => "count",
            Unit::None => "",
            other => panic!("{}: no word for {other:?}", c.name),
        };
        let null = if c.nullable { "yes" } else { "" };
        writeln!(out, "| `{}` | {dtype} | {unit} | {null} | {} |", c.name, c.doc).unwrap();
    }
    out
}

fn series() -> String {
    let mut out = "| series | kind | over labels | meaning |\n| --- | --- | --- | --- |\n".to_string();
    for s in SERIES {
        let kind = if s.kind == SeriesKind::Gauge { "gauge" } else { "counter" };
        let across = if s.across == Across::Sum { "sum" } else { "mean" };
        writeln!(out, "| `{}` | {kind} | {across} | {} |", s.name, s.doc).unwrap();
    }
    out
}

fn extras() -> String {
    let rows = EXTRAS.iter().map(|e| format!("| `{}` | {} |\n", e.name, e.doc));
    "| name | meaning |\n| --- | --- |\n".to_string() + &rows.collect::<String>()
}

#[test]
fn columns_and_series_are_those_of_the_code() {
    for table in Table::ALL {
        let (found, wanted) = (section(&format!("### {}", table.name())), columns(table));
        assert!(found.contains(&wanted), "{}: the guide should have\n{wanted}", table.name());
        assert_eq!(found.lines().filter(|l| l.starts_with("| `")).count(), table.columns().len(), "{}", table.name());
    }
    let (found, wanted) = (section("## Series"), series());
    assert!(found.contains(&wanted), "the guide should have\n{wanted}");
    let (found, wanted) = (section("## Numbers beside"), extras());
    assert!(found.contains(&wanted), "the guide should have\n{wanted}");
}

/// Relative difference of two engines. DataFusion interpolates percentiles with six digits.
fn tolerance(engine: &str) -> f64 {
    if engine == "DataFusion" { 1e-6 } else { 1e-12 }
}

fn same(a: &Value, b: &Value, tolerance: f64) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, tolerance)),
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= tolerance * a.abs().max(b.abs())
        }
        (a, b) => a == b,
    }
}

/// The interpreter that runs the queries, and a folder with the datasets that they name.
fn queried() -> Option<(PathBuf, tempfile::TempDir)> {
    let requirements = std::fs::read_to_string(root().join("notebooks/requirements.txt")).unwrap();
    let python = python("notebooks", &requirements)?;
    let dir = tempfile::tempdir().unwrap();
    for (input, name) in [
        ("fixtures/server_side/kv_tight/input", "kv-tight.postrun"),
        ("fixtures/guidellm/two_benchmarks/input", "campaign"),
        ("fixtures/client_side/aiperf_http_and_curves/input", "http.postrun"),
    ] {
        let ran = run(["ingest", input, "-o", dir.path().join(name).to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    Some((python, dir))
}

/// Runs a script beside the notebooks' tests in the folder of the datasets.
fn script(python: &Path, dir: &Path, name: &str, argument: &Path) -> Vec<u8> {
    let script = root().join("tests/notebooks").join(name);
    let output = Command::new(python).current_dir(dir).args([script.as_path(), argument]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What every query gave, which is the same in each engine.
fn answers(python: &Path, dir: &Path) -> Value {
    let printed = script(python, dir, "guide.py", &root().join("notebooks/DATASET.md"));
    let found: Value = serde_json::from_slice(&printed).unwrap();
    let sections = found.as_object().unwrap();
    assert_eq!(sections.len(), guide().split("## Queries").nth(1).unwrap().matches("\n### ").count());
    for (heading, results) in sections {
        let results = results.as_array().unwrap();
        let engines: Vec<&str> = results.iter().map(|r| r["engine"].as_str().unwrap()).collect();
        assert_eq!(engines, ["Polars", "DuckDB", "DataFusion"], "{heading}");
        assert!(!results[0]["rows"].as_array().unwrap().is_empty(), "{heading}: no row");
        for result in &results[1..] {
            assert_eq!(result["columns"], results[0]["columns"], "{heading}");
            let tolerance = tolerance(result["engine"].as_str().unwrap());
            assert!(same(&result["rows"], &results[0]["rows"], tolerance), "{heading}: {results:#?}");
        }
    }
    found
}

#[test]
fn every_query_runs_and_the_engines_agree() {
    let Some((python, dir)) = queried() else { return };
    let found = answers(&python, dir.path());
    held_to_the_report(&found, &report(&dir.path().join("kv-tight.postrun"), &[])["runs"][0]);
}

#[test]
fn queries_hold_on_awkward_datasets() {
    let Some((python, dir)) = queried() else { return };
    script(&python, dir.path(), "awkward.py", dir.path());
    let found = answers(&python, dir.path());
    let rows = |heading: &str| found[heading][0]["rows"].as_array().unwrap().clone();

    // Label set by label set: the engine that was restarted 4 + 2 + 1, the other 8 + 0 + 2.
    assert_eq!(rows("How often a counter rose"), [serde_json::json!([17.0])]);

    // A mean of two engines at every scrape, the latest value of the one that a scrape lacks, and a row of the idle server.
    let scrapes = rows("The server beside the client, over time");
    let usage: Vec<(f64, f64)> =
        scrapes.iter().map(|r| (r[0].as_f64().unwrap() / 1e9, r[1].as_f64().unwrap())).collect();
    assert_eq!(usage, [(1.0, 50.0), (2.0, 62.5), (10_000.0, 0.0)]);
    let in_flight: Vec<u64> = scrapes.iter().map(|r| r[2].as_u64().unwrap()).collect();
    assert!(in_flight[0] > 0 && in_flight[1] > 0 && in_flight[2] == 0, "{in_flight:?}");

    let slowest = rows("What the slowest first tokens waited for");
    assert!(slowest.len() == 5 && slowest.iter().all(|r| r[2].is_number()), "{slowest:?}");

    let names: Vec<Value> = rows("Many runs at once").iter().map(|r| r[0].clone()).collect();
    assert_eq!(names, ["01", "1"]);
}

/// What the report says too, it says to the digit.
fn held_to_the_report(found: &Value, report: &Value) {
    let row = |heading: &str| &found[heading][0]["rows"][0];
    let of = |metric: &str, stats: [&str; 4]| Value::from(stats.map(|s| report["metrics"][metric][s].clone()).to_vec());
    for (heading, metric, stats) in [
        ("Latency percentiles", "ttft_ms", ["count", "mean", "p50", "p95"]),
        ("Gaps between chunks (ITL)", "itl_ms", ["count", "mean", "p99", "max"]),
    ] {
        let wanted = of(metric, stats);
        assert!(same(row(heading), &wanted, 1e-12), "{heading}: {}, reported {wanted}", row(heading));
    }
    assert_eq!(row("How often a counter rose")[0], report["preemption"]["total"]);
    assert_eq!(row("What the slowest first tokens waited for")[2], report["metrics"]["ttft_ms"]["max"]);
}
