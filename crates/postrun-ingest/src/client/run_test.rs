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

fn outcome(inputs: &[PathBuf], format: Option<&'static Ingestor>, dir: &Path) -> Result<Outcome, IngestError> {
    let inputs: Vec<Input> = inputs.iter().cloned().map(Input::Path).collect();
    ingest(&inputs, &dir.join("out"), &Options { format, ..Options::default() })
}

fn load(outcome: &Outcome) -> Vec<ReadRun> {
    let read = |path: &PathBuf| {
        let dataset = Dataset::open(path).unwrap();
        let mut tables = std::collections::BTreeMap::new();
        for table in [Table::Requests, Table::Chunks, Table::Reported] {
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
        ReadRun { manifest: dataset.manifest().clone(), tables }
    };
    outcome.datasets.iter().map(read).collect()
}

/// Reads files or folders as a user would name them.
pub(crate) fn read_paths(inputs: &[PathBuf]) -> Result<Vec<ReadRun>, IngestError> {
    let dir = tempfile::tempdir().unwrap();
    outcome(inputs, None, dir.path()).map(|outcome| load(&outcome))
}

/// Reads `text` as a file called `name`, in this format.
pub(crate) fn read(ingestor: &'static Ingestor, name: &str, text: &[u8]) -> Result<Vec<ReadRun>, IngestError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    outcome(&[path], Some(ingestor), dir.path()).map(|outcome| load(&outcome))
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
            let column = |name: &str| run.requests(name);
            let rest = column("e2e_ns").into_iter().zip(column("status"));
            column("ttft_ns").into_iter().zip(rest).map(|(a, (b, c))| format!("{a} {b} {c}")).collect::<Vec<_>>()
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
