//! Reads texts and files into runs, for the tests at the foot of each format, and hurts them.

use crate::error::IngestError;
use crate::ingestor::Ingestor;
use crate::input::source::Input;
use crate::mapping::Mapping;
use crate::session::{Options, Outcome, ingest};
use arrow_array::RecordBatch;
use postrun_schema::{Dataset, IssueCode, Manifest, Table, read_batches};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A published run with its tables as texts: what a test compares.
pub(crate) struct ReadRun {
    pub manifest: Manifest,
    /// Names in the dataset's folder, in order.
    pub files: Vec<String>,
    tables: std::collections::BTreeMap<&'static str, Vec<RecordBatch>>,
}

impl ReadRun {
    /// A column as texts, null as `-`.
    pub(crate) fn column(&self, table: Table, name: &str) -> Vec<String> {
        let mut out = Vec::new();
        for batch in self.tables.get(table.name()).into_iter().flatten() {
            let column = batch.column_by_name(name).unwrap();
            for i in 0..batch.num_rows() {
                out.push(shown(column.as_ref(), i));
            }
        }
        out
    }

    pub(crate) fn requests(&self, name: &str) -> Vec<String> {
        self.column(Table::Requests, name)
    }

    /// `request:at/tokens` of every chunk.
    pub(crate) fn chunks(&self) -> Vec<String> {
        let column = |name: &str| self.column(Table::Chunks, name);
        let rest = column("at_ns").into_iter().zip(column("tokens"));
        column("request").into_iter().zip(rest).map(|(r, (at, tokens))| format!("{r}:{at}/{tokens}")).collect()
    }

    /// Reported figures as `metric stat`, value, convention.
    pub(crate) fn reported(&self) -> Vec<(String, f64, String)> {
        let column = |name: &str| self.column(Table::Reported, name);
        let names = column("metric").into_iter().zip(column("stat")).map(|(m, s)| format!("{m} {s}"));
        let values = column("value").into_iter().map(|v| v.parse().unwrap_or(f64::NAN));
        names.zip(values).zip(column("convention")).map(|((name, value), c)| (name, value, c)).collect()
    }

    /// `request name value` of every number beside.
    pub(crate) fn extras(&self) -> Vec<String> {
        let column = |name: &str| self.column(Table::Extras, name);
        let rest = column("name").into_iter().zip(column("value"));
        column("request").into_iter().zip(rest).map(|(r, (name, value))| format!("{r} {name} {value}")).collect()
    }

    /// A column of whole numbers.
    pub(crate) fn numbers(&self, table: Table, name: &str) -> Vec<Option<i64>> {
        self.column(table, name).into_iter().map(|value| value.parse().ok()).collect()
    }

    /// Whole numbers of the requests table, those of successful requests only.
    pub(crate) fn answered(&self, name: &str) -> Vec<Option<i64>> {
        let values = self.numbers(Table::Requests, name).into_iter().zip(self.requests("status"));
        values.filter(|(_, status)| status == "ok").map(|(value, _)| value).collect()
    }

    /// Between the chunks of each request.
    pub(crate) fn gaps(&self) -> Vec<Option<i64>> {
        let (at, index) = (self.numbers(Table::Chunks, "at_ns"), self.numbers(Table::Chunks, "index"));
        (1..at.len()).filter(|i| index[*i] != Some(0)).map(|i| Some(at[i]? - at[i - 1]?)).collect()
    }

