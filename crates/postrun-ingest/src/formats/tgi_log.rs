//! The log of Hugging Face TGI (text-generation-inference): one line a request with its times, and the settings.
//!
//! # Which files
//! What `text-generation-launcher` wrote to its terminal, as text or as JSON (`--json-output`), with or without
//! colours and the labels of container tools. Recognised by a stamped record of `text_generation_router` or
//! `text_generation_launcher`, or by a JSON record with the message `Success` and `time_per_token`.
//!
//! # Versions seen
//! Spellings of 1.0 to 3.3 from sources and published excerpts; no whole log of a benchmark was at hand, so every
//! field is taken as optional. The JSON form is read with its fields at the top or under `fields`, and with `span` or
//! `spans`.
//!
//! # How the figures are read
//! - The record `Success` stands at the end of a request. Its `total_time` is validation, queue and inference
//!   together: arrival is the stamp less `total_time`, and the other moments follow from there.
//! - `queue_time` is the wait for the first batch, `inference_time` runs from there to the last token, prefill
//!   included.
//! - Output tokens are `inference_time / time_per_token`, rounded: the server divides by their number to the
//!   nanosecond, so that the quotient is their number.
//! - Durations are written as Rust prints them (`1.5s`, `12.5ms`, `850µs`), with either code point of micro.
//! - `kv_cache_capacity_tokens` is the number of cache blocks times their size, where the log tells both.
//!
//! # What is not recorded
//! Request ids, prompt tokens, time to first token and between tokens, prefill apart from decode, finish reasons,
//! cached tokens, queue length, cache usage. Failed requests leave a line with an error but no times.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::shorten;
use crate::server::figure::LONGEST_NS;
use crate::server::recording::{ServerEvent, ServerRequest, ServerSink};
use crate::text::lines::{Line, Lines};
use crate::text::number::{between, duration_ns, number};
use crate::text::python::value_end;
use crate::text::stamp::{CivilStamp, LogClock, StampClock};
use postrun_schema::{Doc, EventKind, IssueCode};
use serde_json::Value;

