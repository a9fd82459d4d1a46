//! One benchmark of a report: its requests as they stream by, its settings and its figures.

use super::figures;
use super::request::Ended;
use crate::bench::facts::load_shape;
use crate::client::manifest::{clock, of_tool};
use crate::client::run_rows::{ChunkTimes, RunRows};
use crate::client::value::TEXT_BYTES;
use crate::error::IngestError;
use crate::json::{JsonReader, Result, Tree};
use crate::sink::{Fingerprint, RunSink};
use postrun_schema::{ClockKind, Counted, IssueCode, Load, Manifest, ReportedRow, TokenSource};
use std::io::Read;

pub(super) struct Benchmark {
    pub(super) rows: RunRows,
    /// Members that hold settings: `config` (0.5 and newer), `scheduler`, `benchmarker` (0.4), `args`, `worker` (0.3).
    settings: Vec<(String, Tree)>,
    totals: Tree,
    figures: Vec<ReportedRow>,
    flat_requests: bool,
    failure: Option<IngestError>,
}

const SETTINGS: &[&str] =
    &["config", "scheduler", "benchmarker", "args", "worker", "run_stats", "start_time", "end_time", "duration"];

impl Benchmark {
    pub(super) fn create(sink: &mut RunSink<'_>) -> std::result::Result<Benchmark, IngestError> {
        Ok(Benchmark {
            rows: RunRows::create(sink)?,
            settings: Vec::new(),
            totals: Tree::Null,
            figures: Vec::new(),
            flat_requests: false,
            failure: None,
        })
    }

    pub(super) fn read<R: Read>(&mut self, reader: &mut JsonReader<R>, file: &str) -> Result<()> {
        reader.object(|reader, key| match key {
            "requests" if reader.peek()? == Some(b'{') => self.requests(reader, file),
            "metrics" if reader.peek()? == Some(b'{') => self.metrics(reader),
            "request_totals" => reader.tree(64).map(|value| self.totals = value),
            key if SETTINGS.contains(&key) => {
                let value = reader.tree(TEXT_BYTES)?;
                self.settings.push((key.to_string(), value));
                Ok(())
            }
            _ => reader.skip_value(),
        })
    }

    fn requests<R: Read>(&mut self, reader: &mut JsonReader<R>, file: &str) -> Result<()> {
        reader.object(|reader, list| {
            let Some(ended) = Ended::of_list(list) else { return reader.skip_value() };
            let list = list.to_string();
            let mut index = 0u64;
            let (start, is_null) = (reader.offset(), reader.peek()? == Some(b'n'));
            let is_list = reader.array(|reader| {
                let byte = reader.offset();
                let record = reader.tree(TEXT_BYTES)?;
                let at = index;
                index += 1;
                let place = || format!("{file}: {list}[{at}], byte {byte}");
                self.request(&record, ended, &place);
                Ok(())
            })?;
            if !is_list && !is_null {
                let place = || format!("{file}: {list}, byte {start}");
                self.rows.issues.add(IssueCode::WrongType, place, || "expected a list of requests".to_string());
            }
            Ok(())
        })
    }

    fn request(&mut self, record: &Tree, ended: Ended, place: &dyn Fn() -> String) {
        if record.members().is_empty() {
            self.rows.issues.add(IssueCode::BadRecord, place, || "a request that is no object".to_string());
            return;
        }
        self.flat_requests |= record.get("info").members().is_empty();
        let row = ended.row(record, &mut self.rows.issues, place);
        let extras = Ended::extras(record, &mut self.rows.issues, place);
        if let Err(e) = self.rows.push_with(row, &ChunkTimes::default(), &extras, place) {
            self.failure.get_or_insert(e);
        }
    }

