//! GuideLLM's `benchmarks.json`: requests with their first and last token, several benchmarks a file.
//!
//! # Which files
//! The JSON report of `guidellm benchmark` / `guidellm run`: one object with `benchmarks`, one entry for every strategy or
//! rate, each of which becomes a run (`c64`, `r4`, `throughput`). Recognised by `type_: generative_benchmark`.
//! Its YAML holds the same tree and is not read, its CSV the same figures: beside this file it is left alone (guidellm_csv).
//!
//! # Versions seen
//! 0.8.1 and a fixture of report schema 2 (real files); 0.2 to 0.7 by their sources: requests with
//! `info.timings` from 0.4 on, flat ones with `first_token_time` before.
//!
//! # How the figures are read
//! - Lists decide how a request ended: `successful`, `errored`, and `incomplete`, which the end of the run cut off.
//! - TTFT and e2e are to the first and last chunk with text; `request_latency` runs to the end of the response and is
//!   kept as the stream's end. `request_iterations` beyond `token_iterations` are chunks without text.
//! - Only first, last and number of chunks are kept: there are no gaps, and none are made up. The client's "inter-token
//!   latency" is TPOT here, weighted by tokens; its "time per output token" divides from the send on, prefill included
//!   (0.2 and 0.3: from the first token). Percentiles are values that occur, not interpolated.
//! - `targeted_start` is when the client meant to send. `queued` is its own queue and no server's.
//! - Times are wall-clock seconds in floats, good to 0.2 µs.
//! - Round trips of requests that send several messages, waits for the turn before, and tokens, words and characters of
//!   the texts go into the `extras` table. `text.*` of the report are statistics of the latter.
//! - A list can be a sample; where it is shorter than the totals say, that is counted.
//!
//! # What is not recorded
//! Chunk times, finish reasons, time in the server's queue. Requests of warm-up and cool-down are not in the file.

mod benchmark;
pub(super) mod figures;
mod request;
#[cfg(test)]
mod tests;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{self, ONE_OBJECT, RecordError};
use crate::json::{JsonReader, Result, Tree};
use crate::sink::RunSink;
use benchmark::Benchmark;
use postrun_schema::{Doc, IssueCode};
use std::io::Read;

pub(super) static GUIDELLM: Ingestor = Ingestor {
    id: "guidellm",
    title: "GuideLLM report",
    doc: Doc::from_source(include_str!("guidellm.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let holds = |word: &str| memchr::memmem::find(head.bytes, word.as_bytes()).is_some();
    match head.has_any(&["benchmarks"]) {
        true if holds("\"generative_benchmark\"") || holds("\"guidellm_version\"") => Sniff::Strong,
        true => Sniff::Weak,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> std::result::Result<(), IngestError> {
    let file = source.name.clone();
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let walked = records::walk(&file, ONE_OBJECT, &mut reader, |reader| {
        let mut report = Report { sink, file: &file, metadata: Tree::Null, open: None, failure: None };
        let not_utf8 = reader.not_utf8;
        let read = report.read(reader);
        // What was read of a benchmark before the file broke is a run all the same.
        if let Some(mut open) = report.open.take() {
            let bad = reader.not_utf8 - not_utf8;
            open.rows.issues.add_many(IssueCode::NotUtf8, bad, || file.clone(), || format!("{bad} text(s)"));
            report.close(open);
        }
        match report.failure {
            Some(failure) => Err(RecordError::Fatal(failure)),
            None => read.map_err(RecordError::from),
        }
    })?;
    drop(reader);
    sink.close(source, text, GUIDELLM.id, walked)
}

/// One report while it is read.
struct Report<'a, 'b> {
    sink: &'a mut RunSink<'b>,
    file: &'a str,
    metadata: Tree,
    open: Option<Benchmark>,
    failure: Option<IngestError>,
}

impl Report<'_, '_> {
    fn read<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        reader.object(|reader, key| match key {
            "metadata" => reader.tree(200).map(|value| self.metadata = value),
            "benchmarks" => reader.array(|reader| self.benchmark(reader)).map(drop),
            _ => reader.skip_value(),
        })
    }

    fn benchmark<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        if self.failure.is_some() || reader.peek()? != Some(b'{') {
            return reader.skip_value();
        }
        match Benchmark::create(self.sink) {
            Ok(new) => {
                let open = self.open.insert(new);
                open.read(reader, self.file)?;
            }
            Err(e) => {
                self.failure = Some(e);
                return reader.skip_value();
            }
        }
        if let Some(open) = self.open.take() {
            self.close(open);
        }
        Ok(())
    }

    fn close(&mut self, open: Benchmark) {
        let version = self.metadata.get("guidellm_version").text().map(String::from);
        if let Err(e) = open.commit(self.sink, self.file, version) {
            self.failure.get_or_insert(e);
        }
    }
}
