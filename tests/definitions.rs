//! Every figure that an ingestor stores carries the id of a definition, and every definition is somebody's.

use crate::support::root;
use postrun_analysis::CONVENTIONS;
use std::collections::BTreeSet;
use std::path::Path;

/// What the ingestors are made of, without their tests.
fn sources(dir: &Path, out: &mut Vec<(String, String)>) {
    for path in std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, out);
        } else if name.ends_with(".rs") && !name.contains("test") {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_string();
            out.push((path.display().to_string(), text));
        }
    }
}

/// The text between the bracket that was just opened and its partner.
fn inside(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    &text[..end.expect("a bracket without its partner")]
}

/// The text literal that ends `text`, such as the last argument of a call.
fn last_literal(text: &str) -> Option<&str> {
    let body = text.trim_end().trim_end_matches(',').trim_end().strip_suffix('"')?;
    Some(&body[body.rfind('"')? + 1..])
}

/// Definitions that stand in a source as a literal: the last of `named(metric, unit, definition)`, and what a row is given.
fn definitions(text: &str) -> Vec<&str> {
    let calls = text.match_indices("named(").filter(|(at, _)| !text[..*at].ends_with("fn "));
    let named = calls.filter_map(|(at, call)| last_literal(inside(&text[at + call.len()..])));
    let rows = ["convention: \"", "convention = \""].into_iter().flat_map(|key| text.split(key).skip(1));
    named.chain(rows.map(|rest| rest.split('"').next().unwrap())).collect()
}

#[test]
fn every_definition_that_an_ingestor_writes_is_in_the_table() {
    let known: BTreeSet<&str> = CONVENTIONS.iter().map(|c| c.id).collect();
    assert_eq!(known.len(), CONVENTIONS.len(), "an id stands twice");
    let mut files = Vec::new();
    sources(&root().join("crates/postrun-ingest/src"), &mut files);
    let mut found = 0;
    for (path, text) in &files {
        for id in definitions(text) {
            assert!(known.contains(id), "{path}: no definition {id:?}");
            found += 1;
        }
    }
    assert!(found > 150, "only {found} definitions were found in the sources");
}

#[test]
fn every_definition_is_used() {
    let mut files = Vec::new();
    sources(&root().join("crates/postrun-ingest/src"), &mut files);
    let clients = root().join("crates/postrun-analysis/src/convention/client.rs");
    files.push((String::new(), std::fs::read_to_string(clients).unwrap()));
    for c in CONVENTIONS {
        let literal = format!("\"{}\"", c.id);
        assert!(files.iter().any(|(_, text)| text.contains(&literal)), "{}: no ingestor and no client has it", c.id);
    }
}

#[test]
fn the_source_is_read_as_it_is_written() {
    let text = r#"named("ttft_ms", "ms", "same"); ("f", named("", unit(x), "by_word",)); named(a, b, c);
        row.convention = "other";"#;
    assert_eq!(definitions(text), ["same", "by_word", "other"]);
}
