//! The log of llama.cpp's server: prompt and generation times of each request, slots in use, settings.
//!
//! # Which files
//! What `llama-server` wrote to its terminal, with or without `--log-prefix` and `--log-timestamps`, also of a router
//! with several models (`[port]` in front), and the JSON or `INFO [function] text | key=value` lines of 2024.
//! Recognised by its lines about slots and by `print_timings`. Timings of the command-line tools
//! (`llama_print_timings`, `llama_perf_context_print`) are of a whole process and are not read.
//!
//! # Versions seen
//! Spellings of early 2024 to builds of 10,000 and more, from published excerpts; no whole log of a benchmark was at
//! hand, so every line is taken as optional. The three times of a request stand in one record of several lines, in
//! lines of their own, or in JSON; generated tokens are called `runs` in the oldest.
//!
//! # How the figures are read
//! - Prefill is `prompt eval time`, decode is `eval time`, inference is `total time`; waiting for a free slot is in
//!   none. Requests are told apart by slot and task.
//! - `prompt eval` counts the tokens that were computed. The whole prompt is `n_tokens` or `n_prompt_tokens` of the
//!   line `new prompt`; where that line is missing, it is the length at release, less the generated tokens, plus one,
//!   unless the context was cut or tokens were drafted. Cached tokens are the difference.
//! - Times come from the stamp that counts from the start of the process (`1.35.716.244`: minutes, seconds, milli-,
//!   microseconds), from a full time stamp in front of it, or from the Unix seconds in JSON. Without one there are
//!   durations only. The last token is taken to be at the moment the times are printed; first token and start of
//!   prefill lie before it by decode and prefill.
//! - `running` is the number of busy slots, counted at each start and release.
//! - After a restart, or for a second model behind a router, the count of the stamp begins anew: such requests keep
//!   their durations and have no moments.
//!
//! # What is not recorded
//! Request ids, arrival, the wait for a slot, the queue, gaps between tokens, finish reasons, use of the KV cache.
//! Lines of progress (`n_decoded`, `prompt processing`) are passed over.

mod line;
mod tasks;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::shorten;
use crate::server::recording::{ServerEvent, ServerSink};
use crate::text::lines::{Line, Lines};
use crate::text::number::{between, number};
use crate::text::stamp::StampClock;
use line::{Moment, Told};
use postrun_schema::{Doc, EventKind, IssueCode};
use tasks::Tasks;

