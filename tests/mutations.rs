//! Fixtures changed at random through everything that reads a file: an answer, and not a crash, within seconds. The chance
//! is the same in every run. `tests/fuzz` does the same for longer and guided by coverage; `POSTRUN_MUTATIONS=N` makes N
//! texts of each seed here.

use crate::exercise::{Bench, Victim, format_of};
use crate::judge::{RULES, analysed, judge, run_to_judge};
use crate::mutator::Mutator;
use crate::support::fixture;
use postrun_diagnose::{RuleSet, diagnose};
use postrun_ingest::{INGESTORS, Ingestor};
use std::collections::BTreeSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No text of a fixture's size takes longer.
const SLOW: Duration = Duration::from_secs(5);

/// Gives `check` changed texts of `seed`.
fn stands(name: &str, seed: &[u8], usual_rounds: usize, check: impl FnMut(&[u8])) {
    stands_all(name, usual_rounds, |mutator| mutator.mutated(seed), check);
}

/// Gives `check` what `make` makes by chance. An input that fails is kept in a file.
fn stands_all(name: &str, usual_rounds: usize, make: impl Fn(&mut Mutator) -> Vec<u8>, mut check: impl FnMut(&[u8])) {
    let asked = std::env::var("POSTRUN_MUTATIONS").ok().map(|rounds| rounds.parse::<usize>().unwrap());
    let mut mutator = Mutator::new(name);
    for round in 0..asked.unwrap_or(usual_rounds) {
        let input = make(&mut mutator);
        let started = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| check(&input)));
        let took = started.elapsed();
        if answer.is_err() || took > SLOW {
            let (mut file, kept) = tempfile::NamedTempFile::new().unwrap().keep().unwrap();
            file.write_all(&input).unwrap();
            panic!("{name}, round {round}, after {took:?}: the input is {}", kept.display());
        }
    }
}

/// A file of the fixtures that can be read by itself.
struct Seed {
    /// Unique.
    path: String,
    name: String,
    format: Option<&'static Ingestor>,
    data: Vec<u8>,
}

fn seeds() -> Vec<Seed> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, out) } else { out.push(path) }
        }
    }
    let (root, mut paths) = (fixture(""), Vec::new());
    walk(&root, &mut paths);
    paths.retain(|path| ["input", "tables"].iter().any(|folder| path.parent().unwrap().ends_with(folder)));
    paths.sort();
    let seed = |path: &PathBuf| {
        let below = path.strip_prefix(&root).unwrap();
        let folder = below.iter().next().unwrap().to_string_lossy();
        Seed {
            path: below.display().to_string(),
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            format: format_of(&folder),
            data: std::fs::read(path).unwrap(),
        }
    };
    paths.iter().map(seed).collect()
}

#[test]
fn every_ingestor_stands_changed_files() {
    let bench = Bench::new(&fixture(""));
    let mut formats = BTreeSet::new();
    for seed in seeds() {
        let format = bench.ingest(&seed.name, seed.format, &seed.data);
        assert!(format.is_some(), "{}", seed.path);
        formats.extend(format);
        stands(&seed.path, &seed.data, 12, |data| {
            bench.ingest(&seed.name, format.and_then(format_of), data);
        });
    }
    assert_eq!(formats.len(), INGESTORS.len(), "{formats:?}");
}

#[test]
fn changed_compressed_files_are_stood() {
    let bench = Bench::new(&fixture(""));
    for seed in seeds().into_iter().filter(|seed| seed.data.len() < 20_000) {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&seed.data).unwrap();
        let packed = [gzip.finish().unwrap(), zstd::encode_all(seed.data.as_slice(), 1).unwrap()];
        for data in packed {
            stands(&seed.path, &data, 2, |data| {
                bench.ingest(&seed.name, seed.format, data);
            });
        }
    }
}

#[test]
fn what_changed_files_give_can_be_analysed_and_diagnosed() {
    let dir = tempfile::tempdir().unwrap();
    for seed in seeds() {
        let path = dir.path().join(&seed.name);
        let name = format!("analysis of {}", seed.path);
        stands(&name, &seed.data, 1, |data| {
            std::fs::write(&path, data).unwrap();
            if let Some(run) = analysed(&path, seed.format) {
                diagnose(&run, &RuleSet::default());
            }
        });
    }
}

#[test]
fn changed_mapping_files_are_stood() {
    let bench = Bench::new(&fixture(""));
    for name in ["map.toml", "map_json.toml", "map_parquet.toml"] {
        let text = std::fs::read(fixture("mapping/stranger").join(name)).unwrap();
        assert!(bench.map(&text), "{name}");
        stands(name, &text, 150, |text| {
            bench.map(text);
        });
    }
}

#[test]
fn changed_rules_files_are_stood() {
    let run = run_to_judge(&fixture(""));
    assert!(judge(&run, RULES.as_bytes()));
    stands("rules.toml", RULES.as_bytes(), 20_000, |text| {
        judge(&run, text);
    });
}

#[test]
fn flipped_bits_in_a_dataset_are_refused() {
    let victim = Victim::new(&fixture(""));
    let mut opened = 0;
    for file in 0..victim.len() as u8 {
        let edits = |mutator: &mut Mutator| [vec![file], mutator.bytes(16)].concat();
        stands_all(&format!("file {file} of a dataset"), 200, edits, |edits| {
            opened += usize::from(victim.damage(edits));
        });
    }
    // Not every bit of a manifest matters.
    assert!(opened < 200, "{opened}");
}
