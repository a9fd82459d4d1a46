//! The log of a vLLM server: load every ten seconds, settings, starts, and requests where they were logged.
//!
//! # Which files
//! What `vllm serve` (or `python -m vllm.entrypoints.openai.api_server`) wrote to its terminal, plain or with colours,
//! also as container tools hand it out. Recognised by a record of vLLM's own form (`INFO 01-02 03:04:05 [file.py:1]
//! text`) with a text that only vLLM writes. Uvicorn's access lines, progress bars, warnings of Python and lines of
//! other programs may stand between.
//!
//! # Versions seen
//! Real logs of 0.22.1 and 0.32.0; spellings of 0.6 to 0.33 from the sources. Both engines: the present one (`Engine
//! 000: …`, `Waiting`, `Deferred`, usage line named after the device) and the first one (`Swapped`, `Pending`, a full
//! stop at the end, a warning for each fiftieth preemption), which 0.12 no longer has.
//!
//! # How the figures are read
//! - Stamps have neither year nor zone and are whole seconds: local time, compared with a client's clock only by an
//!   offset that is found otherwise. Where every line begins with a full time stamp (`docker logs -t`, `kubectl logs
//!   --timestamps`), that stamp is taken instead.
//! - `running`, `waiting` and `kv_cache_usage` are the last state before the line, so the peak of a log is a lower
//!   bound of the true peak. The token rates are means over the interval. Idle intervals are not printed: a gap means
//!   idle.
//! - `waiting` is `Waiting` (which includes the deferred ones) or `Pending`. `deferred` and `swapped` are series of
//!   their own. Percent becomes a share of 1. A second usage figure in a line is the first engine's swap space on the
//!   host, `cpu_kv_cache_usage`.
//! - Engines of a data-parallel server are told apart by the label `engine`. A line over all engines has
//!   `engine=aggregated`, and is taken only where the engines have no lines of their own: nothing counts twice.
//! - `prefix_cache_hit_rate` is over the server's window of recent queries, not since its start.
//! - The first engine warns of preemption 1, 51, 101 and so on: `preemptions_total` takes the number in the line, is 0
//!   when that engine starts, and may lag by up to 49. The present engine prints nothing: its `/metrics` has the
//!   counter.
//! - A line per iteration gives `iteration_ms`, `batch_prompt_tokens` (tokens computed for prompts), `batch_requests`,
//!   the parts, and usage where printed. Iterations of one second are set apart by the time each took. Dummy
//!   iterations are passed over.
//! - A start is the first line of a starting server; `startup_s` is the time until it answers. Facts are those of the
//!   first start in the file; capacities are those of one engine. `http_200` and its like count all answers,
//!   `http_post_200` those to POST alone. Arguments that are secrets are not stored.
//!
//! # What is not recorded
//! First-token times, queue and prefill times; the year; preemptions with the present engine. Requests only where the
//! server was told to log them (`Received`, `Added`, `Finished`, `Generated`, `Aborted`), to the second. Which answer
//! an access line belongs to.

mod record;
mod requests;
mod startup;
mod stats;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::server::recording::{ServerEvent, ServerSink};
use crate::text::lines::{Line, Lines};
use crate::text::stamp::{CivilStamp, LogClock, StampClock};
use postrun_schema::{Doc, EventKind, IssueCode};
use record::{Record, is_own_line, next_record};
use requests::Requests;
use startup::Sign;
use stats::Stats;
use std::collections::BTreeMap;