    pub(crate) fn figure(&self, name: &str) -> f64 {
        self.reported().into_iter().find(|(n, _, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    pub(crate) fn issue(&self, code: IssueCode) -> u64 {
        self.manifest.issues.iter().find(|i| i.code == code).map_or(0, |i| i.count)
    }
}

fn shown(column: &dyn arrow_array::Array, i: usize) -> String {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type};
    if column.is_null(i) {
        return "-".to_string();
    }
    if let Some(c) = column.as_string_opt::<i32>() {
        return c.value(i).to_string();
    }
    if let Some(c) = column.as_boolean_opt() {
        return c.value(i).to_string();
    }
    if let Some(c) = column.as_primitive_opt::<Int64Type>() {
        return c.value(i).to_string();
    }
    if let Some(c) = column.as_primitive_opt::<UInt32Type>() {
        return c.value(i).to_string();
    }
    if let Some(c) = column.as_primitive_opt::<UInt16Type>() {
        return c.value(i).to_string();
    }
    column.as_primitive::<Float64Type>().value(i).to_string()
}

/// Thousands of datasets are written and synced: in memory, where the machine has such a folder.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn outcome(inputs: &[PathBuf], format: Option<&'static Ingestor>, dir: &Path) -> Result<Outcome, IngestError> {
    let inputs: Vec<Input> = inputs.iter().cloned().map(Input::Path).collect();
    ingest(&inputs, &dir.join("out"), &Options { format, ..Options::default() })
}

fn load(outcome: &Outcome) -> Vec<ReadRun> {
    let read = |path: &PathBuf| {
        let dataset = Dataset::open(path).unwrap();
        let mut tables = std::collections::BTreeMap::new();
        for table in [Table::Requests, Table::Chunks, Table::Reported, Table::Extras] {
            if dataset.manifest().tables.contains_key(table.name()) {
                let mut batches = Vec::new();
                let each = |batch| {
                    batches.push(batch);
                    Ok(())
                };
                read_batches(&path.join(table.file_name()), &[], each).unwrap();
                tables.insert(table.name(), batches);
            }
        }
        let entries = std::fs::read_dir(path).unwrap();
        let mut files: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        files.sort();
        ReadRun { manifest: dataset.manifest().clone(), files, tables }
    };
    outcome.datasets.iter().map(read).collect()
}

/// Reads files or folders as a user would name them.
pub(crate) fn read_paths(inputs: &[PathBuf]) -> Result<Vec<ReadRun>, IngestError> {
    let dir = folder();
    outcome(inputs, None, dir.path()).map(|outcome| load(&outcome))
}

/// Reads `text` as a file called `name`, in this format.
pub(crate) fn read(ingestor: &'static Ingestor, name: &str, text: &[u8]) -> Result<Vec<ReadRun>, IngestError> {
    read_files(Some(ingestor), &[(name, text)])
}

/// Reads texts as files of these names that lie together, recognised where no format is given.
pub(crate) fn read_files(
    format: Option<&'static Ingestor>,
    files: &[(&str, &[u8])],
) -> Result<Vec<ReadRun>, IngestError> {
    let dir = folder();
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| dir.path().join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(files) {
        std::fs::write(path, text).unwrap();
    }
    outcome(&paths, format, dir.path()).map(|outcome| load(&outcome))
}

/// Reads `text` as a file called `name`, by a mapping called `map.toml`.
pub(crate) fn read_mapped(mapping: &str, name: &str, text: &[u8]) -> Result<Vec<ReadRun>, IngestError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    let mapping = Some(Arc::new(Mapping::from_toml("map.toml", mapping)?));
    let options = Options { mapping, ..Options::default() };
    ingest(&[Input::Path(path)], &dir.path().join("out"), &options).map(|outcome| load(&outcome))
}

/// Cuts `text` in many places: no request may come out that the whole text does not hold, and nothing panics.
pub(crate) fn cut_everywhere(ingestor: &'static Ingestor, name: &str, text: &[u8], step: usize) {
    let keys = |runs: &[ReadRun]| -> Vec<String> {
        let of = |run: &ReadRun| {
            let names = ["ttft_ns", "e2e_ns", "stream_end_ns", "prompt_tokens", "output_tokens", "status"];
            let columns = names.map(|name| run.requests(name));
            let request = |i: usize| columns.each_ref().map(|column| column[i].clone()).join(" ");
            (0..columns[0].len()).map(request).collect::<Vec<_>>()
        };
        runs.iter().flat_map(of).collect()
    };
    let whole = keys(&read(ingestor, name, text).unwrap());
    for cut in (1..text.len()).step_by(step) {
        let Ok(runs) = read(ingestor, name, &text[..cut]) else { continue };
        let some = keys(&runs);
        assert!(some.len() <= whole.len(), "cut at {cut}");
        assert!(some.iter().all(|key| whole.contains(key)), "cut at {cut}: {some:?}");
    }
}

/// A few bytes at a time become others, by chance that is the same in every run: an answer or an error, never a panic.
pub(crate) fn mutate_at_random(ingestor: &'static Ingestor, name: &str, text: &[u8], times: usize) {
    let mut state = 1u32;
    for _ in 0..times {
        let mut hurt = text.to_vec();
        for _ in 0..4 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % hurt.len();
            hurt[at] = b"9\"'-\n}]{e,.0\xff"[(state >> 4) as usize % 13];
        }
        drop(read(ingestor, name, &hurt));
    }
}

/// A percentile by linear interpolation, as numpy and pandas make it.
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

pub(crate) fn sum(values: &[Option<i64>]) -> f64 {
    values.iter().flatten().sum::<i64>() as f64
}

#[track_caller]
pub(crate) fn close_to(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-6 * theirs.abs().max(1e-3), "{ours} is not {theirs}");
}
