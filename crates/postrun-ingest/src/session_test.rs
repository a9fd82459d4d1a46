//! A compressed file that is cut gives what the same cut gives without compression, whatever its format.

use crate::{IngestError, Input, Options, Outcome, ingest};
use postrun_schema::{Issue, IssueCode};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

fn read(file: &Path) -> Result<Outcome, IngestError> {
    let target = file.with_extension("runs");
    let options = Options { replace: true, ..Options::default() };
    ingest(&[Input::Path(file.to_path_buf())], &target, &options)
}

/// Every file of the fixtures that can be read by itself.
fn inputs() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let (mut folders, mut out) = (vec![fixtures], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.components().any(|part| part.as_os_str() == "input") => out.push(path),
                false => {}
            }
        }
    }
    out.sort();
    out
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Issues without their places, which name the file.
fn issues(outcome: &Outcome) -> Vec<Vec<(IssueCode, u64)>> {
    let counted = |issue: &Issue| (issue.code, issue.count);
    outcome.manifests.iter().map(|m| m.issues.iter().map(counted).collect()).collect()
}

#[test]
fn a_cut_costs_the_same_compressed_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut formats = std::collections::BTreeSet::new();
    for input in inputs() {
        let data = std::fs::read(&input).unwrap();
        let compressed = gzip(&data);
        let cut = &compressed[..compressed.len() * 4 / 5];
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(cut).read_to_end(&mut text).unwrap_err();
        let base = input.file_name().unwrap().to_string_lossy().into_owned();
        if data.starts_with(&[0x1f, 0x8b]) || text.is_empty() {
            continue;
        }
        let (plain, packed) = (dir.path().join(&base), dir.path().join(format!("{base}.gz")));
        std::fs::write(&plain, &text).unwrap();
        std::fs::write(&packed, cut).unwrap();
        let name = input.display();
        match (read(&plain), read(&packed)) {
            (Ok(plain), Ok(packed)) => {
                formats.extend(packed.used.iter().map(|used| used.format));
                let mut found = issues(&packed);
                for run in &mut found {
                    let damaged = run.iter().position(|(code, _)| *code == IssueCode::DamagedFile);
                    assert_eq!(damaged.map(|at| run.remove(at).1), Some(1), "{name}");
                }
                assert_eq!(issues(&plain), found, "{name}");
                let rows = |outcome: &Outcome| outcome.manifests.iter().map(|m| m.tables.clone()).collect::<Vec<_>>();
                for (plain, packed) in rows(&plain).iter().zip(&rows(&packed)) {
                    let counts = |tables: &std::collections::BTreeMap<String, postrun_schema::TableFile>| {
                        tables.iter().map(|(table, file)| (table.clone(), file.rows)).collect::<Vec<_>>()
                    };
                    assert_eq!(counts(plain), counts(packed), "{name}");
                }
            }
            (Err(_), Err(_)) => {}
            (plain, packed) => panic!("{name}: {plain:?} and {packed:?}"),
        }
    }
    assert!(formats.len() >= 12, "{formats:?}");
}