pub(super) static LLAMA_CPP_LOG: Ingestor = Ingestor {
    id: "llama_cpp_log",
    title: "llama.cpp server log",
    doc: Doc::from_source(include_str!("llama_cpp_log.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

const SECOND_NS: i64 = 1_000_000_000;

fn sniff(head: &Head) -> Sniff {
    let mut lines = Lines::new(head.bytes);
    while let Ok(Some(line)) = lines.next() {
        let told = Told::parse(&line.text);
        let old = line.text.starts_with("print_timings: ") && line.text.contains("eval time =");
        let slots = told.slot.is_some() && (told.whole || told.keys.is_none())
            || line.text.contains("srv  update_slots: all slots are idle");
        if old || slots {
            return Sniff::Strong;
        }
    }
    Sniff::No
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    let mut log = Log::default();
    while let Some(line) = lines.next().map_err(&io)? {
        log.line(&line, sink)?;
    }
    log.tasks.finish(sink);
    let (clock, resolution) = match log.clock {
        Some(Clock::Elapsed(_)) | None => (StampClock::Monotonic, 1000),
        Some(Clock::Seconds) => (StampClock::Unix, SECOND_NS),
        Some(Clock::Outer) => (StampClock::Unix, SECOND_NS / 1000),
    };
    sink.clock(clock, resolution);
    sink.server("llama.cpp", None);
    Ok(())
}

/// Whose times are taken; settled by the first line of a slot that has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// The stamps in front of everything.
    Outer,
    /// The count since the start of this process.
    Elapsed(u32),
    /// Unix seconds in the record.
    Seconds,
}

#[derive(Default)]
struct Log {
    clock: Option<Clock>,
    /// The count began anew: its moments cannot be compared with those before.
    begun_anew: bool,
    latest_ns: Option<i64>,
    /// When a process began to load its model, before it was known whose times are taken.
    loading: Option<(Clock, i64)>,
    loads: u64,
    tasks: Tasks,
}

impl Log {
    fn line(&mut self, line: &Line<'_>, sink: &mut ServerSink) -> Result<(), IngestError> {
        let text: &str = &line.text;
        sink.judge_line(line);
        let told = Told::parse(text);
        if told.broken || line.unfinished && !told.whole {
            if told.broken || told.slot.is_some() || text.contains(" time =") {
                let code = if line.unfinished { IssueCode::TruncatedRecord } else { IssueCode::BadRecord };
                sink.skip(code, || line.place(), || format!("{text:.60}"));
            }
            return Ok(());
        }
        let at_ns = self.time(&told, line, sink);
        self.tasks.read(&told, at_ns, line, sink)?;
        if told.slot.is_none() {
            self.settings(text, at_ns, line, sink);
        } else if let Some(size) = ["new slot n_ctx_slot = ", "new slot, n_ctx = "].iter().find_map(|s| after(text, s))
        {
            sink.fact("n_ctx_slot", size);
        }
        Ok(())
    }

    fn time(&mut self, told: &Told<'_>, line: &Line<'_>, sink: &mut ServerSink) -> Option<i64> {
        let own = match told.moment {
            Moment::None => None,
            Moment::Elapsed(ns) => Some((Clock::Elapsed(told.instance), ns)),
            Moment::Unix(ns) => Some((Clock::Seconds, ns)),
        };
        let outer = told.outer_ns.map(|ns| (Clock::Outer, ns));
        let clock = match self.clock {
            Some(clock) => clock,
            None => {
                let (clock, _) = outer.or(own)?;
                // A router speaks before its models do: the count is that of the process with the slots.
                if clock == Clock::Elapsed(told.instance) && told.slot.is_none() {
                    let load = told.message.contains("loading model '");
                    self.loading = outer.or(own).filter(|_| load).or(self.loading);
                    return None;
                }
                if let Some((_, at_ns)) = self.loading.take().filter(|(loading, _)| *loading == clock) {
                    started(at_ns, sink);
                }
                *self.clock.insert(clock)
            }
        };
        let (_, at_ns) = [outer, own].into_iter().flatten().find(|(found, _)| *found == clock)?;
        let fell = self.latest_ns.is_some_and(|latest| latest.saturating_sub(at_ns) > SECOND_NS);
        self.latest_ns = Some(at_ns);
        if fell && matches!(clock, Clock::Elapsed(_)) {
            self.begun_anew = true;
            self.tasks.forget();
            sink.issue(IssueCode::ServerRestarted, || line.place(), || format!("{:.60}", line.text));
        } else if fell {
            sink.issue(IssueCode::UnorderedTimes, || line.place(), || format!("{:.60}", line.text));
        }
        if self.begun_anew && told.slot.is_some() {
            sink.issue(IssueCode::NoSampleTime, || line.place(), || "stamps count from another start".to_string());
        }
        (!self.begun_anew).then_some(at_ns)
    }

    /// What is said about the server as a whole.
    fn settings(&mut self, text: &str, at_ns: Option<i64>, line: &Line<'_>, sink: &mut ServerSink) {
        if let Some((_, rest)) = text.split_once("loading model '") {
            if let Some((model, _)) = rest.split_once('\'') {
                sink.fact("model", shorten(model.to_string(), 300));
            }
            self.loads += 1;
            let elapsed = matches!(self.clock, Some(Clock::Elapsed(_)));
            if self.loads > 1 && !elapsed {
                sink.issue(IssueCode::ServerRestarted, || line.place(), || format!("{text:.60}"));
                self.tasks.forget();
            }
            if let Some(at_ns) = at_ns {
                started(at_ns, sink);
            }
        }
        if let Some(slots) = after(text, "n_slots = ") {
            sink.fact("max_num_seqs", slots);
        }
        if let Some(size) = after(text, "n_ctx_slot = ") {
            sink.fact("n_ctx_slot", size);
        }
        for start in ["llama_context: ", "llama_new_context_with_model: "] {
            let Some((name, value)) = text.split_once(start).and_then(|(_, rest)| rest.split_once('=')) else {
                continue;
            };
            let fact = match name.trim() {
                "n_ctx" => "kv_cache_capacity_tokens",
                "n_batch" => "max_num_batched_tokens",
                "n_ubatch" => "n_ubatch",
                _ => continue,
            };
            if let Some((value, _)) = number(value.trim()).filter(|(_, rest)| rest.is_empty()) {
                sink.fact(fact, value);
            }
        }
        if let Some(build) = ["build: ", "build = "].iter().find_map(|start| between(text, start, " (")) {
            sink.server("llama.cpp", Some(format!("b{build}")));
        }
        if let Some((_, build)) = text.split_once("build_info: b") {
            sink.server("llama.cpp", build.split([' ', ',']).next().map(|build| format!("b{build}")));
        }
    }
}

fn started(at_ns: i64, sink: &mut ServerSink) {
    let kind = EventKind::ServerStarted;
    sink.event(ServerEvent { at_ns, request_id: None, kind, phase: None, detail: None });
}

/// The whole number behind `mark`, where something that is no digit or the end of a whole line follows.
fn after(text: &str, mark: &str) -> Option<String> {
    let (_, rest) = text.split_once(mark)?;
    number(rest).map(|(number, _)| number.into_owned()).filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
