//! Tables of requests from load generators of your own: CSV, JSON lines or Parquet, with a mapping of their columns.
//!
//! # Which files
//! One row a request, in a CSV with a heading (comma, semicolon or tab), in JSON (lines, an array, or a list inside one
//! object) or in Parquet (snappy, zstd, gzip, LZ4). Columns that carry postrun's own names are read without a word:
//! recognised where one of them is a latency, or where there are sends and lengths, in JSON and CSV; a Parquet file is named by you. For other names a mapping
//! says which column is what: `postrun report my.csv --mapping map.toml`. Files that another format claims stay that format's.
//!
//! # Names that need no mapping
//! Times end in their unit: `_s`, `_ms`, `_us`, `_ns`, points in time also in `_iso8601`.
//!
//! - points in time: `sent` (or `send`), `scheduled_send`, `first_token`, `last_token`, `end`
//! - durations since the send: `ttft`, `e2e` (to the last token), `stream_end`, `first_byte`
//! - durations inside the server: `queue`, `prefill`, `decode`, `inference`
//! - lists, for each chunk with a token: `gaps` (between chunks, without the first token), or `chunk_offsets` (since the send),
//!   or `chunk_times` (on the clock of `sent`); beside them `chunk_tokens`
//! - counts: `prompt_tokens` (or `input_tokens`), `output_tokens` (or `completion_tokens`), `cached_tokens`,
//!   `reasoning_tokens`, `requested_output_tokens` (or `max_tokens`), `first_chunk_tokens`, `preemptions`, `turn`
//! - words: `request_id`, `model`, `session`, `worker`, `phase`, `status` (or `success`), `error`, `finish_reason`, `streamed`
//! - `run`: rows with different values are different runs
//!
//! With `sent` and lengths alone, such as `sent_s,prompt_tokens,output_tokens`, it is a workload: what was asked, and no answers.
//! So `request_id,sent_s,ttft_ms,e2e_ms,prompt_tokens,output_tokens,gaps_ms,error` is a complete heading.
//!
//! # A mapping
//! - `[columns]`
//! - `request_id = "id"`
//! - `sent = { column = "started", unit = "iso8601" }`
//! - `ttft = { column = "first_token_latency", unit = "ms" }`
//! - `e2e = "latency_ms"` (the name tells the unit)
//! - `output_tokens = "usage.completion_tokens"` (a member inside a member)
//! - `gaps = { column = "token_gaps", unit = "s", optional = true }`
//! - `status = { column = "state", ok = ["served"], cancelled = ["gave up"] }`
//! - `run = "concurrency"`
//!
//! Beside `[columns]`: `rows = "results.requests"` (where the list lies inside one JSON object), `delimiter = ";"`, and a table
//! `[run]` with `tool`, `version`, `model`, `dataset`, `backend`, `request_rate`, `max_concurrency`, `duration_s`,
//! `tokens_counted_by = "server"` or `"client"`. What is wrong in it is told with file, line and column.
//!
//! # How the values are read
//! - Points in time are Unix times from 2000 on, else of a clock of their own; only their distances count. Dates without
//!   a zone are read as UTC.
//! - Lists in a CSV are cells such as `[0.01, 0.02]` or `0.01;0.02`. Empty cells, null, None and NA are not recorded.
//! - A row with an error text, or a status that says so, failed: its times are no latencies. Status words are known in the
//!   usual spellings, also as true and false and as codes of HTTP. A word that nobody knows is counted, and is no answer: where the
//!   mapping lists the words for ok, the request failed, else it is neither answered nor failed (incomplete).
//! - Where only the end of the response is recorded, it stands for the last token. Where there are chunks, the last one is.
//! - Values that cannot be are taken as not recorded and counted. A column of which most cannot be is refused, with the unit
//!   that would fit. Times that no server has, though possible, are reported as units in doubt: first tokens within 0.5 ms
//!   or after an hour, a token every 0.1 ms or every 10 s, streams that end after 100 times the time to their last token, send times that are
//!   dates in a coarser unit.
//! - Of two columns that hold the same fact (`ttft_ms`, `ttft_s`) the first counts, and the other is told.
//! - A CSV without a line break at its end may have been cut: its last row is left out.
//!
//! # Versions seen
//! None: the columns are yours.
//!
//! # What is not recorded
//! Whatever no column holds. Chunk times are never made up of means.

mod columns;
mod csv_rows;
mod doubts;
mod json_rows;
mod parquet_rows;
mod row;
mod runs;
#[cfg(test)]
mod tests;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::mapping::{Mapping, PARQUET_MAGIC, heading_of, own_columns, tell_requests};
use crate::sink::RunSink;
use postrun_schema::Doc;

pub(super) static MAPPING: Ingestor = Ingestor {
    id: "mapping",
    title: "table of requests",
    doc: Doc::from_source(include_str!("mapping.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    if head.bytes.starts_with(PARQUET_MAGIC) {
        return Sniff::Weak;
    }
    let columns = match head.keys.is_empty() {
        true => own_columns(heading_of(head.bytes, None).iter().map(String::as_str)),
        false => own_columns(head.keys.iter().map(String::as_str)),
    };
    // One name alone may be chance.
    match columns.len() > 1 && tell_requests(&columns) {
        true => Sniff::Plain,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let mapping = sink.mapping.clone();
    let first = source.head.iter().position(|b| !b.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(b));
    match first.and_then(|at| source.head.get(at)) {
        _ if source.head.starts_with(PARQUET_MAGIC) => parquet_rows::read(source, sink, mapping.as_deref()),
        Some(b'{' | b'[') => json_rows::read(source, sink, mapping.as_deref()),
        _ => csv_rows::read(source, sink, mapping.as_deref()),
    }
}

/// A table in which nothing says how long a request took, or when one of which length was sent.
fn refuse_unknown(file: &str, mapping: &Mapping, names: &[String]) -> Result<(), IngestError> {
    if tell_requests(&mapping.columns) {
        return Ok(());
    }
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("{name:?}")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    let message = format!(
        "no column has one of postrun's names for a latency, nor are there sends and lengths (it has {}{more}); say which column is what with --mapping FILE, \
         see `postrun explain mapping`",
        shown.join(", ")
    );
    Err(IngestError::Column { file: file.to_string(), message })
}
