//! The rows of a table put into runs: one, or one for every value of the column that tells runs apart.

use super::columns::{Bound, Cells, refuse_wrong_units};
use super::doubts::Doubts;
use super::row::request;
use crate::bench::facts::load_shape;
use crate::client::manifest::{clock, of_tool};
use crate::client::run_rows::RunRows;
use crate::client::value::Judge;
use crate::error::IngestError;
use crate::json::{Tree, shorten};
use crate::mapping::{Column, Fact, Mapping, own_fact};
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{ClockKind, IssueCode, Issues, Manifest, TokenSource};

/// Each run keeps files open.
const MOST_RUNS: usize = 64;
/// Later than this (2000-01-01), a point in time is Unix time and no machine's uptime.
const UNIX_FROM_NS: i64 = 946_684_800_000_000_000;

pub(super) struct Runs<'m> {
    mapping: &'m Mapping,
    file: String,
    bound: Vec<Bound>,
    runs: Vec<Run>,
    /// What belongs to no run: rows without any value, columns of which another tells the same.
    nowhere: Issues,
}

struct Run {
    key: Option<String>,
    rows: RunRows,
    doubts: Doubts,
}

impl<'m> Runs<'m> {
    pub(super) fn new(mapping: &'m Mapping, file: &str, bound: Vec<Bound>) -> Runs<'m> {
        Runs { mapping, file: file.to_string(), bound, runs: Vec::new(), nowhere: Issues::default() }
    }

    /// One more column, found on the way; false where its fact has one already.
    pub(super) fn add_column(&mut self, column: Column) -> bool {
        let new = self.bound.iter().all(|b| b.column.fact != column.fact);
        if new {
            self.bound.push(Bound::new(column));
        } else {
            self.note_double(&column.name);
        }
        new
    }

    /// Counts a column whose fact another one holds already.
    pub(super) fn note_double(&mut self, name: &str) {
        let own = own_fact(name).filter(|_| self.mapping.file.is_none());
        let holds = |b: &&Bound| own.is_some_and(|(fact, _)| b.column.fact == fact) && b.column.name != name;
        if let Some(first) = self.bound.iter().find(holds) {
            let example =
                || format!("{name:?} was not read: {:?} holds {}", first.column.name, first.column.fact.name());
            self.nowhere.add(IssueCode::DoubleFact, || format!("{}: {name}", self.file), example);
        }
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        self.bound.iter().map(|b| b.column.clone()).collect()
    }

    /// Takes the values of the next row, one for each column.
    pub(super) fn push(
        &mut self,
        sink: &mut RunSink<'_>,
        values: &[Tree],
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        if values.iter().all(|value| *value == Tree::Null) {
            self.nowhere.add(IssueCode::NotARun, place, || "a row without any mapped value".to_string());
            return Ok(());
        }
        let mut nowhere = Issues::default();
        let key =
            Cells { bound: &mut self.bound, values, judge: Judge { issues: &mut nowhere, place } }.text(Fact::Run);
        let i = self.run(sink, key, place)?;
        let Some(run) = self.runs.get_mut(i) else { return Ok(()) };
        let judge = Judge { issues: &mut run.rows.issues, place };
        let (row, chunks) = request(&mut Cells { bound: &mut self.bound, values, judge });
        run.doubts.look(&row);
        run.rows.push(row, &chunks, place)
    }

    fn run(
        &mut self,
        sink: &mut RunSink<'_>,
        key: Option<String>,
        place: &dyn Fn() -> String,
    ) -> Result<usize, IngestError> {
        if let Some(i) = self.runs.iter().position(|run| run.key == key) {
            return Ok(i);
        }
        if self.runs.len() == MOST_RUNS {
            let column = self.bound.iter().map(|b| &b.column).find(|c| c.fact == Fact::Run);
            let message = format!("{}: more than {MOST_RUNS} runs: does this column tell runs apart?", place());
            return Err(self.mapping.fault(&self.file, column, message));
        }
        let mut rows = RunRows::create(sink)?;
        rows.ttft_recorded = self.bound.iter().any(|b| b.column.fact.is_latency());
        self.runs.push(Run { key, rows, doubts: Doubts::default() });
        Ok(self.runs.len() - 1)
    }

    /// Hands over the runs. Returns what belongs to none, and how many rows that are.
    pub(super) fn finish(self, sink: &mut RunSink<'_>) -> Result<(Issues, u64), IngestError> {
        refuse_wrong_units(self.mapping, &self.file, &self.bound)?;
        let facts: Vec<Fact> = self.bound.iter().map(|b| b.column.fact).collect();
        let column = self.bound.iter().find(|b| b.column.fact == Fact::Run).map(|b| b.column.name.as_str());
        let (mapping, file) = (self.mapping, &self.file);
        let sent_unit = self.bound.iter().find(|b| b.column.fact == Fact::Sent).map(|b| b.unit);
        for mut run in self.runs {
            run.doubts.tell(file, sent_unit, &mut run.rows.issues);
            let mut manifest = manifest(mapping, &facts);
            let shape = match (&run.key, column) {
                (Some(value), Some(column)) => {
                    manifest.load.other.insert(shorten(column.to_string(), 60), shorten(value.clone(), 200));
                    format!("{column}={value}")
                }
                _ => load_shape(&manifest.load, None),
            };
            let written = run.rows.finish(file, &format!("mapping {shape}"))?;
            let kind = match written.origin_ns {
                Some(at) if at >= UNIX_FROM_NS => ClockKind::Wall,
                _ => ClockKind::Monotonic,
            };
            manifest.clocks.client = clock(kind, written.origin_ns);
            let finished = FinishedRun {
                manifest,
                issues: written.issues,
                requests: written.requests,
                label: None,
                shape,
                fingerprint: written.fingerprint,
                part: None,
            };
            sink.commit(written.writer, finished)?;
        }
        let skipped = self.nowhere.count(IssueCode::NotARun);
        Ok((self.nowhere, skipped))
    }
}

fn manifest(mapping: &Mapping, facts: &[Fact]) -> Manifest {
    let run = &mapping.run;
    let how = match &mapping.file {
        Some(file) => format!("by the mapping {}", crate::input::source::base_name(std::path::Path::new(file))),
        None => "by columns under postrun's own names".to_string(),
    };
    let tool = run.tool.clone().unwrap_or_else(|| "a load generator of its own".to_string());
    let mut manifest = of_tool(&tool, run.version.clone(), &how);
    manifest.model.clone_from(&run.model);
    manifest.load.dataset.clone_from(&run.dataset);
    manifest.load.backend.clone_from(&run.backend);
    manifest.load.request_rate = run.request_rate;
    manifest.load.max_concurrency = run.max_concurrency;
    manifest.duration_ns = run.duration_s.map(|s| (s * 1e9).round() as i64);
    let tokens = match run.tokens_by_server {
        Some(true) => TokenSource::Server,
        Some(false) => TokenSource::ClientTokenizer,
        None => TokenSource::Unknown,
    };
    manifest.output_tokens_source = tokens;
    manifest.prompt_tokens_source = tokens;
    let has = |any: &[Fact]| any.iter().any(|fact| facts.contains(fact));
    let lists = [Fact::Gaps, Fact::ChunkOffsets, Fact::ChunkTimes];
    let absent = [
        (!has(&[Fact::Sent]), "send times"),
        (!has(&[Fact::Ttft, Fact::FirstToken, Fact::ChunkOffsets, Fact::ChunkTimes]), "the first token"),
        (!has(&[Fact::E2e, Fact::LastToken]) && !has(&lists), "the last token: the end of the response stands for it"),
        (!has(&lists), "chunk times"),
        (!has(&[Fact::PromptTokens]), "prompt tokens"),
        (!has(&[Fact::OutputTokens]), "output tokens"),
        (!has(&[Fact::Status, Fact::Error]), "requests that failed"),
        (!has(&[Fact::Queue]), "time in the server's queue"),
        (!has(&[Fact::Preemptions]), "preemptions"),
    ];
    manifest.not_recorded =
        absent.into_iter().filter(|(absent, _)| *absent).map(|(_, fact)| fact.to_string()).collect();
    manifest
}
