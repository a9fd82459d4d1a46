//! Workload traces: when requests arrived and how long they were, without how fast they were answered.
//!
//! # Which files
//! - Azure LLM inference traces: CSV headed `TIMESTAMP,ContextTokens,GeneratedTokens`.
//! - BurstGPT: CSV headed `Timestamp,Model,Request tokens,Response tokens,…`.
//! - Mooncake: JSON lines with `timestamp`, `input_length`, `output_length` and `hash_ids`.
//!
//! # Versions seen
//! Azure 2023 (code), Mooncake's conversation trace; BurstGPT after its description.
//!
//! # How the figures are read
//! - Each line is a request with its arrival as send time and its lengths. Azure writes date and time without a zone,
//!   BurstGPT seconds, Mooncake milliseconds since the start of the trace; none is taken for a clock that another file
//!   could be aligned with.
//! - BurstGPT marks a failed request by 0 response tokens; elsewhere that is an answer without output.
//! - A last line without a line break counts where it has every column, as CSV allows it.
//! - `hash_ids` name blocks of 512 prompt tokens that requests share; whether a cache held them is not known, so they are
//!   no cached tokens.
//!
//! # What is not recorded
//! Everything about time but the arrival: TTFT, TPOT, ITL, e2e and all rates of a server are unavailable. A trace is
//! a workload, not a result: its lengths and arrivals are reported (prompt_length, output_length, interarrival_ms,
//! arrivals_per_s, interarrival_cv), and no rule judges it.

use crate::client::file;
use crate::client::manifest::{clock, facts, of_tool};
use crate::client::object::Object;
use crate::client::run_rows::{ChunkTimes, RunRows};
use crate::client::value::{Judge, in_unit};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{RecordError, Walked};
use crate::json::{Tree, number, shorten};
use crate::sink::RunSink;
use crate::text::lines::Lines;
use crate::text::stamp::{CivilStamp, LogClock};
use postrun_schema::{ClockKind, Doc, IssueCode, Issues, RequestRow, Status, TokenSource};

