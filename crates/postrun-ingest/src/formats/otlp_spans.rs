//! OpenTelemetry traces in OTLP/JSON: one span a request, as vLLM, SGLang and the GenAI conventions write it.
//!
//! # Which files
//! What a collector's file exporter writes (one export request a line), a single export request, indented or not, or
//! an array of them. Recognised by the key `resourceSpans`; `resource_spans` and the other snake_case spellings, kinds
//! by name, whole numbers with and without quotes, and attributes as a plain object are read too. OTLP metrics and logs
//! (`resourceMetrics`, `resourceLogs`) are recognised and refused. Jaeger and Zipkin JSON and length-prefixed protobuf
//! are other formats.
//!
//! # Versions seen
//! Real `llm_request` spans of vLLM 0.32.0 (V1 engine); from descriptions only: vLLM V0, SGLang, the GenAI semantic
//! conventions up to 1.44 with their older names (`prompt_tokens`, `completion_tokens`).
//!
//! # How the figures are read
//! - One level of spans counts as requests, the best that the file has, so that client, gateway and engine are not
//!   added up: spans with `gen_ai.latency.*` (the engine's own) or called `llm_request`; else spans of kind SERVER for
//!   chat, text completion or content generation; else other spans with a token usage, agents and tools left out.
//!   Where two spans of that level lie inside one another, the inner one counts.
//! - The same trace and span id twice is one span (an exporter that retried).
//! - Arrival is the start of the span. First token = arrival + `time_to_first_token`; last token = arrival + `e2e`,
//!   else the end of the span. Queue, prefill, decode and inference are the `gen_ai.latency.*` attributes, in seconds.
//! - SGLang counts its prefill and inference from the dispatch by its front end, so that both hold the wait in the
//!   scheduler's queue. Prefill here means first scheduled to first token; these two are left empty for SGLang.
//! - `gen_ai.latency.time_in_scheduler`, `time_in_model_forward` and `time_in_model_execute` of vLLM V0 are not read:
//!   their units differ from one another.
//! - Span events of a request whose name says preempted, retracted, queued, scheduled or first token become events.
//! - Spans of vLLM's start-up become facts, `Load model` → `startup_load_model_s`.
//!
//! # What is not recorded
//! Times of single tokens, the server's load and memory, and, by vLLM, cached tokens, preemptions and finish reasons.
//! Spans are written when they end and may be sampled: what is missing is not known, so no rate is taken from them.

mod export;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::server::figure::{self, LONGEST_NS};
use crate::server::json_records;
use crate::server::recording::{ServerEvent, ServerRequest, ServerSink};
use crate::text::name::snake_case;
use crate::text::stamp::StampClock;
use export::{Span, SpanKind, Surroundings, attribute, first_attribute};
use postrun_schema::{Doc, EventKind, IssueCode};
use std::collections::{HashMap, HashSet};

pub(super) static OTLP_SPANS: Ingestor = Ingestor {
    id: "otlp_spans",
    title: "OpenTelemetry traces (OTLP/JSON)",
    doc: Doc::from_source(include_str!("otlp_spans.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let seen = export::signals(head.keys.iter().map(String::as_str));
    if seen.spans || seen.metrics || seen.logs { Sniff::Strong } else { Sniff::No }
}

/// What speaks for a span being a request; the higher, the closer to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Usage,
    Server,
    Engine,
}

struct Candidate {
    level: Level,
    identity: u64,
    parent: Option<u64>,
    request: ServerRequest,
    events: Vec<ServerEvent>,
}

#[derive(Default)]
struct Requests {
    candidates: Vec<Candidate>,
    seen: HashSet<u64>,
    /// From a span to the one above it.
    above: HashMap<u64, u64>,
}

/// Links kept between spans that are no requests; a trace with more is told apart by the links it has.
const MOST_LINKS: usize = 1 << 20;
/// Spans between two requests that lie inside one another.
const LONGEST_CHAIN: usize = 64;

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    sink.clock(StampClock::Unix, 1);
    let mut requests = Requests::default();
    json_records::read(source, sink, |reader, sink| {
        let line = reader.line();
        let seen = export::read_request(reader, &mut |around, span, at| {
            requests.take(sink, around, span, &|| format!("line {line}, byte {at}"));
        })?;
        if seen.spans {
            return Ok(());
        }
        let what = match (seen.metrics, seen.logs) {
            (true, _) => "OTLP metrics (resourceMetrics), which are not read: export the server's /metrics as text",
            (_, true) => "OTLP logs (resourceLogs), which are not read: give the server's own log",
            _ => "an object without resourceSpans",
        };
        Err(RecordError::NotARun(what.to_string()))
    })?;
    requests.settle(sink);
    Ok(())
}