    /// Figures of the successful requests; those of the others are no latencies.
    fn metrics<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        let mut found: Vec<(String, Tree)> = Vec::new();
        reader.object(|reader, metric| {
            if metric == "request_totals" {
                return reader.tree(64).map(|value| self.totals = value);
            }
            if reader.peek()? != Some(b'{') {
                return reader.skip_value();
            }
            if metric == "text" {
                return texts(reader, &mut found);
            }
            let metric = metric.to_string();
            of_successful(reader, &metric, &mut found)
        })?;
        for (metric, stats) in found {
            figures::add(&metric, &stats, &mut self.figures);
        }
        Ok(())
    }

    fn setting(&self, path: &[&str]) -> &Tree {
        static NOTHING: Tree = Tree::Null;
        let Some((first, rest)) = path.split_first() else { return &NOTHING };
        let start = self.settings.iter().find(|(key, _)| key == first).map_or(&NOTHING, |(_, value)| value);
        rest.iter().fold(start, |tree, key| tree.get(key))
    }

    /// The first of these that is there.
    fn either<'a>(&'a self, paths: &[&[&str]]) -> &'a Tree {
        static NOTHING: Tree = Tree::Null;
        paths.iter().map(|path| self.setting(path)).find(|value| **value != Tree::Null).unwrap_or(&NOTHING)
    }

    fn strategy(&self) -> &Tree {
        self.either(&[&["config", "strategy"], &["scheduler", "strategy"], &["args", "strategy"]])
    }

    pub(super) fn commit(
        mut self,
        sink: &mut RunSink<'_>,
        file: &str,
        version: Option<String>,
    ) -> std::result::Result<(), IngestError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.rows.len() == 0 && self.figures.is_empty() {
            return Ok(());
        }
        self.check_sample(file);
        figures::totals(&self.totals, &mut self.figures);
        figures::older_conventions(self.flat_requests, &mut self.figures);
        let mut manifest = self.manifest(version);
        let shape = self.shape(&manifest.load);
        let values = format!("{:?} {:?}", self.figures, self.totals);
        let mut written = self.rows.finish(file, &values)?;
        manifest.clocks.client = clock(ClockKind::Wall, written.origin_ns);
        self.figures.into_iter().for_each(|row| written.writer.push_reported(row));
        written.fingerprint = written.fingerprint.or(Some(Fingerprint { values, requests: None }));
        written.commit(sink, manifest, shape, None)
    }

    fn check_sample(&mut self, file: &str) {
        let total = self.totals.get("successful").count().map_or(0, u64::from);
        let (kept, all) = (self.rows.totals.ok, total);
        if self.rows.len() > 0 && kept < all {
            let example = || format!("{kept} of {all} successful requests");
            self.rows.issues.add_many(IssueCode::SampledRequests, all - kept, || file.to_string(), example);
        }
    }

    fn manifest(&self, version: Option<String>) -> Manifest {
        let how = match version {
            Some(_) => "guidellm_version in the report",
            None => "the report names no version",
        };
        let mut manifest = of_tool("GuideLLM", version, how);
        let model = self.either(&[
            &["config", "backend", "model"],
            &["benchmarker", "backend", "model"],
            &["args", "backend", "model"],
            &["worker", "backend_model"],
        ]);
        manifest.model = model.text().map(String::from);
        manifest.load = self.load();
        manifest.duration_ns = self.duration_ns();
        manifest.duration_from_unix_ns = manifest.duration_ns.and_then(|_| self.setting(&["start_time"]).seconds_ns());
        let total = |key: &str| self.totals.get(key).count().map(u64::from);
        manifest.counted = Counted { completed: total("successful"), failed: total("errored"), ..Counted::default() };
        let sum = |metric: &str| {
            let row = self.figures.iter().find(|row| row.metric == metric && row.stat == "sum")?;
            row.value.filter(|v| (0.0..1e15).contains(v)).map(|v| v.round() as u64)
        };
        manifest.counted.prompt_tokens = sum("prompt_token_count");
        manifest.counted.output_tokens = sum("output_token_count");
        manifest.output_tokens_source = TokenSource::ServerElseClient;
        manifest.prompt_tokens_source = TokenSource::ServerElseClient;
        manifest.not_recorded =
            ["chunk times", "finish reasons", "time in the server's queue", "preemptions"].map(String::from).to_vec();
        if self.rows.len() == 0 {
            manifest.not_recorded.push("anything about single requests: the lists are empty".to_string());
        }
        manifest
    }

    /// The window of measurement, as the client gives it.
    fn duration_ns(&self) -> Option<i64> {
        let between = |from: &[&str], to: &[&str]| Some(self.setting(to).number()? - self.setting(from).number()?);
        let seconds = self
            .setting(&["duration"])
            .number()
            .or_else(|| between(&["start_time"], &["end_time"]))
            .or_else(|| between(&["run_stats", "start_time"], &["run_stats", "end_time"]))?;
        (1e-6..1e9).contains(&seconds).then(|| (seconds * 1e9).round() as i64)
    }

    fn load(&self) -> Load {
        let strategy = self.strategy();
        let number = |key: &str| strategy.get(key).number().filter(|v| v.is_finite() && *v > 0.0 && *v < 1e9);
        let kind = strategy.get("type_").text().unwrap_or_default();
        let streams = match kind {
            "synchronous" => Some(1.0),
            "concurrent" => number("streams"),
            "throughput" => number("max_concurrency"),
            _ => None,
        };
        let prompts = self.either(&[
            &["config", "constraints", "max_requests", "args", "count"],
            &["config", "constraints", "max_requests", "args", "max_num"],
            &["args", "max_number"],
        ]);
        let mut load = Load {
            request_rate: number("rate").filter(|_| !matches!(kind, "concurrent" | "throughput" | "synchronous")),
            unbounded: matches!(kind, "concurrent" | "throughput" | "synchronous"),
            burstiness: (kind == "poisson").then_some(1.0),
            max_concurrency: streams.map(|s| s as u32),
            num_prompts: prompts.count().map(u64::from),
            backend: self
                .either(&[&["config", "backend", "request_format"], &["worker", "backend_type"]])
                .text()
                .map(String::from),
            ..Load::default()
        };
        if !kind.is_empty() {
            load.other.insert("strategy".to_string(), kind.to_string());
        }
        load
    }

    fn shape(&self, load: &Load) -> String {
        match load_shape(load, None) {
            shape if shape.is_empty() => load.other.get("strategy").cloned().unwrap_or_default(),
            shape => shape,
        }
    }
}

/// `text` holds its units, these what was measured, and that the lists of requests: `text.words.input`.
fn texts<R: Read>(reader: &mut JsonReader<R>, found: &mut Vec<(String, Tree)>) -> Result<()> {
    reader.object(|reader, unit| {
        if reader.peek()? != Some(b'{') {
            return reader.skip_value();
        }
        let unit = unit.to_string();
        reader.object(|reader, side| {
            if reader.peek()? != Some(b'{') {
                return reader.skip_value();
            }
            let metric = format!("text.{unit}.{side}");
            of_successful(reader, &metric, found)
        })
    })
}

/// The statistics of one metric over the successful requests, of all groups that it has.
fn of_successful<R: Read>(reader: &mut JsonReader<R>, metric: &str, found: &mut Vec<(String, Tree)>) -> Result<()> {
    reader.object(|reader, group| match group {
        "successful" => reader.tree(64).map(|stats| found.push((metric.to_string(), stats))),
        _ => reader.skip_value(),
    })
}
