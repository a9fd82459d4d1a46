//! The invariants of ARCHITECTURE.md that a machine can check.

use crate::support::root;
use std::path::{Path, PathBuf};

/// Crates in dependency order: each may use only those before it.
const ORDER: [&str; 9] = [
    "postrun-schema",
    "postrun-ingest",
    "postrun-analysis",
    "postrun-diagnose",
    "postrun-diff",
    "postrun-report",
    "postrun-export",
    "postrun-simulate",
    "postrun-cli",
];
const LINES: usize = 420;

fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    rust_files(&root().join("tests"), &mut files);
    assert!(files.len() > 60);
    files
        .into_iter()
        .map(|p| (p.strip_prefix(root()).unwrap().to_path_buf(), std::fs::read_to_string(&p).unwrap()))
        .collect()
}

#[test]
fn files_are_short_and_say_what_they_are() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LINES, "{}: {lines} lines; split by concept", path.display());
        assert!(text.starts_with("//! "), "{}: no module documentation", path.display());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        for word in ["util", "common", "helper", "manager", "misc"] {
            assert!(!name.contains(word), "{}: {word} is no concept", path.display());
        }
    }
}

#[test]
fn crates_depend_downwards_only() {
    for (position, name) in ORDER.iter().enumerate() {
        let manifest = std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let normal = manifest.split("[dev-dependencies]").next().unwrap();
        for other in &ORDER[position..] {
            let uses =
                normal.lines().any(|l| l.starts_with(&format!("{other}.")) || l.starts_with(&format!("{other} ")));
            assert!(!uses, "{name} must not depend on {other}");
        }
        let polars = normal.lines().any(|l| l.starts_with("polars"));
        assert_eq!(polars, *name == "postrun-analysis", "{name}: Polars stays behind postrun-analysis");
    }
    let analysis = std::fs::read_to_string(root().join("crates/postrun-analysis/Cargo.toml")).unwrap();
    assert!(!analysis.contains("postrun-ingest"), "analysis and ingest do not know each other");
}

#[test]
fn libraries_are_silent_and_know_no_tool() {
    for (path, text) in sources() {
        let path = path.to_string_lossy().into_owned();
        let library = path.starts_with("crates/") && !path.starts_with("crates/postrun-cli") && path.contains("/src/");
        if !library || is_test(&path) {
            continue;
        }
        for word in ["println!", "eprintln!", "std::process::exit", "std::env::var", "dbg!("] {
            assert!(!text.contains(word), "{path}: {word} belongs to the CLI");
        }
        // Code outside formats/ branches on no tool; documentation and messages may name peers.
        // Measures name the flags of the server in use, which is no quirk of a recording.
        let may_branch = ["/formats/", "postrun-report", "postrun-diagnose/src/measure.rs", "postrun-simulate"];
        if !may_branch.iter().any(|part| path.contains(part)) {
            for line in text.lines().filter(|l| !l.trim_start().starts_with("//")) {
                let code = line.split("//").next().unwrap().to_lowercase();
                let compares =
                    code.contains("==") || code.contains("match ") || code.contains("=>") || code.contains("if ");
                assert!(!(compares && (code.contains("\"vllm") || code.contains("\"sglang"))), "{path}: {line}");
            }
        }
    }
}

/// Modules that exist under `#[cfg(test)]` alone are named so.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_test.rs") || path.contains("/src/tests/")
}

#[test]
fn no_unwrap_on_recorded_data() {
    for (path, text) in sources() {
        let path = path.to_string_lossy().into_owned();
        if !(path.starts_with("crates/") && path.contains("/src/")) || is_test(&path) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (i, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap();
            for word in [".unwrap()", ".expect(", "panic!(", "unreachable!(", "todo!(", "unimplemented!("] {
                assert!(!line.contains(word), "{path}:{}: {word}", i + 1);
            }
        }
    }
}

#[test]
fn top_level_is_what_it_should_be() {
    let allowed = [
        "Cargo.toml",
        "Cargo.lock",
        "crates",
        "fixtures",
        "notebooks",
        "tests",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "LICENSE",
        "target",
    ];
    for entry in std::fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(name.starts_with('.') || allowed.contains(&name.as_str()), "{name} has no place at the top level");
    }
}

#[test]
fn fixtures_are_small_and_described() {
    fn walk(dir: &Path) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.join("input").is_dir() {
                    assert!(path.join("README.md").is_file(), "{}: no README.md", path.display());
                    assert!(path.join("truth.json").is_file(), "{}: no truth.json", path.display());
                }
                walk(&path);
            } else {
                assert!(path.metadata().unwrap().len() <= 200 << 10, "{} is over 200 KiB", path.display());
            }
        }
    }
    walk(&root().join("fixtures"));
}
