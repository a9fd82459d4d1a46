//! EvalScope's stress test (`evalscope perf`): the database of its requests, and the figures stored beside it.
//!
//! # Which files
//! `benchmark_data.db`, an SQLite database whose table `result` has a row a request; recognised by the file's first bytes
//! and the table's columns. `benchmark_summary.json` and `benchmark_percentile.json` of the same folder lend their figures
//! to the run of the database; without it they are one run without requests. A parallel run (`parallel_4_number_10`) is a
//! folder, so a sweep becomes one run a folder. `benchmark_args.json`, `workload_*.json` and the report are not read.
//!
//! The database is opened read-only and as immutable: nothing is locked, no journal is written beside it. What lies in a
//! journal beside it (`-wal`, `-journal`: it is being written, or was not closed) is not read, and told. Standard input and
//! compressed databases are first written to a temporary file. A file that is cut gives the rows before the cut; rows whose
//! pages are missing or empty are left out.
//!
//! # Versions seen
//! 1.14.1. Columns are taken by name; `chunk_times` is the older name of `inter_token_latencies`, and a table without
//! `is_stream` or `request_id` is an older one. Percentiles named in seconds are older too.
//!
//! # How the figures are read
//! - `start_time` and `completed_time` are seconds of a monotonic clock. `inter_token_latencies` are gaps between chunks, so
//!   e2e is first token plus gaps; `latency` runs on to the closing chunk and becomes the stream's end.
//! - The duration is first send to last completion over all rows, as the tool takes it; its summary rounds it.
//! - Percentiles are the value at rank ceil(n·p), rounded to four decimals; means in milliseconds to two.
//! - `response_messages` is a Python pickle and never looked at.
//!
//! # What is not recorded
//! Error texts, wall-clock times, cached tokens, preemptions, finish reasons, tokens per chunk; request ids unless a trace
//! was replayed. The request that tests the connection is not in the table.

mod database;
mod figures;

use crate::client::file;
use crate::client::layer::{Layer, Part};
use crate::client::object::Object;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, ReportedRow};

pub(super) static EVALSCOPE_PERF: Ingestor = Ingestor {
    id: "evalscope_perf",
    title: "EvalScope perf database and figures",
    doc: Doc::from_source(include_str!("evalscope_perf.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// The name under which the database and its figures find each other.
const FAMILY: &str = "evalscope perf";
/// How every SQLite database starts.
const MAGIC: &[u8] = b"SQLite format 3\0";

fn sniff(head: &Head) -> Sniff {
    let names = |text: &[u8]| memchr::memmem::find(head.bytes, text).is_some();
    let table = names(b"first_chunk_latency") && (names(b"inter_token_latencies") || names(b"chunk_times"));
    let summary = head.has_all(&["Test Duration (s)", "Total Requests"]);
    let percentiles = head.has_all(&["Percentiles"]) && head.has_any(&["TTFT (ms)", "TTFT (s)"]);
    match (head.bytes.starts_with(MAGIC) && table) || summary || percentiles {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    if source.head.starts_with(MAGIC) {
        return database::ingest(source, sink);
    }
    file::read(
        source,
        sink,
        EVALSCOPE_PERF.id,
        Vec::new(),
        |percentiles: &mut Vec<ReportedRow>, reader, sink, _| {
            let object = Object::read(reader, None)?;
            if object.has("Percentiles") {
                percentiles.extend(figures::percentiles(&object));
                return Ok(());
            }
            if !object.has("Total Requests") {
                return Err(RecordError::NotARun("neither a summary nor percentiles".to_string()));
            }
            figures::summary(&object, sink).map_err(RecordError::Fatal)
        },
        |reported, sink, _| {
            if reported.is_empty() {
                return Ok(());
            }
            let part = Part { reported, ..Part::of(FAMILY, Layer::Supplement) };
            sink.commit_figures(FinishedRun::of_figures(figures::manifest(), part))
        },
    )
}

#[cfg(test)]
mod tests;