impl Requests {
    fn take(&mut self, sink: &mut ServerSink, around: &Surroundings, span: Span, place: &dyn Fn() -> String) {
        if let Some(parent) = span.parent.filter(|_| self.above.len() < MOST_LINKS) {
            self.above.insert(span.identity, parent);
        }
        let Some(level) = level(&span) else {
            startup_fact(sink, around, &span);
            return;
        };
        let named = || format!("span {:?} {}", span.name, span.id_text);
        if !span.id_text.is_empty() && !self.seen.insert(span.identity) {
            sink.issue(IssueCode::DuplicateSample, place, named);
            return;
        }
        let Some(start) = span.start_ns else {
            let wanted = "startTimeUnixNano must be nanoseconds since 1970, above 0";
            sink.skip(IssueCode::NoSampleTime, place, || format!("{} without a start: {wanted}", named()));
            return;
        };
        if span.end_ns.is_some_and(|end| end < start) {
            sink.issue(IssueCode::NegativeDuration, place, || format!("{} ends before it starts", named()));
        }
        let request = request(sink, around, &span, start, place);
        let events = events(&span, &request);
        self.candidates.push(Candidate { level, identity: span.identity, parent: span.parent, request, events });
    }

    /// Hands over the requests of the best level, without those that hold another of them.
    fn settle(self, sink: &mut ServerSink) {
        let best = self.candidates.iter().map(|c| c.level).max();
        let of_level: HashSet<u64> =
            self.candidates.iter().filter(|c| Some(c.level) == best).map(|c| c.identity).collect();
        let mut outer = HashSet::new();
        for candidate in self.candidates.iter().filter(|c| Some(c.level) == best) {
            let mut next = candidate.parent;
            for _ in 0..LONGEST_CHAIN {
                let Some(parent) = next else { break };
                if of_level.contains(&parent) && parent != candidate.identity {
                    outer.insert(parent);
                }
                next = self.above.get(&parent).copied();
            }
        }
        for candidate in self.candidates {
            if Some(candidate.level) == best && !outer.contains(&candidate.identity) {
                candidate.events.into_iter().for_each(|event| sink.event(event));
                sink.request(candidate.request);
            }
        }
    }
}

const PROMPT_TOKENS: &[&str] = &["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"];
const OUTPUT_TOKENS: &[&str] = &["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"];
const CACHED_TOKENS: &[&str] =
    &["gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cached_tokens"];
const TTFT: &[&str] = &["gen_ai.latency.time_to_first_token", "gen_ai.server.time_to_first_token"];
const E2E: &[&str] = &["gen_ai.latency.e2e", "gen_ai.server.request.duration"];

fn level(span: &Span) -> Option<Level> {
    let attributes = &span.attributes;
    let usage = *first_attribute(attributes, OUTPUT_TOKENS) != Tree::Null
        || *first_attribute(attributes, PROMPT_TOKENS) != Tree::Null;
    let engine = attributes.iter().any(|(key, _)| key.starts_with("gen_ai.latency."));
    if engine || (span.name == "llm_request" && usage) {
        return Some(Level::Engine);
    }
    let generates = match attribute(attributes, "gen_ai.operation.name").text() {
        Some(operation) => matches!(operation, "chat" | "text_completion" | "generate_content"),
        None => usage,
    };
    match span.kind {
        _ if !generates => None,
        SpanKind::Server => Some(Level::Server),
        _ if usage => Some(Level::Usage),
        _ => None,
    }
}

