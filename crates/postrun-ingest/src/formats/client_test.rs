//! Reads clients' texts and files into datasets and looks into them, for the tests of each format; and what every reader
//! of a client's files must stand.

use crate::error::IngestError;
use crate::ingestor::Ingestor;
use crate::input::source::Input;
use crate::session::{Options, Outcome, ingest};
use arrow_array::{Array, Int64Array, StringArray, UInt32Array};
use postrun_schema::{Dataset, IssueCode, Manifest, Table, read_batches};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The runs that were read.
pub(crate) struct Ran {
    pub outcome: Outcome,
    _dir: tempfile::TempDir,
}

/// Thousands of datasets are written and synced: in memory, where the machine has such a folder.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Reads `files` (name and text), named one by one.
pub(crate) fn read(format: Option<&'static Ingestor>, files: &[(&str, &[u8])]) -> Result<Ran, IngestError> {
    let dir = folder();
    let mut paths = Vec::new();
    for (name, text) in files {
        paths.push(dir.path().join(name));
        std::fs::write(paths.last().unwrap(), text).unwrap();
    }
    read_paths(format, &paths, dir)
}

/// Reads files or folders that lie somewhere.
pub(crate) fn read_files(paths: &[PathBuf]) -> Ran {
    read_paths(None, paths, folder()).unwrap()
}

fn read_paths(
    format: Option<&'static Ingestor>,
    paths: &[PathBuf],
    dir: tempfile::TempDir,
) -> Result<Ran, IngestError> {
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::Path).collect();
    let options = Options { format, ..Options::default() };
    let outcome = ingest(&inputs, &dir.path().join("dataset"), &options)?;
    Ok(Ran { outcome, _dir: dir })
}

impl Ran {
    pub(crate) fn manifest(&self, run: usize) -> &Manifest {
        &self.outcome.manifests[run]
    }

    pub(crate) fn labels(&self) -> Vec<&str> {
        self.outcome.manifests.iter().map(|m| m.label.as_str()).collect()
    }

    pub(crate) fn issue(&self, run: usize, code: IssueCode) -> u64 {
        self.manifest(run).issues.iter().find(|i| i.code == code).map_or(0, |i| i.count)
    }

    fn each(&self, run: usize, table: Table, name: &str, mut take: impl FnMut(&dyn Array)) {
        let dataset = Dataset::open(&self.outcome.datasets[run]).unwrap();
        let Some(path) = dataset.path(table) else { return };
        read_batches(&path, &[name], |batch| {
            take(batch.column_by_name(name).unwrap().as_ref());
            Ok(())
        })
        .unwrap();
    }

    /// A column of whole numbers.
    pub(crate) fn numbers(&self, run: usize, table: Table, name: &str) -> Vec<Option<i64>> {
        let mut out = Vec::new();
        self.each(run, table, name, |column| {
            if let Some(times) = column.as_any().downcast_ref::<Int64Array>() {
                out.extend(times.iter());
            } else if let Some(counts) = column.as_any().downcast_ref::<UInt32Array>() {
                out.extend(counts.iter().map(|v| v.map(i64::from)));
            } else {
                panic!("{name} is no column of numbers");
            }
        });
        out
    }

    /// A column of texts.
    pub(crate) fn texts(&self, run: usize, table: Table, name: &str) -> Vec<Option<String>> {
        let mut out = Vec::new();
        self.each(run, table, name, |column| {
            let texts = column.as_any().downcast_ref::<StringArray>().unwrap();
            out.extend(texts.iter().map(|v| v.map(String::from)));
        });
        out
    }

    /// Figures by metric and statistic.
    pub(crate) fn figure(&self, run: usize, metric: &str, stat: &str) -> Option<f64> {
        self.figures(run).into_iter().find(|f| f.0 == metric && f.1 == stat).map(|f| f.2)
    }

    /// Metric, statistic, value (NaN where none was finite), convention.
    pub(crate) fn figures(&self, run: usize) -> Vec<(String, String, f64, String)> {
        let texts = |name| self.texts(run, Table::Reported, name).into_iter().map(Option::unwrap_or_default);
        let mut values = Vec::new();
        self.each(run, Table::Reported, "value", |column| {
            let column = column.as_any().downcast_ref::<arrow_array::Float64Array>().unwrap();
            values.extend(column.iter().map(|v| v.unwrap_or(f64::NAN)));
        });
        let names = texts("metric").zip(texts("stat")).zip(values).zip(texts("convention"));
        names.map(|(((metric, stat), value), convention)| (metric, stat, value, convention)).collect()
    }

    /// What each request is about, to compare two readings of one text.
    fn facts(&self) -> BTreeSet<Vec<Option<i64>>> {
        let columns = ["ttft_ns", "e2e_ns", "stream_end_ns", "prompt_tokens", "output_tokens"];
        let mut out = BTreeSet::new();
        for run in 0..self.outcome.datasets.len() {
            let columns: Vec<_> = columns.iter().map(|c| self.numbers(run, Table::Requests, c)).collect();
            out.extend((0..columns[0].len()).map(|i| columns.iter().map(|c| c[i]).collect()));
        }
        out
    }
}

/// Cuts `text` at every byte: no request may be read that the whole text does not have.
pub(crate) fn cut_everywhere(ingestor: &'static Ingestor, name: &str, text: &[u8]) {
    let all = read(Some(ingestor), &[(name, text)]).unwrap().facts();
    for cut in 1..text.len() {
        let Ok(ran) = read(Some(ingestor), &[(name, &text[..cut])]) else { continue };
        let some = ran.facts();
        assert!(some.is_subset(&all), "cut at {cut}: {:?}", some.difference(&all).next());
    }
}

/// Bytes that hurt, one at a time and twenty by chance: only a panic is a failure.
pub(crate) fn mutate(ingestor: &'static Ingestor, name: &str, text: &[u8]) {
    let mut state = 1u32;
    for at in (0..text.len()).step_by(3) {
        let mut hurt = text.to_vec();
        hurt[at] = [b'9', b'"', b'\'', b'-', b'\n', b'}', 0xff][at / 3 % 7];
        drop(read(Some(ingestor), &[(name, &hurt)]));
    }
    for _ in 0..100 {
        let mut hurt = text.to_vec();
        for _ in 0..20 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = state as usize % hurt.len();
            hurt[at] = (state >> 24) as u8;
        }
        drop(read(Some(ingestor), &[(name, &hurt)]));
    }
}

/// A file or folder outside this repository; where it is not there, the test is skipped and says so.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let found =
        Some(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name)).filter(|p| p.exists());
    if found.is_none() {
        use std::io::Write;
        writeln!(std::io::stderr(), "SKIPPED: ../shared/{name} is not here").unwrap();
    }
    found
}

/// Percentile by linear interpolation, as numpy and pandas make it.
pub(crate) fn percentile(values: &[Option<i64>], p: f64) -> f64 {
    let mut sorted: Vec<i64> = values.iter().flatten().copied().collect();
    sorted.sort_unstable();
    let at = (sorted.len() - 1) as f64 * p / 100.0;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low as f64 + (high - low) as f64 * at.fract()
}

pub(crate) fn mean(values: &[Option<i64>]) -> f64 {
    let known: Vec<f64> = values.iter().flatten().map(|v| *v as f64).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

#[track_caller]
pub(crate) fn close_to(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-6 * theirs.abs().max(1e-3), "{ours} is not {theirs}");
}
