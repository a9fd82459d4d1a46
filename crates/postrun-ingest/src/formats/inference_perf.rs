//! inference-perf's `per_request_lifecycle_metrics.json`: an array of requests with the time of every chunk.
//!
//! # Which files
//! What a `request_lifecycle.per_request` report holds: one array, an object a request, with request and response texts.
//! Recognised by `start_time`, `end_time`, `request`, `info` and `error`. The summary and the stage reports of the same
//! folder are read as inference_perf_summary and become what the client reported of this run.
//!
//! # Versions seen
//! 0.7.0 (recorded); 0.2 and 0.3, whose `info` is flat, and 0.6 by their sources.
//!
//! # How the figures are read
//! - Times are seconds of a steady clock with an arbitrary zero. They can be compared with each other, never with a server.
//! - `output_token_times` has one entry a token; tokens of one chunk share its time. They are put together again: one
//!   chunk with so many tokens, by the client's tokenizer. In 0.2 and 0.3 it is one entry a chunk.
//! - e2e is to the last token; the client's latency runs to the end of the response, which is kept as the stream's end.
//! - Prompt and output lengths are the server's where it sent usage, else the client's tokenizer's.
//! - How many images, videos and audio clips a request had goes into the `extras` table; an `image` of null is none.
//! - A failed request stores 0 tokens, which is not a length.
//!
//! # What is not recorded
//! Request ids, the stage of a request, when it was meant to be sent, wall-clock times, time in the server's queue. Without
//! `response_chunks` in the report also finish reasons.

mod record;
#[cfg(test)]
mod tests;

use crate::client::file;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{clock, facts, of_tool};
use crate::client::run_rows::{RunRows, Written};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::sink::RunSink;
use postrun_schema::{ClockKind, Doc, TokenSource};
use record::Record;

pub(super) static INFERENCE_PERF: Ingestor = Ingestor {
    id: "inference_perf",
    title: "inference-perf per-request report",
    doc: Doc::from_source(include_str!("inference_perf.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// The name under which summaries and requests find each other.
pub(super) const FAMILY: &str = "inference-perf";

fn sniff(head: &Head) -> Sniff {
    let is_array = head.bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
    // The texts of a first request can be longer than the head.
    let opens = head.has_all(&["start_time", "end_time", "request"]);
    match () {
        () if is_array && opens && head.has_any(&["response", "info", "error"]) => Sniff::Strong,
        () if is_array && opens => Sniff::Weak,
        () => Sniff::No,
    }
}

/// What the run's model is known from, and whose token counts were met.
#[derive(Default)]
struct Seen {
    model: Option<String>,
    server_counts: bool,
    client_counts: bool,
    finish_reasons: bool,
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let state = (RunRows::create(sink)?, Seen::default());
    file::read(
        source,
        sink,
        INFERENCE_PERF.id,
        state,
        |(rows, seen), reader, _, place| {
            let record = Record::read(reader)?;
            let (row, chunks) = record.row(&mut rows.issues, place);
            let extras = record.extras(&mut rows.issues, place);
            if row.sent_ns.is_none() && row.e2e_ns.is_none() {
                return Err(RecordError::NotARun("an object without times".to_string()));
            }
            seen.model = seen.model.take().or_else(|| row.model.clone());
            seen.server_counts |= record.counted_by_server();
            seen.client_counts |= !record.counted_by_server() && row.output_tokens.is_some();
            seen.finish_reasons |= row.finish_reason.is_some();
            rows.push_with(row, &chunks, &extras, place).map_err(RecordError::Fatal)
        },
        |(rows, seen), sink, file| match rows.len() {
            0 => Ok(()),
            _ => commit(sink, rows.finish(file, FAMILY)?, seen),
        },
    )
}

fn commit(sink: &mut RunSink<'_>, written: Written, seen: Seen) -> Result<(), IngestError> {
    let mut manifest = of_tool("inference-perf", None, "by the fields of its report, which names no version");
    manifest.model = seen.model;
    manifest.clocks.client = clock(ClockKind::Monotonic, written.origin_ns);
    let tokens = match (seen.server_counts, seen.client_counts) {
        (true, false) => TokenSource::Server,
        (true, true) => TokenSource::ServerElseClient,
        (false, true) => TokenSource::ClientTokenizer,
        (false, false) => TokenSource::Unknown,
    };
    manifest.output_tokens_source = tokens;
    manifest.prompt_tokens_source = tokens;
    manifest.not_recorded =
        facts(&["request ids", "stages", "wall-clock times", "time in the server's queue", "preemptions"]);
    if !seen.finish_reasons {
        manifest.not_recorded.push("finish reasons".to_string());
    }
    written.commit(sink, manifest, String::new(), Some(Part::of(FAMILY, Layer::Requests)))
}