fn request(
    sink: &mut ServerSink,
    around: &Surroundings,
    span: &Span,
    start: i64,
    place: &dyn Fn() -> String,
) -> ServerRequest {
    let attributes = &span.attributes;
    let text = |keys: &[&str]| first_attribute(attributes, keys).text().filter(|t| !t.is_empty()).map(String::from);
    let id = text(&["gen_ai.request.id", "gen_ai.response.id"]);
    let mut duration = |keys: &[&str]| {
        let key = keys.iter().find(|key| *attribute(attributes, key) != Tree::Null)?;
        figure::seconds(sink, place, key, attribute(attributes, key))
    };
    // A timer that never fired stands at 0.
    let ttft = duration(TTFT).filter(|ns| *ns > 0);
    let e2e = duration(E2E).filter(|ns| *ns > 0);
    let queue_ns = duration(&["gen_ai.latency.time_in_queue"]);
    let prefill_ns = duration(&["gen_ai.latency.time_in_model_prefill"]);
    let decode_ns = duration(&["gen_ai.latency.time_in_model_decode"]);
    let inference_ns = duration(&["gen_ai.latency.time_in_model_inference"]);
    let mut count = |keys: &[&str]| {
        let key = keys.iter().find(|key| *attribute(attributes, key) != Tree::Null)?;
        figure::count(sink, place, key, attribute(attributes, key))
    };
    let (prompt_tokens, output_tokens) = (count(PROMPT_TOKENS), count(OUTPUT_TOKENS));
    let (cached_tokens, wanted) = (count(CACHED_TOKENS), count(&["gen_ai.request.max_tokens"]));
    let from_dispatch = is_sglang(around, attributes);
    let server = if from_dispatch { "SGLang" } else { "vLLM" };
    if from_dispatch || around.scope.starts_with("vllm") {
        sink.server(server, None);
    }
    let by_end = span.end_ns.map(|end| end.saturating_sub(start)).filter(|ns| (1..=LONGEST_NS).contains(ns));
    let reasons = attribute(attributes, "gen_ai.response.finish_reasons");
    let reason = reasons.elements().first().unwrap_or(reasons).text();
    let preempted = span.events.iter().filter(|(_, name)| event_kind(name) == Some(EventKind::Preempted)).count();
    let failure = text(&["error.type"]).or(span.failure.clone());
    ServerRequest {
        request_id: id.or(Some(span.id_text.clone()).filter(|id| !id.is_empty())),
        model: text(&["gen_ai.response.model", "gen_ai.request.model"]),
        arrival_ns: Some(start),
        first_token_ns: ttft.map(|ns| start.saturating_add(ns)),
        last_token_ns: e2e.or(by_end).map(|ns| start.saturating_add(ns)),
        queue_ns,
        prefill_ns: prefill_ns.filter(|_| !from_dispatch),
        decode_ns,
        inference_ns: inference_ns.filter(|_| !from_dispatch),
        prompt_tokens,
        cached_tokens,
        output_tokens,
        requested_output_tokens: wanted,
        preemptions: u32::try_from(preempted).ok().filter(|n| *n > 0),
        finish_reason: reason.filter(|r| !r.is_empty()).map(String::from),
        error: failure.map(|text| if text.is_empty() { "error".to_string() } else { text }),
        ..ServerRequest::default()
    }
}

fn is_sglang(around: &Surroundings, attributes: &[(String, Tree)]) -> bool {
    let named = [&around.service, &around.scope].iter().any(|name| name.to_ascii_lowercase().contains("sglang"));
    // vLLM's spans carry no cached tokens.
    named || *attribute(attributes, "gen_ai.usage.cached_tokens") != Tree::Null
}

fn event_kind(name: &str) -> Option<EventKind> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    Some(match () {
        () if has(&["preempt", "retract"]) => EventKind::Preempted,
        () if has(&["first_token", "first token"]) => EventKind::FirstToken,
        () if has(&["queued"]) => EventKind::Queued,
        () if has(&["scheduled"]) => EventKind::Scheduled,
        () => return None,
    })
}

fn events(span: &Span, request: &ServerRequest) -> Vec<ServerEvent> {
    let event = |(at_ns, name): &(i64, String)| {
        Some(ServerEvent {
            at_ns: *at_ns,
            request_id: request.request_id.clone(),
            kind: event_kind(name)?,
            phase: None,
            detail: Some(name.clone()),
        })
    };
    span.events.iter().filter_map(event).collect()
}

