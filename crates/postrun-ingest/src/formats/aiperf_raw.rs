//! AIPerf's `profile_export_raw.jsonl`: one line a request, with every message of its answer as it came.
//!
//! # Which files
//! What `aiperf profile --export-level raw` writes: a line a request with `metadata`, `start_perf_ns`, `payload` and
//! `responses`. Recognised by `metadata`, `start_perf_ns` and `responses`. Where the server sent its usage with every answer,
//! the `profile_export.jsonl` of the same folder gives way to it, and lends it the phases of the HTTP exchange; where it
//! did not, lengths stand only there, and this file gives way. The summary becomes what the client reported, as with the records.
//!
//! # Versions seen
//! 0.1.1 and newer ones by their sources; no real file was at hand.
//!
//! # How the figures are read
//! - `start_perf_ns` and the `perf_ns` of a message are of one steady clock of one worker; only their distance counts, and
//!   is added to `request_start_ns`, which is Unix time.
//! - TTFT and e2e are to the first and last message with content (text, reasoning or a tool call). Messages with a role,
//!   usage or `[DONE]` alone are the first byte or the end of the stream. AIPerf 0.1.1 took any message it could parse.
//! - Each message with content is a chunk; how many tokens are in it is not told.
//! - Lengths, cached tokens and finish reasons are the server's, from the answer. Texts are not tokenized.
//! - Prompts, answers and headers (which may hold credentials) are not kept.
//!
//! # What is not recorded
//! Lengths where the server sends no usage, tokens per chunk, time in the server's queue, preemptions.

use super::aiperf_records::{FAMILY, Frame};
use crate::client::answer::Answer;
use crate::client::file;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{clock, of_tool};
use crate::client::run_rows::{ChunkTimes, RunRows};
use crate::client::value::{Judge, TEXT_BYTES, text};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::json::{JsonReader, Result, Tree};
use crate::sink::RunSink;
use postrun_schema::{ClockKind, Doc, IssueCode, Issues, RequestRow, Status, TokenSource};
use std::io::Read;

