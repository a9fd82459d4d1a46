//! AIPerf's `profile_export.jsonl`: one line a request, with a real gap for every chunk.
//!
//! # Which files
//! What `aiperf profile --export-level records` (or `raw`) writes: a line a request with `metadata` (wall clock, ids,
//! phase) and `metrics` (each a value with its unit). Recognised by `metadata` and `metrics` with `request_start_ns`.
//! The `profile_export_aiperf.json` of the same folder is read as aiperf_summary and becomes what the client
//! reported of this run.
//!
//! # Versions seen
//! 0.13.0 (recorded), 0.1.1 and schemas up to 1.5 by their sources. Metrics that other versions add are passed over.
//!
//! # How the figures are read
//! - Send, intended send (`credit_issued_ns`) and end are Unix times; TTFT, e2e and gaps are measured by a steady clock
//!   and only added to the send. The unit that stands beside a value decides, milliseconds usually.
//! - A gap of `inter_chunk_latency` lies between two chunks, not tokens; 0 where several came in one read.
//! - `request_latency` runs to the last token chunk; the end of the stream is up to some milliseconds later.
//! - Prompt and output lengths are the server's where it sent usage, else the client's tokenizer's, which knows no chat
//!   template. AIPerf computes its own figures with the latter.
//! - Phases of the HTTP exchange, reads, writes and bytes go into the `extras` table, bytes from AIPerf's KB of 1024.
//! - A failed line holds no times but its send, and none is made up. `was_cancelled` is a cancellation.
//! - Phases other than `profiling` are warm-up.
//!
//! # What is not recorded
//! Cached tokens, finish reasons, tokens per chunk (the raw export has them), the model (the summary has it), time in the
//! server's queue. Levels below `records` write no such file.

pub(super) mod beside;

use crate::client::file;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{clock, facts, of_tool};
use crate::client::run_rows::{ChunkTimes, RunRows, Written};
use crate::client::value::{self, Judge, TEXT_BYTES};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::json::{JsonReader, Result, Seconds, Tree};
use crate::sink::RunSink;
use postrun_schema::{ClockKind, Doc, IssueCode, Phase, RequestRow, Status, TokenSource};
use std::io::Read;