pub(super) static WORKLOAD_TRACE: Ingestor = Ingestor {
    id: "workload_trace",
    title: "Workload trace (Azure, BurstGPT, Mooncake)",
    doc: Doc::from_source(include_str!("workload_trace.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

const MOONCAKE_KEYS: &[&str] = &["timestamp", "input_length", "output_length", "hash_ids"];

/// A CSV's columns: arrival, prompt, output.
struct Layout {
    name: &'static str,
    columns: [&'static str; 3],
    /// The arrival is a date and time of day.
    dated: bool,
    /// An answer of no tokens is one that failed.
    empty_is_failure: bool,
}

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "Azure LLM inference trace",
        columns: ["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
        dated: true,
        empty_is_failure: false,
    },
    Layout {
        name: "BurstGPT trace",
        columns: ["Timestamp", "Request tokens", "Response tokens"],
        dated: false,
        empty_is_failure: true,
    },
];

/// Layout and places of its columns, from the first line.
fn layout(head: &[u8]) -> Option<(&'static Layout, [usize; 3])> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let line = text.split(|b| *b == b'\n').next()?;
    let line = std::str::from_utf8(line.get(..1000).unwrap_or(line)).ok()?;
    let names: Vec<&str> = line.trim().split(',').map(|name| name.trim().trim_matches('"')).collect();
    LAYOUTS.iter().find_map(|layout| {
        let place = |name: &str| names.iter().position(|n| *n == name);
        let [at, prompt, output] = layout.columns;
        Some((layout, [place(at)?, place(prompt)?, place(output)?]))
    })
}

fn sniff(head: &Head) -> Sniff {
    match layout(head.bytes).is_some() || head.has_all(MOONCAKE_KEYS) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    match layout(&source.head) {
        Some((layout, places)) => ingest_csv(source, sink, layout, places),
        None => ingest_mooncake(source, sink),
    }
}

fn commit(rows: RunRows, name: &str, sink: &mut RunSink<'_>, file: &str) -> Result<(), IngestError> {
    let mut manifest = of_tool(name, None, "by its columns; a trace of a workload, not of a benchmark");
    manifest.load.num_prompts = Some(rows.len());
    manifest.output_tokens_source = TokenSource::Server;
    manifest.prompt_tokens_source = TokenSource::Server;
    manifest.not_recorded = facts(&["latencies per request", "chunk times per request", "any fact about a server"]);
    let written = rows.finish(file, name)?;
    manifest.clocks.client = clock(ClockKind::Monotonic, written.origin_ns);
    written.commit(sink, manifest, String::new(), None)
}

fn ingest_mooncake(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    file::read(
        source,
        sink,
        WORKLOAD_TRACE.id,
        None,
        |rows: &mut Option<RunRows>, reader, sink, place| {
            let object = Object::read(reader, None)?;
            if !object.has("timestamp") || !object.has("input_length") {
                return Err(RecordError::NotARun("a record without timestamp and input_length".to_string()));
            }
            if rows.is_none() {
                *rows = Some(new_rows(sink).map_err(RecordError::Fatal)?);
            }
            let Some(rows) = rows else { return Ok(()) };
            let judge = &mut Judge { issues: &mut rows.issues, place };
            let row = RequestRow {
                sent_ns: judge.point("timestamp", object.get("timestamp")).map(|ms| in_unit(ms, 1_000)),
                prompt_tokens: judge.count("input_length", object.get("input_length")),
                output_tokens: judge.count("output_length", object.get("output_length")),
                ..RequestRow::default()
            };
            rows.push(row, &ChunkTimes::default(), place).map_err(RecordError::Fatal)
        },
        |rows, sink, file| match rows {
            Some(rows) => commit(rows, "Mooncake trace", sink, file),
            None => Ok(()),
        },
    )
}

fn new_rows(sink: &mut RunSink<'_>) -> Result<RunRows, IngestError> {
    let mut rows = RunRows::create(sink)?;
    rows.ttft_recorded = false;
    Ok(rows)
}

fn ingest_csv(
    source: &mut Source,
    sink: &mut RunSink<'_>,
    layout: &Layout,
    places: [usize; 3],
) -> Result<(), IngestError> {
    let file = source.name.clone();
    let mut text = source.take_reader();
    let mut walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let mut rows = new_rows(sink)?;
    let mut width = 0;
    let mut lines = Lines::new(&mut text);
    while let Some(line) = lines.next().map_err(IngestError::io(&file))? {
        if line.number == 1 {
            width = line.text.split(',').count();
        }
        if line.number == 1 || line.text.trim().is_empty() {
            continue;
        }
        let place = || format!("{file}: {}", line.place());
        let cells: Vec<&str> = line.text.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
        let cell = |i: usize| places.get(i).and_then(|at| cells.get(*at)).copied().filter(|cell| !cell.is_empty());
        let whole = !line.unfinished || cells.len() == width;
        let code = match (cell(0), cell(1), cell(2)) {
            (Some(at), Some(prompt), Some(output)) if whole => {
                let judge = &mut Judge { issues: &mut rows.issues, place: &place };
                let row = row(layout, [at, prompt, output], judge);
                rows.push(row, &ChunkTimes::default(), &place)?;
                continue;
            }
            _ if line.unfinished => IssueCode::TruncatedRecord,
            _ => IssueCode::BadRecord,
        };
        walked.skipped += 1;
        walked.issues.add(code, place, || shorten(line.text.to_string(), 60));
        walked.first_problem.get_or_insert_with(|| format!("{}: not a row of the table", line.place()));
    }
    drop(lines);
    if rows.len() > 0 {
        commit(rows, layout.name, sink, &file)?;
    }
    sink.close(source, text, WORKLOAD_TRACE.id, walked)
}

fn row(layout: &Layout, [at, prompt, output]: [&str; 3], judge: &mut Judge<'_>) -> RequestRow {
    let value = |cell: &str| match number(cell.as_bytes()) {
        Some(_) => Tree::Number(cell.to_string()),
        None => Tree::Text(cell.to_string()),
    };
    let sent_ns = match layout.dated {
        false => judge.point(layout.columns[0], &value(at)),
        true => {
            let stamp = CivilStamp::parse(at).filter(|(_, rest)| rest.is_empty());
            if stamp.is_none() {
                judge.bad(IssueCode::WrongType, layout.columns[0], shorten(at.to_string(), 40));
            }
            stamp.map(|(stamp, _)| LogClock::default().at_ns(&stamp))
        }
    };
    let output_tokens = judge.count(layout.columns[2], &value(output));
    let failed = layout.empty_is_failure && output_tokens == Some(0);
    RequestRow {
        sent_ns,
        status: if failed { Status::Error } else { Status::Ok },
        error: failed.then(|| "no response tokens".to_string()),
        prompt_tokens: judge.count(layout.columns[1], &value(prompt)),
        output_tokens,
        ..RequestRow::default()
    }
}

#[cfg(test)]
mod tests;