pub(super) static AIPERF_RAW: Ingestor = Ingestor {
    id: "aiperf_raw",
    title: "AIPerf raw export",
    doc: Doc::from_source(include_str!("aiperf_raw.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// One message; a longer one is cut, and what is cut does not parse.
const MESSAGE_BYTES: usize = 1 << 20;

fn sniff(head: &Head) -> Sniff {
    let has = |key: &[u8]| memchr::memmem::find(head.bytes, key).is_some();
    let keys = head.has_all(&["metadata", "start_perf_ns"]);
    // A long prompt can fill the head before the responses begin.
    match keys && (head.keys.contains("responses") || has(b"\"request_start_ns\"")) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> std::result::Result<(), IngestError> {
    let state = (RunRows::create(sink)?, About { lengths: true, model: None });
    file::read(
        source,
        sink,
        AIPERF_RAW.id,
        state,
        |(rows, about), reader, _, place| {
            let record = Record::read(reader)?;
            if record.frame.metadata == Tree::Null {
                return Err(RecordError::NotARun("no metadata".to_string()));
            }
            let (row, chunks) = record.row(&mut rows.issues, place);
            about.lengths &= row.status != Status::Ok || row.output_tokens.is_some();
            about.model = about.model.take().or_else(|| row.model.clone());
            rows.push(row, &chunks, place).map_err(RecordError::Fatal)
        },
        |(rows, about), sink, file| match rows.len() {
            0 => Ok(()),
            _ => about.commit(rows, file, sink),
        },
    )
}

/// What the lines say of the run.
struct About {
    /// The server told the lengths of every answer.
    lengths: bool,
    model: Option<String>,
}

impl About {
    fn commit(self, rows: RunRows, file: &str, sink: &mut RunSink<'_>) -> std::result::Result<(), IngestError> {
        let written = rows.finish(file, "aiperf raw")?;
        let mut manifest =
            of_tool("AIPerf", None, "by the members of its raw export; the summary beside it has the version");
        manifest.model = self.model;
        manifest.clocks.client = clock(ClockKind::Wall, written.origin_ns);
        manifest.output_tokens_source = TokenSource::Server;
        manifest.prompt_tokens_source = TokenSource::Server;
        let mut absent = vec!["tokens per chunk", "time in the server's queue", "preemptions"];
        if !self.lengths {
            absent.insert(0, "token counts of every answer: the server sent no usage with some");
        }
        manifest.not_recorded = absent.into_iter().map(String::from).collect();
        let layer = if self.lengths { Layer::Responses } else { Layer::ResponsesWithoutLengths };
        let window_unix_ns = written.origin_ns.zip(written.latest_ns);
        let part = Part { window_unix_ns, ..Part::of(FAMILY, layer) };
        written.commit(sink, manifest, String::new(), Some(part))
    }
}

/// One line.
#[derive(Default)]
struct Record {
    frame: Frame,
    start: Tree,
    payload: Tree,
    status: Tree,
    /// When each message came, and whether it held content.
    messages: Vec<(Tree, bool)>,
    answer: Answer,
}

impl Record {
    fn read<R: Read>(reader: &mut JsonReader<R>) -> Result<Record> {
        let mut record = Record::default();
        reader.object(|reader, key| match key {
            "metadata" => reader.tree(TEXT_BYTES).map(|value| record.frame.metadata = value),
            "error" => reader.tree(TEXT_BYTES).map(|value| record.frame.error = value),
            "start_perf_ns" => reader.tree(64).map(|value| record.start = value),
            "payload" => reader.tree(200).map(|value| record.payload = value),
            "status" => reader.tree(64).map(|value| record.status = value),
            "responses" if reader.peek()? == Some(b'[') => reader.array(|reader| record.message(reader)).map(drop),
            _ => reader.skip_value(),
        })?;
        Ok(record)
    }

    fn message<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        let message = reader.tree(MESSAGE_BYTES)?;
        let packets = message.get("packets").elements().iter().filter(|p| p.get("name").text() == Some("data"));
        let mut content = false;
        for data in packets.filter_map(|packet| packet.get("value").text()) {
            content |= self.answer.hear(&format!("data: {data}"));
        }
        if let Some(body) = message.get("text").text() {
            content |= self.answer.hear(body);
        }
        self.messages.push((message.get("perf_ns").clone(), content));
        Ok(())
    }

    fn row(self, issues: &mut Issues, place: &dyn Fn() -> String) -> (RequestRow, ChunkTimes) {
        let judge = &mut Judge { issues, place };
        let mut frame = self.frame.row(judge);
        if frame.status == Status::Ok && self.answer.error.is_some() {
            frame.status = Status::Error;
        }
        let refused = self.status.count().filter(|code| *code >= 400);
        if let (Status::Ok, Some(code)) = (frame.status, refused) {
            frame.status = Status::Error;
            frame.error = Some(format!("HTTP {code}"));
        }
        let since = self.since_start(judge).unwrap_or_default();
        let with_content: Vec<i64> = since.iter().filter(|(_, content)| *content).map(|(at, _)| *at).collect();
        let (first, last) = (with_content.first().copied(), with_content.last().copied());
        let end = since.last().map(|(at, _)| *at);
        let streamed = !self.answer.whole_body;
        let failed = frame.status == Status::Error;
        let wanted = ["max_completion_tokens", "max_tokens"];
        let row = RequestRow {
            model: text(self.payload.get("model")),
            error: frame.error.or(self.answer.error),
            finish_reason: self.answer.finish_reason,
            streamed: first.filter(|_| !failed).map(|_| streamed),
            prompt_tokens: self.answer.prompt_tokens,
            cached_tokens: self.answer.cached_tokens,
            output_tokens: self.answer.output_tokens,
            requested_output_tokens: wanted.iter().find_map(|key| self.payload.get(key).count()),
            ttft_ns: first.filter(|ns| streamed && *ns > 0),
            e2e_ns: last.filter(|_| !failed),
            stream_end_ns: end.filter(|end| last.is_none_or(|last| *end > last)),
            first_byte_ns: since.first().map(|(at, _)| *at).filter(|at| first.is_some_and(|first| *at < first)),
            ..frame
        };
        let at_ns = if streamed && !failed { with_content } else { Vec::new() };
        (row, ChunkTimes { at_ns, tokens: Vec::new() })
    }

    /// When the messages came since the request was sent. None where one time cannot be: the others would be without it.
    fn since_start(&self, judge: &mut Judge<'_>) -> Option<Vec<(i64, bool)>> {
        let start = match (&self.start, self.start.integer()) {
            (Tree::Null, _) => return None,
            (_, Some(start)) => start,
            _ => {
                let place = judge.place;
                let example = || "expected whole nanoseconds".to_string();
                judge.issues.add(IssueCode::WrongType, || format!("{}: start_perf_ns", place()), example);
                return None;
            }
        };
        let mut out: Vec<(i64, bool)> = Vec::with_capacity(self.messages.len());
        for (perf, content) in &self.messages {
            let at = judge.point_ns("perf_ns", perf)?.saturating_sub(start);
            let since_last = at.saturating_sub(out.last().map_or(0, |(at, _)| *at));
            judge.plausible("perf_ns", since_last)?;
            out.push((judge.plausible("perf_ns", at)?, *content));
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests;