pub(super) static AIPERF_RECORDS: Ingestor = Ingestor {
    id: "aiperf_records",
    title: "AIPerf per-request records",
    doc: Doc::from_source(include_str!("aiperf_records.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// The name under which summary and records find each other.
pub(super) const FAMILY: &str = "aiperf";
/// The tool's name for its lists of gaps.
const GAPS: &str = "inter_chunk_latency";

fn sniff(head: &Head) -> Sniff {
    let has = |key: &[u8]| memchr::memmem::find(head.bytes, key).is_some();
    match head.has_all(&["metadata", "metrics"]) && has(b"\"request_start_ns\"") {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> std::result::Result<(), IngestError> {
    let state = (RunRows::create(sink)?, CountedBy::default());
    file::read(
        source,
        sink,
        AIPERF_RECORDS.id,
        state,
        |(rows, counted_by), reader, _, place| {
            let record = Record::read(reader)?;
            if record.frame.metadata == Tree::Null {
                return Err(RecordError::NotARun("no metadata".to_string()));
            }
            let extras = record.extras(&mut Judge { issues: &mut rows.issues, place });
            let (row, chunks) = record.row(rows, place, counted_by);
            rows.push_with(row, &chunks, &extras, place).map_err(RecordError::Fatal)
        },
        |(rows, counted_by), sink, file| match rows.len() {
            0 => Ok(()),
            _ => commit(sink, rows.finish(file, FAMILY)?, &counted_by),
        },
    )
}

/// Whose token counts were met.
#[derive(Default)]
struct CountedBy {
    server: bool,
    client: bool,
}

fn commit(sink: &mut RunSink<'_>, written: Written, by: &CountedBy) -> std::result::Result<(), IngestError> {
    let mut manifest = of_tool("AIPerf", None, "by the fields of its records; the summary beside them has the version");
    manifest.clocks.client = clock(ClockKind::Wall, written.origin_ns);
    let tokens = match (by.server, by.client) {
        (true, false) => TokenSource::Server,
        (true, true) => TokenSource::ServerElseClient,
        (false, true) => TokenSource::ClientTokenizer,
        (false, false) => TokenSource::Unknown,
    };
    manifest.output_tokens_source = tokens;
    manifest.prompt_tokens_source = tokens;
    manifest.not_recorded =
        facts(&["cached tokens", "finish reasons", "tokens per chunk", "time in the server's queue", "preemptions"]);
    let window_unix_ns = written.origin_ns.zip(written.latest_ns);
    let part = Part { window_unix_ns, ..Part::of(FAMILY, Layer::Requests) };
    written.commit(sink, manifest, String::new(), Some(part))
}

/// What stands around the figures of a request, here and in the raw export.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) metadata: Tree,
    pub(super) error: Tree,
}

/// One line as it stands.
#[derive(Default)]
struct Record {
    frame: Frame,
    /// Every metric but the gaps: its value and unit.
    metrics: Vec<(String, Tree)>,
    gaps: Option<Gaps>,
}

/// The list of gaps, read as if the numbers were seconds.
struct Gaps {
    values: Vec<Seconds>,
    unit: String,
}

impl Frame {
    /// Everything that is no figure of the answer.
    pub(super) fn row(&self, judge: &mut Judge<'_>) -> RequestRow {
        let meta = |key: &str| self.metadata.get(key);
        RequestRow {
            request_id: value::text(meta("x_request_id")).or_else(|| self.numbered()),
            session: value::text(meta("x_correlation_id")).or_else(|| value::text(meta("conversation_id"))),
            turn: meta("turn_index").count(),
            worker: value::text(meta("worker_id")),
            phase: self.phase(),
            status: self.status(),
            error: self.error_text(),
            scheduled_send_ns: judge.point_ns("credit_issued_ns", meta("credit_issued_ns")),
            sent_ns: judge.point_ns("request_start_ns", meta("request_start_ns")),
            end_ns: judge.point_ns("request_end_ns", meta("request_end_ns")),
            ..RequestRow::default()
        }
    }

    /// Where no id was sent, the numbers of session and turn.
    fn numbered(&self) -> Option<String> {
        let session = self.metadata.get("session_num").integer()?;
        Some(format!("{session}:{}", self.metadata.get("turn_index").integer().unwrap_or(0)))
    }

    fn phase(&self) -> Phase {
        let kind = self.metadata.get("phase_kind").text();
        match self.metadata.get("benchmark_phase").text().or(kind) {
            None | Some("profiling") => Phase::Measured,
            Some(_) => Phase::Warmup,
        }
    }

    fn status(&self) -> Status {
        match (self.metadata.get("was_cancelled"), &self.error) {
            (Tree::Bool(true), _) => Status::Cancelled,
            (_, Tree::Null) => Status::Ok,
            _ => Status::Error,
        }
    }

    fn error_text(&self) -> Option<String> {
        let part = |key: &str| match self.error.get(key) {
            Tree::Text(text) => Some(text.clone()),
            Tree::Number(code) => Some(code.clone()),
            _ => None,
        };
        let parts: Vec<String> = ["code", "type", "message"].into_iter().filter_map(part).collect();
        let whole = self.error.text().map(String::from);
        let text = whole.unwrap_or_else(|| parts.join(" "));
        value::text(&Tree::Text(text))
    }
}

impl Record {
    fn read<R: Read>(reader: &mut JsonReader<R>) -> std::result::Result<Record, RecordError> {
        let mut record = Record::default();
        let mut listed = true;
        reader.object(|reader, key| match key {
            "metadata" => reader.tree(TEXT_BYTES).map(|value| record.frame.metadata = value),
            "error" => reader.tree(TEXT_BYTES).map(|value| record.frame.error = value),
            "metrics" if reader.peek()? == Some(b'{') => reader.object(|reader, key| {
                if key == GAPS && reader.peek()? == Some(b'{') {
                    record.gaps = Some(Gaps::read(reader)?);
                } else if WANTED.contains(&key) || beside::number_of(key).is_some() {
                    record.metrics.push((key.to_string(), reader.tree(64)?));
                } else {
                    reader.skip_value()?;
                }
                Ok(())
            }),
            "metrics" => {
                listed = false;
                reader.skip_value()
            }
            _ => reader.skip_value(),
        })?;
        if !listed {
            return Err(RecordError::NotARun("its metrics are no object".to_string()));
        }
        Ok(record)
    }

    fn metric(&self, name: &str) -> &Tree {
        static NOTHING: Tree = Tree::Null;
        self.metrics.iter().find(|(key, _)| key == name).map_or(&NOTHING, |(_, value)| value)
    }

    fn duration(&self, name: &str, judge: &mut Judge<'_>) -> Option<i64> {
        let metric = self.metric(name);
        let unit = metric.get("unit").text().unwrap_or("ms");
        match value::per_second(unit) {
            Some(per_second) => judge.duration(name, metric.get("value"), per_second),
            None => {
                let place = judge.place;
                judge.issues.add(IssueCode::WrongType, || format!("{}: {name}", place()), || format!("unit {unit:?}"));
                None
            }
        }
    }

    fn count(&self, name: &str, judge: &mut Judge<'_>) -> Option<u32> {
        judge.count(name, self.metric(name).get("value"))
    }

    fn row(self, rows: &mut RunRows, place: &dyn Fn() -> String, by: &mut CountedBy) -> (RequestRow, ChunkTimes) {
        let judge = &mut Judge { issues: &mut rows.issues, place };
        let output_by_server = self.count("usage_completion_tokens", judge);
        let prompt_by_server = self.count("usage_prompt_tokens", judge);
        let output_by_client = self.count("output_sequence_length", judge);
        let prompt_by_client = self.count("input_sequence_length", judge).or(self.count("error_isl", judge));
        by.server |= output_by_server.is_some();
        by.client |= output_by_server.is_none() && output_by_client.is_some();
        let frame = self.frame.row(judge);
        let status = frame.status;
        let ttft_ns = self.duration("time_to_first_token", judge).filter(|ns| *ns > 0);
        let e2e_ns = self.duration("request_latency", judge).filter(|_| status != Status::Error);
        // An answer without reasoning has no such metric; its length is then that of the whole output.
        let answer = self.count("output_token_count", judge);
        let reasoning_tokens = self
            .count("reasoning_token_count", judge)
            .or_else(|| output_by_client.zip(answer).and_then(|(all, answer)| all.checked_sub(answer)));
        let row = RequestRow {
            streamed: match (ttft_ns, e2e_ns) {
                (Some(_), _) => Some(true),
                // What is recorded and no time says nothing of how the answer came.
                (None, Some(_)) if *self.metric("time_to_first_token").get("value") == Tree::Null => Some(false),
                (None, _) => None,
            },
            prompt_tokens: prompt_by_server.or(prompt_by_client),
            output_tokens: output_by_server.or(output_by_client),
            client_prompt_tokens: prompt_by_client,
            client_output_tokens: output_by_client,
            requested_output_tokens: self.requested(output_by_client),
            reasoning_tokens,
            ttft_ns,
            e2e_ns,
            ..frame
        };
        let chunks = match (ttft_ns, &self.gaps) {
            (Some(ttft), Some(gaps)) => gaps.chunks(ttft, judge),
            _ => ChunkTimes::default(),
        };
        (row, chunks)
    }

    /// The limit that the client's own difference from it is a share of.
    fn requested(&self, output: Option<u32>) -> Option<u32> {
        let apart = self.metric("osl_mismatch_diff_pct").get("value").number()? / 100.0;
        value::undivided(f64::from(output?) / (1.0 + apart)).filter(|n| *n > 0)
    }
}

/// Metrics that become columns.
const WANTED: &[&str] = &[
    "time_to_first_token",
    "request_latency",
    "input_sequence_length",
    "error_isl",
    "output_sequence_length",
    "reasoning_token_count",
    "output_token_count",
    "osl_mismatch_diff_pct",
    "usage_prompt_tokens",
    "usage_completion_tokens",
];

impl Gaps {
    fn read<R: Read>(reader: &mut JsonReader<R>) -> Result<Gaps> {
        let mut gaps = Gaps { values: Vec::new(), unit: "ms".to_string() };
        reader.object(|reader, key| match key {
            "value" => {
                gaps.values = value::seconds(reader)?.unwrap_or_default();
                Ok(())
            }
            "unit" => {
                if let Tree::Text(unit) = reader.tree(16)? {
                    gaps.unit = unit;
                }
                Ok(())
            }
            _ => reader.skip_value(),
        })?;
        Ok(gaps)
    }

    /// None at all where one gap is none: what came later would lie at the wrong time.
    fn chunks(&self, ttft_ns: i64, judge: &mut Judge<'_>) -> ChunkTimes {
        let per_second = value::per_second(&self.unit);
        per_second.and_then(|u| ChunkTimes::after(ttft_ns, &self.values, u, GAPS, judge)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
