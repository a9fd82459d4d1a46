//! Files as they are packed, linked and named, whatever their format: a compressed file that is cut gives what the same cut gives
//! without compression, an archive is no recording, and a dataset is one already.

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

const RESULT: &str = concat!(
    r#"{"backend":"vllm","burstiness":1.0,"duration":2.0,"completed":3,"input_lens":[5,6,7],"#,
    r#""output_lens":[3,3,3],"ttfts":[0.1,0.2,0.3]}"#
);

/// A file or folder, and what is said of reading it.
fn said(path: &Path) -> String {
    let dir = tempfile::tempdir().unwrap();
    let outcome = ingest(&[Input::Path(path.to_path_buf())], &dir.path().join("out"), &Options::default());
    match outcome {
        Ok(outcome) => format!("{} runs, {:?}", outcome.datasets.len(), outcome.left_alone),
        Err(e) => e.to_string(),
    }
}

#[test]
fn whole_files_are_read_however_they_are_packed() {
    let dir = tempfile::tempdir().unwrap();
    let frame = zstd::encode_all(RESULT.as_bytes(), 1).unwrap();
    let pzstd = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 9, 0, 0, 0][..], &frame].concat();
    let padded = [gzip(RESULT.as_bytes()), vec![0; 10_240]].concat();
    for (name, bytes) in [("a.json.zst", pzstd), ("b.json.gz", padded)] {
        let path = dir.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let outcome = read(&path).unwrap();
        let [manifest] = outcome.manifests.as_slice() else { panic!("{name}") };
        assert_eq!(manifest.sources[0].bytes, bytes.len() as u64, "{name}");
        assert!(issues(&outcome)[0].iter().all(|(code, _)| *code != IssueCode::DamagedFile), "{name}");
    }
}

#[test]
fn a_window_beyond_the_limit_is_an_error_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.json.zst");
    // A frame that says it has a window of 2^28 bytes, with one block of plain text.
    let length = (RESULT.len() as u32) << 3 | 1;
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3], &length.to_le_bytes()[..3], RESULT.as_bytes()].concat();
    std::fs::write(&path, frame).unwrap();
    assert!(matches!(read(&path), Err(IngestError::Io { .. })));
    let said = said(&path);
    assert!(said.contains("a.json.zst: ") && said.contains("zstd -d --long=31") && !said.contains("damaged"), "{said}");
}

/// A header of tar for a file of this name, then its text.
fn tar(name: &str, magic: &[u8], text: &str) -> Vec<u8> {
    let mut out = vec![0; 512];
    out[..name.len()].copy_from_slice(name.as_bytes());
    out[124..135].copy_from_slice(format!("{:011o}", text.len()).as_bytes());
    out[257..257 + magic.len()].copy_from_slice(magic);
    out.extend_from_slice(text.as_bytes());
    out.resize(out.len().next_multiple_of(512) + 1024, 0);
    out
}

#[test]
fn an_archive_is_to_be_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let log = inputs().into_iter().find(|path| path.to_string_lossy().contains("vllm_server_log/")).unwrap();
    let log = std::fs::read_to_string(&log).unwrap();
    let (ustar, gnu, oldest) =
        (tar("a.json", b"ustar\x0000", RESULT), tar("a", b"ustar  \0", &log), tar("a", b"", "x"));
    let by_magic = "a tar archive; unpack it first";
    for (name, bytes, what) in [
        ("a", ustar.clone(), by_magic),
        ("b.tar.gz", gzip(&ustar), by_magic),
        ("c.tgz", gzip(&gnu), by_magic),
        ("d.tar.zst", zstd::encode_all(gnu.as_slice(), 1).unwrap(), by_magic),
        ("e.log", gnu, by_magic),
        ("f.tar", oldest.clone(), "a tar archive by its name; unpack it first"),
        ("g.TGZ", gzip(&oldest), "a tar archive by its name; unpack it first"),
        ("h.zip", b"PK\x03\x04....".to_vec(), "a ZIP archive; unpack it first"),
        ("i.bz2", b"BZh91AY&SY....".to_vec(), "a bzip2 file; unpack it first"),
    ] {
        let folder = dir.path().join(format!("of {name}"));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        assert!(said(&path).ends_with(&format!("{name}: {what}")), "{}", said(&path));
        assert!(said(&folder).contains(&format!("{name}: {what}")), "{}", said(&folder));
    }
    // Text that has the magic in its place is text, and a name alone does not make an archive of a recording.
    let text = format!("{{\"note\":\"{}ustar \",{}", "x".repeat(248), &RESULT[1..]);
    let path = dir.path().join("run.tar");
    std::fs::write(&path, text).unwrap();
    assert_eq!(said(&path), "1 runs, []");
}

#[test]
fn a_dataset_is_one_already() {
    let dir = tempfile::tempdir().unwrap();
    let (file, target) = (dir.path().join("result.json"), dir.path().join("run"));
    std::fs::write(&file, RESULT).unwrap();
    ingest(&[Input::Path(file.clone())], &target, &Options::default()).unwrap();
    let both = [Input::Path(file), Input::Path(target.clone())];
    let refused = ingest(&both, &dir.path().join("both"), &Options::default());
    assert!(matches!(refused, Err(IngestError::IsDataset { .. })), "named beside a recording: {refused:?}");
    for path in [target.clone(), target.join("manifest.json")] {
        let expected = format!("a dataset already, not a recording; `postrun report {}` reads it", path.display());
        assert!(said(&path).ends_with(&expected), "{}", said(&path));
    }
    let several = dir.path().join("several");
    std::fs::create_dir(&several).unwrap();
    std::fs::rename(&target, several.join("run=a")).unwrap();
    assert!(said(&several).contains("several: a dataset already"), "{}", said(&several));
    // Recordings beside datasets are read.
    std::fs::write(several.join("b.json"), RESULT).unwrap();
    assert!(said(&several).starts_with("1 runs") && said(&several).contains("run=a"), "{}", said(&several));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_said_to_be_one() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (dir.path().join("runs"), dir.path().join("elsewhere"));
    for path in [&folder, &elsewhere] {
        std::fs::create_dir(path).unwrap();
    }
    std::fs::write(elsewhere.join("a.json"), RESULT).unwrap();
    for (to, name) in [(&folder, "loop"), (&elsewhere, "there"), (&dir.path().join("gone"), "nowhere")] {
        std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(elsewhere.join("a.json"), folder.join("b.json")).unwrap();
    let outcome = ingest(&[Input::Path(folder)], &dir.path().join("out"), &Options::default()).unwrap();
    assert_eq!(outcome.datasets.len(), 1);
    let mut said: Vec<(String, String)> = outcome.left_alone.into_iter().map(|left| (left.name, left.why)).collect();
    said.sort();
    let [(_, a), (_, b), (_, c)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(a, "a link to a folder, which is not followed");
    assert_eq!((b.as_str(), c), ("a link to nothing", a), "{said:?}");
}