/// vLLM marks the functions of its start-up as spans, each once, in a scope named after the module.
fn startup_fact(sink: &mut ServerSink, around: &Surroundings, span: &Span) {
    let of_startup = around.scope.starts_with("vllm") && span.kind == SpanKind::Other;
    let function = *attribute(&span.attributes, "code.function") != Tree::Null;
    let (Some(start), Some(end)) = (span.start_ns, span.end_ns) else { return };
    let took = end.saturating_sub(start);
    if !of_startup || !function || !(0..=LONGEST_NS).contains(&took) {
        return;
    }
    let name = snake_case(&span.name);
    if !name.is_empty() {
        sink.fact(&format!("startup_{name}_s"), format!("{}.{:09}", took / 1_000_000_000, took % 1_000_000_000));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::damage_test::{cut_everywhere, mutate_everywhere};
    use crate::formats::reading_test::{read, read_file, shared, sniff};

    const FIXTURE: &[u8] = include_bytes!("../../../../fixtures/otlp_spans/nested_and_retried/input/spans.otlp.jsonl");

    #[test]
    fn the_fixture_reads_as_written() {
        assert_eq!(sniff(&OTLP_SPANS, "spans.otlp.jsonl", FIXTURE), Sniff::Strong);
        let (recording, _dir) = read(&OTLP_SPANS, "spans.otlp.jsonl", FIXTURE).unwrap();
        let [first, second, third] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
        assert_eq!(first.request_id.as_deref(), Some("cmpl-toy-0-0"));
        assert_eq!(first.arrival_ns, Some(1_767_323_045_000_000_123));
        assert_eq!(first.first_token_ns, Some(1_767_323_045_250_000_123));
        assert_eq!(first.last_token_ns, Some(1_767_323_046_000_000_123));
        assert_eq!((first.queue_ns, first.prefill_ns), (Some(40_000_000), Some(200_000_000)));
        assert_eq!((first.decode_ns, first.inference_ns), (Some(750_000_000), Some(950_000_000)));
        assert_eq!((first.prompt_tokens, first.output_tokens), (Some(12), Some(4)));
        assert_eq!((first.requested_output_tokens, first.preemptions), (Some(4), None));
        assert_eq!((second.preemptions, second.error.as_deref()), (Some(1), Some("timeout")));
        assert_eq!(recording.events[0].at_ns, 1_767_323_047_500_000_000);
        // SGLang's prefill holds the queue, so it is not taken for one.
        assert_eq!((third.prefill_ns, third.inference_ns, third.queue_ns), (None, None, Some(10_000_000)));
        assert_eq!((third.cached_tokens, third.finish_reason.as_deref()), (Some(8), Some("stop")));
        assert_eq!(recording.facts.get("startup_load_model_s").map(String::as_str), Some("2.500000000"));
        let count = |code| recording.issues.count(code);
        assert_eq!(count(IssueCode::DuplicateSample), 1);
        assert_eq!((count(IssueCode::NoSampleTime), recording.skipped), (1, 1));
    }

    #[test]
    fn damage() {
        // Without the gateway's line: what its span is worth depends on the spans that follow. Three lines hold a
        // retry.
        let text = String::from_utf8(FIXTURE.to_vec()).unwrap();
        let mine = text.lines().filter(|line| !line.contains("toy-gateway")).take(3);
        let lines: String = mine.map(|line| format!("{line}\n")).collect();
        cut_everywhere(&OTLP_SPANS, "s.jsonl", lines.as_bytes(), true);
        mutate_everywhere(&OTLP_SPANS, "s.jsonl", &FIXTURE[..1500]);
    }

    fn chat(span: &str, parent: &str, kind: u8) -> String {
        format!(
            r#"{{"traceId":"aa","spanId":"{span}","parentSpanId":"{parent}","kind":{kind},"startTimeUnixNano":"1000",
            "endTimeUnixNano":"900","attributes":[{{"key":"gen_ai.usage.output_tokens","value":{{"intValue":"-3"}}}},
            {{"key":"gen_ai.operation.name","value":{{"stringValue":"chat"}}}}]}}"#
        )
    }

    #[test]
    fn one_level_counts_and_the_inner_span_of_it() {
        let spans = [chat("01", "", 3), chat("02", "01", 2), chat("03", "02", 1), chat("04", "03", 2)].join(",");
        let text = format!(r#"[{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}]"#);
        let (recording, _dir) = read(&OTLP_SPANS, "t.json", text.as_bytes()).unwrap();
        let ids: Vec<_> = recording.requests.iter().filter_map(|r| r.request_id.as_deref()).collect();
        assert_eq!(ids, ["aa:04"]);
        assert_eq!(recording.requests[0].last_token_ns, None, "it ends before it starts");
        assert_eq!(recording.issues.count(IssueCode::OutOfRange), 4);
        assert_eq!(recording.issues.count(IssueCode::NegativeDuration), 4);
        let (recording, _dir) = read(&OTLP_SPANS, "m.json", br#"{"resourceMetrics":[]}"#).unwrap();
        assert!(recording.first_problem.unwrap().contains("OTLP metrics"));
    }

    #[test]
    fn real_recordings() {
        let files = [
            ("recordings/vllm-server-cpu/kv-preempt/spans.otlp.jsonl", 60, 10),
            ("recordings/vllm-server-cpu/long-prompts/spans.otlp.jsonl", 46, 10),
            ("public/otel/vllm-spans/sample_vllm_spans.json", 2, 0),
        ];
        for (name, requests, facts) in files {
            let Some(path) = shared(name) else { continue };
            let dir = tempfile::tempdir().unwrap();
            let recording = read_file(&OTLP_SPANS, &path, dir.path()).unwrap();
            assert_eq!((recording.requests.len(), recording.facts.len()), (requests, facts), "{name}");
            assert!(recording.issues.is_empty(), "{name}");
            let whole = |r: &ServerRequest| {
                [r.queue_ns, r.prefill_ns, r.decode_ns, r.first_token_ns].iter().all(Option::is_some)
            };
            assert!(recording.requests.iter().all(whole), "{name}");
        }
    }
}
