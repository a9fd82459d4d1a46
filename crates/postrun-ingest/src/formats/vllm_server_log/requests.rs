//! vLLM's lines about single requests, which it writes where asked to.

use crate::server::recording::{ServerEvent, ServerRequest, ServerSink};
use crate::text::number::number;
use crate::text::python::{keyword_pairs, list_len, plain, value_end};
use postrun_schema::EventKind;
use std::collections::HashMap;

/// Requests of which the log speaks, in the order of their first line.
#[derive(Default)]
pub(super) struct Requests {
    list: Vec<Tracked>,
    position: HashMap<String, usize>,
}

#[derive(Default)]
struct Tracked {
    request: ServerRequest,
    ended: bool,
}

/// What a preemption line tells beside the request.
pub(super) struct Preemption {
    /// Preemptions since the server started.
    pub total: u32,
}

impl Requests {
    /// Reads the line if it is about a request. `lists_are_whole`: token lists are not cut to a length.
    pub(super) fn read(&mut self, message: &str, at_ns: i64, lists_are_whole: bool, sink: &mut ServerSink) {
        if let Some((id, rest)) = message.strip_prefix("Received request ").and_then(|r| r.split_once(": ")) {
            self.position.remove(id);
            let (prompt_tokens, max_tokens) = received(rest);
            let request = self.of(id);
            request.arrival_ns = Some(at_ns);
            request.requested_output_tokens = max_tokens;
            request.prompt_tokens = prompt_tokens.filter(|_| lists_are_whole);
            event(sink, at_ns, id, EventKind::Arrived, None);
        } else if let Some(id) = ended_by_dot(message, "Added request ") {
            self.of(id).queued_ns.get_or_insert(at_ns);
            event(sink, at_ns, id, EventKind::Queued, None);
        } else if let Some(id) = ended_by_dot(message, "Finished request ") {
            self.end(id, at_ns, EventKind::Finished, None, sink);
        } else if let Some(rest) = message.strip_prefix("Generated response ") {
            self.generated(rest, at_ns, lists_are_whole, sink);
        } else if let Some(ids) = ended_by_dot(message, "Aborted request(s) ") {
            for id in ids.split(',').map(str::trim).filter(|id| !id.is_empty()) {
                self.end(id, at_ns, EventKind::Failed, Some("aborted"), sink);
            }
        } else if let Some(id) = ended_by_dot(message, "Aborted request ") {
            self.end(id, at_ns, EventKind::Failed, Some("aborted"), sink);
        } else if let Some((id, why)) = message.strip_prefix("Request ").and_then(|r| r.split_once(" failed"))
            && !id.contains(' ')
        {
            let why = why.trim_matches([' ', '.', '(', ')']);
            self.end(id, at_ns, EventKind::Failed, Some(if why.is_empty() { "failed" } else { why }), sink);
        }
    }

    /// A preemption of the older engine: the event, and the running total.
    pub(super) fn preempted(message: &str, at_ns: i64, sink: &mut ServerSink) -> Option<Preemption> {
        let (id, rest) = message.strip_prefix("Sequence group ")?.split_once(" is preempted by ")?;
        let (mode, rest) = rest.split_once(" mode")?;
        let (total, end) = number(rest.split_once("total_num_cumulative_preemption=")?.1)?;
        if !end.trim().is_empty() {
            return None;
        }
        let total = total.parse().ok()?;
        event(sink, at_ns, id, EventKind::Preempted, Some(mode.trim_start_matches("PreemptionMode.")));
        Some(Preemption { total })
    }

    /// Hands the requests over.
    pub(super) fn finish(self, sink: &mut ServerSink) {
        self.list.into_iter().for_each(|tracked| sink.request(tracked.request));
    }

    fn generated(&mut self, rest: &str, at_ns: i64, lists_are_whole: bool, sink: &mut ServerSink) {
        let Some((head, rest)) = rest.split_once(": output: ") else { return };
        let (id, delta) = match head.split_once(" (streaming ") {
            Some((id, how)) => (id, how.starts_with("delta")),
            None => (head, false),
        };
        let Some(end) = value_end(rest).filter(|_| !delta) else { return };
        let mut rest = rest.get(end..).unwrap_or_default();
        if let Some(list) = rest.strip_prefix(", output_token_ids: ") {
            let Some(end) = value_end(list) else { return };
            let (ids, tail) = list.split_at(end);
            self.of(id).output_tokens = list_len(ids).filter(|_| lists_are_whole);
            rest = tail;
        }
        let reason = rest.strip_prefix(", finish_reason: ").and_then(plain).filter(|r| r != "streaming_complete");
        self.of(id).finish_reason = reason.clone();
        self.end(id, at_ns, EventKind::Finished, reason.as_deref(), sink);
    }

    fn of(&mut self, id: &str) -> &mut ServerRequest {
        &mut self.tracked(id).request
    }

    fn tracked(&mut self, id: &str) -> &mut Tracked {
        let at = match self.position.get(id) {
            Some(at) => *at,
            None => {
                let request = ServerRequest { request_id: Some(id.to_string()), ..ServerRequest::default() };
                self.list.push(Tracked { request, ended: false });
                self.position.insert(id.to_string(), self.list.len() - 1);
                self.list.len() - 1
            }
        };
        &mut self.list[at]
    }

    fn end(&mut self, id: &str, at_ns: i64, kind: EventKind, detail: Option<&str>, sink: &mut ServerSink) {
        let tracked = self.tracked(id);
        if std::mem::replace(&mut tracked.ended, true) {
            return;
        }
        if kind == EventKind::Failed {
            tracked.request.error = Some(detail.unwrap_or("failed").to_string());
        }
        event(sink, at_ns, id, kind, detail);
    }
}

fn event(sink: &mut ServerSink, at_ns: i64, id: &str, kind: EventKind, detail: Option<&str>) {
    let (request_id, detail) = (Some(id.to_string()), detail.map(String::from));
    sink.event(ServerEvent { at_ns, request_id, kind, phase: None, detail });
}

/// The id between `start` and the full stop that ends the message.
fn ended_by_dot<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    let id = message.strip_prefix(start)?.strip_suffix('.')?;
    (!id.is_empty() && !id.contains(' ')).then_some(id)
}

/// Prompt tokens and the limit of output tokens in what follows the id of a received request.
fn received(text: &str) -> (Option<u32>, Option<u32>) {
    let mut rest = text;
    if let Some(prompt) = rest.strip_prefix("prompt: ") {
        let Some(end) = value_end(prompt) else { return (None, None) };
        rest = prompt.get(end..).unwrap_or_default().trim_start_matches([',', ' ']);
    }
    let Some(params) = rest.strip_prefix("params: ") else { return (None, None) };
    let Some(end) = value_end(params) else { return (None, None) };
    let (params, rest) = params.split_at(end);
    let inside = params.split_once('(').map_or("", |(_, inside)| inside);
    let max_tokens = keyword_pairs(inside).find(|(key, _)| *key == "max_tokens").and_then(|(_, n)| n.parse().ok());
    let ids = rest.strip_prefix(", prompt_token_ids: ").and_then(|ids| ids.get(..value_end(ids)?));
    (ids.and_then(list_len), max_tokens)
}
