//! Every fixture is claimed by its own format and by no other; foreign texts are claimed by none.

use super::INGESTORS;
use crate::ingestor::{Head, Sniff};
use crate::input::source::{Input, Source};
use std::path::{Path, PathBuf};

/// Ids of the ingestors that are surest of a file, and sure enough to read it unasked.
pub(super) fn sure(name: &str, head: &[u8]) -> Vec<&'static str> {
    let head = Head::new(name, &head[..head.len().min(crate::HEAD_BYTES)]);
    let best = INGESTORS.iter().map(|i| (i.sniff)(&head)).max().unwrap();
    INGESTORS.iter().filter(|i| best >= Sniff::Plain && (i.sniff)(&head) == best).map(|i| i.id).collect()
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// The folder right below `fixtures/` is called after the format; those that are not hold files of several.
#[test]
fn each_fixture_is_claimed_by_its_own_format_alone() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures"));
    let mut all = Vec::new();
    files(root, &mut all);
    all.retain(|path| path.components().any(|part| part.as_os_str() == "input"));
    all.sort();
    let mut seen = Vec::new();
    for path in &all {
        let source = Source::open(&Input::Path(path.clone()), None).unwrap();
        let claims = sure(&source.base_name, &source.head);
        let folder = path.strip_prefix(root).unwrap().iter().next().unwrap().to_string_lossy().into_owned();
        assert_eq!(claims.len(), 1, "{}: {claims:?}", path.display());
        if INGESTORS.iter().any(|i| i.id == folder) {
            assert_eq!(claims, [folder], "{}", path.display());
        }
        seen.extend(claims);
    }
    for ingestor in INGESTORS {
        assert!(seen.contains(&ingestor.id), "{}: no fixture", ingestor.id);
    }
}

const FOREIGN: &[(&str, &str)] = &[
    (
        "traceback.txt",
        "Traceback (most recent call last):\n  File \"/srv/vllm/engine.py\", line 12, in step\n    \
         raise RuntimeError(\"CUDA out of memory\")\nRuntimeError: CUDA out of memory\n",
    ),
    (
        "notes.md",
        "# Decode batch sizes\n\nWe ran vLLM and SGLang side by side. With 64 clients the queue grew and TTFT doubled;\n\
         `Prefill batch, #new-seq: 1` was the last line before the pause, and `'iterLatencyMS': 8.5` the usual step.\n",
    ),
    ("prose.txt", "The run was slow at first.\n\nThen it was fast: 120 tokens a second, at a usage of 0.9.\n"),
    ("table.csv", "timestamp,name,value\n2026-01-02 03:04:05,memory,12.5\n2026-01-02 03:04:06,memory,13.5\n"),
    (
        "access.log",
        "10.0.0.1 - - [02/Jan/2026:03:04:05 +0000] \"POST /v1/completions HTTP/1.1\" 200 512 \"-\" \"curl/8.5.0\"\n\
         10.0.0.2 - - [02/Jan/2026:03:04:06 +0000] \"GET /metrics HTTP/1.1\" 200 9120 \"-\" \"Prometheus/3.1\"\n",
    ),
    (
        "build.log",
        "   Compiling arrow-array v60.1.0\nwarning: unused import: `slot`\n --> src/main.rs:3:5\n  |\n\
         3 | use slot::Slot;\n  |     ^^^^^^^^^^\n\n    Finished `dev` profile [unoptimized] target(s) in 12.50s\n",
    ),
    ("app.log", "2026-01-02T03:04:05.678Z  INFO app::server: main.rs:12: listening on 0.0.0.0:8080\n"),
    (
        "config.json",
        "{\"model\": \"toy\", \"metrics\": {\"port\": 9090}, \"summary\": true, \"timestamp\": \"2026-01-02\"}\n",
    ),
    ("events.jsonl", "{\"event\": \"started\", \"timestamp_ns\": 1}\n{\"event\": \"stopped\", \"timestamp_ns\": 2}\n"),
    ("empty", ""),
];

#[test]
fn foreign_texts_are_claimed_by_none() {
    for (name, text) in FOREIGN {
        assert_eq!(sure(name, text.as_bytes()), [""; 0], "{name}");
    }
}