pub(super) static TGI_LOG: Ingestor = Ingestor {
    id: "tgi_log",
    title: "TGI server log",
    doc: Doc::from_source(include_str!("tgi_log.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

const MODULES: [&str; 2] = ["text_generation_router", "text_generation_launcher"];

fn sniff(head: &Head) -> Sniff {
    let mut lines = Lines::new(head.bytes);
    while let Ok(Some(line)) = lines.next() {
        let known = MODULES.iter().any(|module| line.text.contains(module));
        let json =
            line.text.starts_with('{') && line.text.contains("time_per_token") && line.text.contains("\"Success\"");
        if json || known && Record::parse(&line.text).is_some() {
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
        log.line(&line, sink);
    }
    let zone = if log.clock.without_zone { StampClock::Local } else { StampClock::Unix };
    sink.clock(zone, 1000);
    if log.errors > 0 {
        sink.fact("error_lines", log.errors.to_string());
    }
    sink.server("TGI", None);
    Ok(())
}

/// One record, whichever way it is written.
struct Record {
    stamp: CivilStamp,
    error: bool,
    /// The text behind module and place.
    message: String,
    /// Spans and their fields, as text.
    fields: Fields,
}

enum Fields {
    Text(String),
    Json(Value),
}

impl Record {
    fn parse(line: &str) -> Option<Record> {
        if line.starts_with('{') { Record::from_json(line) } else { Record::from_text(line) }
    }

    /// `2026-01-02T03:04:05.678901Z  INFO spans{field="value"}: module: file.rs:12: message`, behind labels of others.
    fn from_text(line: &str) -> Option<Record> {
        let labelled = || line.split_once("| ").and_then(|(_, rest)| CivilStamp::parse(rest.trim_start()));
        let (stamp, rest) = CivilStamp::parse(line).or_else(labelled)?;
        let (level, rest) = rest.trim_start().split_once(' ')?;
        if !["INFO", "WARN", "ERROR", "DEBUG", "TRACE"].contains(&level) {
            return None;
        }
        let at = MODULES.iter().filter_map(|module| rest.rfind(module)).max()?;
        let (spans, told) = rest.split_at_checked(at)?;
        let (_, message) = told.split_once(": ")?;
        // The launcher has no place in a file.
        let message = match message.split_once(": ") {
            Some((place, message)) if place.contains(".rs:") => message,
            _ => message,
        };
        let error = level == "ERROR";
        Some(Record { stamp, error, message: message.to_string(), fields: Fields::Text(spans.to_string()) })
    }

    fn from_json(line: &str) -> Option<Record> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| value.get(key).or_else(|| value.get("fields")?.get(key)).and_then(Value::as_str);
        let (stamp, _) = CivilStamp::parse(text("timestamp")?)?;
        let message = text("message").unwrap_or_default().to_string();
        let error = text("level") == Some("ERROR");
        Some(Record { stamp, error, message, fields: Fields::Json(value) })
    }

    fn field(&self, key: &str) -> Option<&str> {
        match &self.fields {
            // The last one: parameters that a user chose stand before the server's own fields.
            Fields::Text(spans) => {
                let start = spans.rfind(&format!("{key}=\""))? + key.len() + 2;
                spans.get(start..)?.split_once('"').map(|(value, _)| value)
            }
            Fields::Json(value) => {
                let spans = value.get("spans").and_then(Value::as_array).into_iter().flatten();
                let mut places = value.get("span").into_iter().chain(spans).chain(value.get("fields")).chain([value]);
                places.find_map(|place| place.get(key)?.as_str())
            }
        }
    }
}

#[derive(Default)]
struct Log {
    clock: LogClock,
    starts: u64,
    started_ns: Option<i64>,
    /// Inside the arguments that the launcher prints over many lines.
    in_arguments: bool,
    /// The argument whose value stands on the next line, behind a `Some(`.
    open_argument: Option<String>,
    errors: u64,
}

impl Log {
    fn line(&mut self, line: &Line<'_>, sink: &mut ServerSink) {
        let text = line.text.trim_end();
        sink.judge_line(line);
        let Some(record) = Record::parse(text) else {
            self.without_stamp(text, line, sink);
            return;
        };
        self.in_arguments = false;
        // A whole JSON object is whole; the end of a line of text cannot be told from a cut.
        if line.unfinished && matches!(record.fields, Fields::Text(_)) {
            sink.skip(IssueCode::TruncatedRecord, || line.place(), || format!("{:.60}", record.message));
            return;
        }
        let at_ns = self.clock.at_ns(&record.stamp);
        self.errors += u64::from(record.error);
        if record.message == "Success" {
            success(&record, at_ns, line, sink);
        } else if record.error && record.message.contains("Request failed during generation") {
            let detail = Some(shorten(record.message, 200));
            sink.event(ServerEvent { at_ns, request_id: None, kind: EventKind::Failed, phase: None, detail });
        } else {
            self.told(&record.message, at_ns, line, sink);
        }
    }

    fn without_stamp(&mut self, text: &str, line: &Line<'_>, sink: &mut ServerSink) {
        let inside = text.strip_prefix("    ").filter(|_| self.in_arguments && !line.unfinished);
        if let (Some(key), Some(value)) = (self.open_argument.take(), inside.and_then(|t| t.trim().strip_suffix(','))) {
            setting(&key, value, sink);
            return;
        }
        self.open_argument = inside.and_then(|t| t.strip_suffix(": Some(")).map(String::from);
        match inside.and_then(|t| t.strip_suffix(',')).and_then(|t| t.split_once(": ")) {
            Some((key, value)) => setting(key, value, sink),
            None if text.starts_with('{') => {
                let code = if line.unfinished { IssueCode::TruncatedRecord } else { IssueCode::BadRecord };
                sink.skip(code, || line.place(), || format!("{text:.60}"));
            }
            None if text.starts_with('}') => self.in_arguments = false,
            None => {}
        }
    }

    /// What launcher and router say while the server starts.
    fn told(&mut self, message: &str, at_ns: i64, line: &Line<'_>, sink: &mut ServerSink) {
        if let Some(arguments) = message.strip_prefix("Args {") {
            self.starts += 1;
            self.started_ns = Some(at_ns);
            self.in_arguments = arguments.trim().is_empty();
            if self.starts > 1 {
                sink.issue(IssueCode::ServerRestarted, || line.place(), || "arguments printed again".to_string());
            }
            let started = EventKind::ServerStarted;
            sink.event(ServerEvent { at_ns, request_id: None, kind: started, phase: None, detail: None });
            let mut rest = arguments.trim_start();
            while let Some((key, value)) = rest.split_once(": ") {
                let Some(end) = value_end(value).filter(|end| *end < value.len()) else { break };
                setting(key, value.get(..end).unwrap_or_default(), sink);
                rest = value.get(end..).unwrap_or_default().trim_start_matches([',', ' ']);
            }
        } else if message == "Connected" {
            if let Some(started) = self.started_ns.filter(|_| self.starts == 1) {
                sink.fact("startup_s", (at_ns.saturating_sub(started) / 1_000_000_000).to_string());
            }
        } else if let Some(blocks) = between(message, "KV-cache blocks: ", ", size: ") {
            let size = message.rsplit_once(": ").and_then(|(_, size)| number(size)).map(|(size, _)| size);
            if let (Ok(blocks), Some(Ok(size))) = (blocks.parse::<u64>(), size.map(|s| s.parse::<u64>())) {
                sink.fact("num_gpu_blocks", blocks.to_string());
                sink.fact("block_size", size.to_string());
                sink.fact("kv_cache_capacity_tokens", blocks.saturating_mul(size).to_string());
            }
        } else if let Some(tokens) = message.strip_prefix("Setting max batch total tokens to ").and_then(number) {
            sink.fact("max_batch_total_tokens", tokens.0);
        } else if let Some(on) = message.strip_prefix("Using prefix caching = ") {
            sink.fact("enable_prefix_caching", on.to_ascii_lowercase());
        } else if let Some(on) = message.strip_prefix("Using prefill chunking = ") {
            sink.fact("enable_chunked_prefill", on.to_ascii_lowercase());
        }
    }
}

/// An argument as the launcher prints it: `Some("x")`, `None`, `128`, `false`.
fn setting(key: &str, value: &str, sink: &mut ServerSink) {
    let value = value.trim().strip_prefix("Some(").and_then(|v| v.strip_suffix(')')).unwrap_or(value.trim());
    let secret = ["token", "api_key", "password"].iter().any(|word| key.ends_with(word));
    let known = !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if secret || !known || ["", "None", "[]"].contains(&value) || value.starts_with('{') {
        return;
    }
    let name = if key == "model_id" { "model" } else { key };
    sink.fact(name, shorten(value.trim_matches('"').to_string(), 300));
}

/// The times of one request.
fn success(record: &Record, at_ns: i64, line: &Line<'_>, sink: &mut ServerSink) {
    let mut time = |key: &str| {
        let text = record.field(key)?;
        let code = match duration_ns(text) {
            None => IssueCode::BadRecord,
            Some(ns) if ns < 0 => IssueCode::NegativeDuration,
            Some(ns) if ns > LONGEST_NS => IssueCode::ImplausibleTime,
            Some(ns) => return Some(ns),
        };
        sink.issue(code, || line.place(), || format!("{key}: {text:.40}"));
        None
    };
    let (total, validation) = (time("total_time"), time("validation_time"));
    let (queue_ns, inference_ns, per_token) = (time("queue_time"), time("inference_time"), time("time_per_token"));
    if [total, queue_ns, inference_ns].iter().all(Option::is_none) {
        sink.skip(IssueCode::BadRecord, || line.place(), || "a finished request without times".to_string());
        return;
    }
    let after = |start: Option<i64>, span: Option<i64>| start?.checked_add(span?);
    let arrival_ns = total.and_then(|total| at_ns.checked_sub(total));
    let queued_ns = after(arrival_ns, validation);
    let first_scheduled_ns = after(queued_ns, queue_ns);
    sink.request(ServerRequest {
        arrival_ns,
        queued_ns,
        first_scheduled_ns,
        last_token_ns: after(first_scheduled_ns, inference_ns),
        queue_ns,
        inference_ns,
        output_tokens: inference_ns.zip(per_token).and_then(|(all, each)| quotient(all, each)),
        ..ServerRequest::default()
    });
}

/// `all / each`, rounded; both not negative.
fn quotient(all: i64, each: i64) -> Option<u32> {
    let half = each / 2;
    u32::try_from(all.checked_add(half)?.checked_div(each)?).ok()
}

#[cfg(test)]
mod tests;