pub(super) static VLLM_SERVER_LOG: Ingestor = Ingestor {
    id: "vllm_server_log",
    title: "vLLM server log",
    doc: Doc::from_source(include_str!("vllm_server_log.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

const SECOND_NS: i64 = 1_000_000_000;
const MINUTE_NS: i64 = 60 * SECOND_NS;

fn sniff(head: &Head) -> Sniff {
    let (mut records, mut ours) = (0, false);
    let mut lines = Lines::new(head.bytes);
    while let Ok(Some(line)) = lines.next() {
        if let Some((record, _)) = next_record(&line.text) {
            records += 1;
            ours |= only_vllm_writes(record.message);
        }
    }
    match (head.keys.is_empty(), ours, records) {
        (true, true, _) => Sniff::Strong,
        (true, false, 3..) => Sniff::Weak,
        _ => Sniff::No,
    }
}

fn only_vllm_writes(message: &str) -> bool {
    let stats = message.contains("Avg prompt throughput: ") && message.contains("Avg generation throughput: ");
    let starts = ["vLLM API server version", "Starting vLLM", "non-default args: {'", "SpecDecoding metrics: "];
    let engine = message.starts_with("Initializing a") && message.contains(" LLM engine");
    stats || engine || starts.iter().any(|start| message.starts_with(start))
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    let mut log = Log::default();
    while let Some(line) = lines.next().map_err(&io)? {
        log.line(&line, sink)?;
    }
    log.finish(sink)
}

/// Where the server is in its life, as far as the log tells.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Life {
    #[default]
    Unknown,
    Starting,
    Up,
}

#[derive(Default)]
struct Log {
    clock: LogClock,
    /// Lines begin with a stamp of their own that has year and zone; settled by the first record.
    outer_stamps: Option<bool>,
    finer_than_seconds: bool,
    latest_ns: Option<i64>,
    life: Life,
    starts: u64,
    started_ns: Option<i64>,
    arguments_seen: bool,
    stats: Stats,
    requests: Requests,
    answers: BTreeMap<String, u64>,
    errors: u64,
    late_compilations: u64,
}

impl Log {
    fn line(&mut self, line: &Line<'_>, sink: &mut ServerSink) -> Result<(), IngestError> {
        sink.judge_line(line);
        let outer = CivilStamp::parse(&line.text).map(|(stamp, _)| stamp);
        let outer = outer.filter(|stamp| stamp.year.is_some() && stamp.zone_ns.is_some());
        // Progress bars return to the start of their line, and a record may stand behind them.
        let mut parts = line.text.split('\r').peekable();
        while let Some(part) = parts.next() {
            let unfinished = line.unfinished && parts.peek().is_none();
            let (mut rest, mut records) = (part, 0);
            while let Some((record, next)) = next_record(rest) {
                if unfinished && next.is_empty() {
                    sink.skip(IssueCode::TruncatedRecord, || line.place(), || format!("{:.60}", record.message));
                } else {
                    self.record(&record, outer, line, sink)?;
                }
                records += 1;
                rest = next;
            }
            if records == 0 && !unfinished {
                self.without_stamp(part, line, sink);
            }
        }
        Ok(())
    }

    fn record(
        &mut self,
        record: &Record<'_>,
        outer: Option<CivilStamp>,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let Some(at_ns) = self.time(record, outer, line, sink) else { return Ok(()) };
        if self.stats.read(record, at_ns, line, sink)? {
            self.ready(at_ns, sink);
            return Ok(());
        }
        match startup::read(record, sink) {
            Some(Sign::Ready) => self.ready(at_ns, sink),
            Some(sign) => self.starting(sign, at_ns, line, sink)?,
            None => {}
        }
        if startup::is_first_generation(record) {
            sink.sample(at_ns, "preemptions_total", None, 0.0)?;
        }
        if let Some(preemption) = Requests::preempted(record.message, at_ns, sink) {
            sink.sample(at_ns, "preemptions_total", None, f64::from(preemption.total))?;
        }
        let lists_are_whole = self.starts > 0 && !sink.recording.facts.contains_key("max_log_len");
        self.requests.read(record.message, at_ns, lists_are_whole, sink);
        self.errors += u64::from(matches!(record.level, "ERROR" | "CRITICAL"));
        self.late_compilations += u64::from(record.message.contains(" JIT compilation during inference"));
        Ok(())
    }

    fn time(
        &mut self,
        record: &Record<'_>,
        outer: Option<CivilStamp>,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Option<i64> {
        let stamp = if *self.outer_stamps.get_or_insert(outer.is_some()) { outer } else { Some(record.stamp) };
        let Some(stamp) = stamp else {
            sink.skip(IssueCode::NoSampleTime, || line.place(), || format!("{:.60}", record.message));
            return None;
        };
        self.finer_than_seconds |= stamp.of_day_ns % SECOND_NS != 0;
        let steps = self.clock.hour_steps;
        let at_ns = self.clock.at_ns(&stamp);
        if self.clock.hour_steps > steps {
            sink.issue(IssueCode::ClockStep, || line.place(), || format!("{:.60}", line.text));
        }
        if self.latest_ns.is_some_and(|latest| latest.saturating_sub(at_ns) > MINUTE_NS) {
            sink.issue(IssueCode::UnorderedTimes, || line.place(), || format!("{:.60}", line.text));
        }
        self.latest_ns = Some(self.latest_ns.map_or(at_ns, |latest| latest.max(at_ns)));
        Some(at_ns)
    }

    /// A server that is up does not start: a sign of a start is another server. So are arguments printed twice.
    fn starting(&mut self, sign: Sign, at_ns: i64, line: &Line<'_>, sink: &mut ServerSink) -> Result<(), IngestError> {
        let arguments = sign == Sign::Arguments;
        if self.life == Life::Starting && !(arguments && self.arguments_seen) {
            self.arguments_seen |= arguments;
            return Ok(());
        }
        if self.starts > 0 || self.life == Life::Up {
            sink.issue(IssueCode::ServerRestarted, || line.place(), || format!("{:.60}", line.text));
        }
        sink.event(ServerEvent { at_ns, request_id: None, kind: EventKind::ServerStarted, phase: None, detail: None });
        self.stats.server_started(sink)?;
        self.life = Life::Starting;
        self.starts += 1;
        self.started_ns = Some(at_ns);
        self.arguments_seen = arguments;
        Ok(())
    }

    fn ready(&mut self, at_ns: i64, sink: &mut ServerSink) {
        if let Some(started) = self.started_ns.filter(|_| self.life == Life::Starting && self.starts == 1) {
            sink.fact("startup_s", (at_ns.saturating_sub(started) / SECOND_NS).to_string());
        }
        self.life = Life::Up;
    }

    fn without_stamp(&mut self, text: &str, line: &Line<'_>, sink: &mut ServerSink) {
        if let Some((method, status)) = answer(text) {
            *self.answers.entry(format!("http_{status}")).or_default() += 1;
            if method == "POST" {
                *self.answers.entry(format!("http_post_{status}")).or_default() += 1;
            }
        } else if !is_own_line(text) && !line.text.contains('\r') {
            sink.issue(IssueCode::ForeignLines, || line.place(), || format!("{text:.60}"));
        }
    }

    fn finish(mut self, sink: &mut ServerSink) -> Result<(), IngestError> {
        self.stats.release(sink)?;
        self.requests.finish(sink);
        let unix = self.outer_stamps == Some(true);
        let resolution = if self.finer_than_seconds { SECOND_NS / 1000 } else { SECOND_NS };
        sink.clock(if unix { StampClock::Unix } else { StampClock::Local }, resolution);
        for (key, count) in &self.answers {
            sink.fact(key, count.to_string());
        }
        for (key, count) in [("error_lines", self.errors), ("late_jit_compilations", self.late_compilations)] {
            if count > 0 {
                sink.fact(key, count.to_string());
            }
        }
        sink.server("vLLM", None);
        Ok(())
    }
}

/// Method and status of an access line: `INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK`.
fn answer(text: &str) -> Option<(&str, u16)> {
    let (request, rest) = text.split_once("INFO: ")?.1.split_once(" HTTP/")?;
    let (_, status) = rest.split_once("\" ")?;
    let (status, _) = status.split_at_checked(3).filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '))?;
    let status = status.parse().ok().filter(|s| (100..600).contains(s))?;
    let method = request.rsplit_once('"')?.1.split(' ').next()?;
    Some((method, status))
}

#[cfg(test)]
mod tests;
