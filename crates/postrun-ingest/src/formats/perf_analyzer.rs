//! Triton perf_analyzer's profile export (also GenAI-Perf's): every response with the time it was read.
//!
//! # Which files
//! What `--profile-export-file` writes (`profile_export.json`): one object with `experiments`, one entry for every
//! concurrency or rate, each of which becomes a run (`c8`, `r4`). Recognised by `experiments` beside `service_kind`, or by
//! `response_timestamps` in it. GenAI-Perf's summary of the same folder is read as genai_perf_summary.
//!
//! # Versions seen
//! perf_analyzer of December 2025 by its sources; no real file was at hand.
//!
//! # How the figures are read
//! - All times are Unix nanoseconds of a clock that can step; a response that comes before the one before it is counted
//!   and its request keeps no times.
//! - A time stamp is one network read: it can hold several events, part of one, or only `[DONE]`. A read that does not
//!   start an event is joined to the one before, as GenAI-Perf does; reads without content carry no token.
//! - TTFT and e2e are to the first and last read with content (text, reasoning or a tool call). What came after is the
//!   end of the stream; an opening chunk with the role only is kept as the first byte.
//! - Lengths are the server's usage where it was sent; `output_ids` are counted. Texts are not tokenized: without usage
//!   there are no lengths. GenAI-Perf's own lengths come from its tokenizer.
//! - Triton responses count where any output is not empty.
//!
//! # What is not recorded
//! Request ids, failed requests (a request without responses, or with an error event, is all that shows), warm-up marks,
//! requests that ended outside a measurement window.

mod request;
#[cfg(test)]
mod tests;

use crate::bench::facts::load_shape;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{clock, of_tool};
use crate::client::run_rows::RunRows;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{self, ONE_OBJECT, RecordError};
use crate::json::{JsonReader, Result, Tree};
use crate::sink::RunSink;
use postrun_schema::{ClockKind, Doc, IssueCode, Manifest, TokenSource};
use request::Request;
use std::io::Read;

pub(super) static PERF_ANALYZER: Ingestor = Ingestor {
    id: "perf_analyzer",
    title: "perf_analyzer profile export",
    doc: Doc::from_source(include_str!("perf_analyzer.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// The name under which exports and summaries find each other.
pub(super) const FAMILY: &str = "perf_analyzer";

fn sniff(head: &Head) -> Sniff {
    let holds = |word: &str| memchr::memmem::find(head.bytes, word.as_bytes()).is_some();
    let ours = head.has_any(&["service_kind"]) || holds("\"response_timestamps\"") || holds("\"request_inputs\"");
    match head.has_any(&["experiments"]) {
        true if ours => Sniff::Strong,
        _ => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> std::result::Result<(), IngestError> {
    let file = source.name.clone();
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let walked = records::walk(&file, ONE_OBJECT, &mut reader, |reader| {
        let mut export = Export { sink, file: &file, open: None, failure: None };
        let read = export.read(reader);
        // What was read of an experiment before the file broke is a run all the same.
        export.close();
        match export.failure {
            Some(failure) => Err(RecordError::Fatal(failure)),
            None => read.map_err(RecordError::from),
        }
    })?;
    drop(reader);
    sink.close(source, text, PERF_ANALYZER.id, walked)
}

/// One file while it is read.
struct Export<'a, 'b> {
    sink: &'a mut RunSink<'b>,
    file: &'a str,
    open: Option<Experiment>,
    failure: Option<IngestError>,
}

/// One load level.
struct Experiment {
    rows: RunRows,
    settings: Tree,
    model: Option<String>,
    lengths: bool,
}

impl Export<'_, '_> {
    fn read<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        reader.object(|reader, key| match key {
            "experiments" => reader.array(|reader| self.experiment(reader)).map(drop),
            _ => reader.skip_value(),
        })
    }

    fn experiment<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        if self.failure.is_some() || reader.peek()? != Some(b'{') {
            return reader.skip_value();
        }
        match RunRows::create(self.sink) {
            Ok(rows) => self.open = Some(Experiment { rows, settings: Tree::Null, model: None, lengths: false }),
            Err(e) => {
                self.failure = Some(e);
                return reader.skip_value();
            }
        }
        reader.object(|reader, key| match key {
            "experiment" => {
                let settings = reader.tree(64)?;
                self.open.iter_mut().for_each(|open| open.settings = settings.clone());
                Ok(())
            }
            "requests" => {
                let mut index = 0u64;
                reader.array(|reader| {
                    index += 1;
                    self.request(reader, index - 1)
                })?;
                Ok(())
            }
            _ => reader.skip_value(),
        })?;
        self.close();
        Ok(())
    }

    fn request<R: Read>(&mut self, reader: &mut JsonReader<R>, index: u64) -> Result<()> {
        let byte = reader.offset();
        let file = self.file;
        let place = || format!("{file}: request {index}, byte {byte}");
        let Some(open) = &mut self.open else { return reader.skip_value() };
        if reader.peek()? != Some(b'{') {
            open.rows.issues.add(IssueCode::BadRecord, place, || "a request that is no object".to_string());
            return reader.skip_value();
        }
        let request = Request::read(reader)?;
        let (row, chunks) = request.row(&mut open.rows.issues, &place);
        open.model = open.model.take().or_else(|| row.model.clone());
        open.lengths |= row.output_tokens.is_some();
        if let Err(e) = open.rows.push(row, &chunks, &place) {
            self.failure.get_or_insert(e);
        }
        Ok(())
    }

    fn close(&mut self) {
        let Some(open) = self.open.take().filter(|open| open.rows.len() > 0) else { return };
        if let Err(e) = open.commit(self.sink, self.file) {
            self.failure.get_or_insert(e);
        }
    }
}

impl Experiment {
    fn commit(self, sink: &mut RunSink<'_>, file: &str) -> std::result::Result<(), IngestError> {
        let mut manifest = self.manifest();
        let shape = load_shape(&manifest.load, None);
        let written = self.rows.finish(file, &format!("{FAMILY} {shape}"))?;
        manifest.clocks.client = clock(ClockKind::Wall, written.origin_ns);
        let window_unix_ns = written.origin_ns.zip(written.latest_ns);
        let part = Part { window_unix_ns, ..Part::of(FAMILY, Layer::Requests) };
        written.commit(sink, manifest, shape, Some(part))
    }

    fn manifest(&self) -> Manifest {
        let mut manifest = of_tool("perf_analyzer", None, "by the members of its profile export");
        manifest.model.clone_from(&self.model);
        let value = self.settings.get("value").number().filter(|v| v.is_finite() && *v > 0.0 && *v < 4e9);
        match self.settings.get("mode").text() {
            Some("concurrency") => {
                manifest.load.max_concurrency = value.map(|v| v as u32);
                manifest.load.unbounded = true;
            }
            Some("request_rate") => manifest.load.request_rate = value,
            _ => {}
        }
        let tokens = if self.lengths { TokenSource::Server } else { TokenSource::Unknown };
        manifest.output_tokens_source = tokens;
        manifest.prompt_tokens_source = tokens;
        let absent =
            ["request ids", "requests that failed", "warm-up marks", "time in the server's queue", "preemptions"];
        manifest.not_recorded = absent.map(String::from).to_vec();
        if !self.lengths {
            manifest.not_recorded.push("token counts: the server sent no usage".to_string());
        }
        manifest
    }
}
