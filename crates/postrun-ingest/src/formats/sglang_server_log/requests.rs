//! Requests in an SGLang server's log: lines of `--log-requests` and of `--enable-request-time-stats-logging`.

use crate::formats::sglang_request_metrics::meta_info::{
    complete, from_meta, is_health_check, requested_output, shift,
};
use crate::json::Tree;
use crate::server::figure::{count, judged};
use crate::server::recording::{ServerEvent, ServerRequest, ServerSink};
use crate::text::python;
use crate::text::stamp::{CivilStamp, LogClock};
use postrun_schema::{EventKind, IssueCode};
use std::collections::HashMap;

/// Zones lie a multiple of this from UTC.
const ZONE_STEP_NS: i64 = 900_000_000_000;
const FARTHEST_ZONE_NS: u64 = 15 * 3_600_000_000_000;
/// Between the end of a request and the line about it.
const MOST_DELAY_NS: i64 = 120_000_000_000;
/// A prefix of another logger before an unstamped line is short.
const LONGEST_PREFIX: usize = 160;

#[derive(Debug, Default)]
struct Known {
    request: ServerRequest,
    received_ns: Option<i64>,
}

/// Collects what all lines say of each request.
#[derive(Debug, Default)]
pub(crate) struct RequestLines {
    known: Vec<Known>,
    position: HashMap<String, usize>,
    /// Local time minus Unix time, once a line gave both.
    zone_ns: Option<i64>,
}

/// What a line is about, and the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Received,
    Finished,
    TimeStats,
    Json,
}

const OPENINGS: [(&str, About); 4] = [
    ("Receive: obj=", About::Received),
    ("Finish: obj=", About::Finished),
    ("ReqTimeStats(", About::TimeStats),
    ("Req Time Stats(", About::TimeStats),
];

/// Finds a line about a request; `message` may still have a foreign prefix.
pub(crate) fn about(message: &str) -> Option<(About, &str)> {
    if message.starts_with('{') && ["\"event\"", "\"request.", "\"rid\""].iter().all(|key| message.contains(key)) {
        return Some((About::Json, message));
    }
    let head = message.get(..LONGEST_PREFIX).unwrap_or(message);
    OPENINGS.iter().find_map(|(opening, about)| {
        let at = head.find(opening)?;
        let clean = at == 0 || message.as_bytes().get(at - 1).is_some_and(u8::is_ascii_whitespace);
        clean.then(|| (*about, message.get(at + opening.len()..).unwrap_or_default()))
    })
}

impl RequestLines {
    /// Takes one line. `local_ns` is its time on the log's clock, or that of the last stamped line.
    pub(crate) fn take(
        &mut self,
        sink: &mut ServerSink,
        place: &dyn Fn() -> String,
        (about, text): (About, &str),
        local_ns: Option<i64>,
    ) {
        let understood = match about {
            About::TimeStats => self.time_stats(sink, place, text, local_ns),
            About::Received | About::Finished => self.printed(sink, place, about, text, local_ns),
            About::Json => self.json(sink, place, text, local_ns),
        };
        if understood.is_none() {
            let shown =
                || format!("a line about a request that does not parse: {}", text.chars().take(60).collect::<String>());
            sink.skip(IssueCode::BadRecord, place, shown);
        }
    }

    /// Hands over the requests, in the order of their first lines.
    pub(crate) fn settle(self, sink: &mut ServerSink) {
        if let Some(zone) = self.zone_ns {
            sink.fact("utc_offset_s", (zone / 1_000_000_000).to_string());
        }
        for known in self.known {
            let mut request = known.request;
            request.arrival_ns = request.arrival_ns.or(known.received_ns);
            sink.request(request);
        }
    }

    fn entry(&mut self, id: &str) -> Option<&mut Known> {
        let next = self.known.len();
        let at = *self.position.entry(id.to_string()).or_insert(next);
        if at == next {
            let request = ServerRequest { request_id: Some(id.to_string()), ..ServerRequest::default() };
            self.known.push(Known { request, received_ns: None });
        }
        self.known.get_mut(at)
    }

    /// Local minus Unix time, from a moment that is known in both to two minutes.
    fn zone(&mut self, unix_ns: i64, local_ns: Option<i64>) -> Option<i64> {
        if self.zone_ns.is_none() {
            let apart = local_ns?.checked_sub(unix_ns).filter(|ns| ns.unsigned_abs() < FARTHEST_ZONE_NS)?;
            let nearest = (apart + ZONE_STEP_NS / 2).div_euclid(ZONE_STEP_NS) * ZONE_STEP_NS;
            self.zone_ns = ((apart - nearest).abs() <= MOST_DELAY_NS).then_some(nearest);
        }
        self.zone_ns
    }

    /// `rid=R, input_len=8, …, type=unified): queue_duration=12.00ms, forward_duration=188.00ms, entry_time=…`
    fn time_stats(
        &mut self,
        sink: &mut ServerSink,
        place: &dyn Fn() -> String,
        text: &str,
        local_ns: Option<i64>,
    ) -> Option<()> {
        let (inside, durations) = text.split_once("):")?;
        let fields: HashMap<String, &str> = [inside, durations]
            .iter()
            .flat_map(|part| part.split([',', ';']))
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.trim().replace(' ', "_"), value.trim()))
            .collect();
        let id = fields.get("rid").map(|id| id.trim_matches(['\'', '"'])).filter(|id| !id.is_empty())?;
        if is_health_check(id) {
            return Some(());
        }
        let number = |key: &str| {
            fields.get(key).map_or(Tree::Null, |text| Tree::Number(text.trim_end_matches("ms").to_string()))
        };
        let mut tokens = |key: &str| count(sink, place, key, &number(key));
        let (prompt, output, cached) = (tokens("input_len"), tokens("output_len"), tokens("cached_input_len"));
        let mut ms = |key: &str| judged(sink, place, key, &number(key), |tree| tree.seconds_ns().map(|ns| ns / 1000));
        let (queue_ns, forward) = (ms("queue_duration"), ms("forward_duration"));
        // The older `start_time` is a clock of its own; only `entry_time` is Unix time.
        let entry = number("entry_time").seconds_ns().filter(|ns| *ns > 1_000_000_000_000_000_000);
        let scheduled = entry.zip(queue_ns).map(|(at, ns)| at.saturating_add(ns));
        let done = scheduled.zip(forward).map(|(at, ns)| at.saturating_add(ns));
        let zone = done.and_then(|done| self.zone(done, local_ns));
        let local = |at: Option<i64>| at.zip(zone).map(|(at, zone)| at.saturating_add(zone));
        let mode = fields.get("type").map(|mode| mode.to_ascii_lowercase()).unwrap_or_default();
        let found = ServerRequest {
            queued_ns: local(entry),
            first_scheduled_ns: local(scheduled),
            last_token_ns: local(done).or(local_ns).filter(|_| mode != "prefill"),
            queue_ns,
            prefill_ns: forward.filter(|_| mode == "prefill"),
            decode_ns: forward.filter(|_| mode == "decode"),
            inference_ns: forward.filter(|_| mode == "unified"),
            prompt_tokens: prompt,
            cached_tokens: cached,
            output_tokens: output,
            ..ServerRequest::default()
        };
        complete(&mut self.entry(id)?.request, found);
        Some(())
    }

    /// `GenerateReqInput(rid='R', …)` and, when it is done, `, out={'meta_info': {…}}`.
    fn printed(
        &mut self,
        sink: &mut ServerSink,
        place: &dyn Fn() -> String,
        about: About,
        text: &str,
        local_ns: Option<i64>,
    ) -> Option<()> {
        let (object, rest) = python::parse(text)?;
        if about == About::Received {
            return self.received(sink, object.get("rid").text()?, local_ns);
        }
        let (out, _) = python::parse(rest.split_once("out=")?.1)?;
        self.finished(sink, place, &object, &out, local_ns)
    }

    fn json(
        &mut self,
        sink: &mut ServerSink,
        place: &dyn Fn() -> String,
        text: &str,
        local_ns: Option<i64>,
    ) -> Option<()> {
        let (event, _) = python::parse(text)?;
        let stamp = event.get("timestamp").text().and_then(CivilStamp::parse);
        // Its own stamp is finer than the line's, and on the same clock where neither names a zone.
        let own = stamp.filter(|(stamp, _)| stamp.zone_ns.is_none() && stamp.year.is_some());
        let own = own.map(|(stamp, _)| LogClock::default().at_ns(&stamp));
        let at = match (own, local_ns) {
            (Some(own), Some(line)) if (own - line).abs() > MOST_DELAY_NS => Some(line),
            (own, line) => own.or(line),
        };
        match event.get("event").text()? {
            "request.received" => self.received(sink, event.get("rid").text()?, at),
            "request.finished" => {
                let mut object = event.get("obj").clone();
                if let (Tree::Map(members), Some(id)) = (&mut object, event.get("rid").text()) {
                    members.push(("rid".to_string(), Tree::Text(id.to_string())));
                }
                self.finished(sink, place, &object, event.get("out"), at)
            }
            _ => Some(()),
        }
    }

    fn received(&mut self, sink: &mut ServerSink, id: &str, at: Option<i64>) -> Option<()> {
        if is_health_check(id) {
            return Some(());
        }
        if let Some(at_ns) = at {
            self.entry(id)?.received_ns.get_or_insert(at_ns);
            sink.event(event(at_ns, id, EventKind::Arrived, None));
        }
        Some(())
    }

    fn finished(
        &mut self,
        sink: &mut ServerSink,
        place: &dyn Fn() -> String,
        object: &Tree,
        out: &Tree,
        local_ns: Option<i64>,
    ) -> Option<()> {
        let outs = if let Tree::List(outs) = out { outs.as_slice() } else { std::slice::from_ref(out) };
        for out in outs {
            let mut request = from_meta(sink, place, out.get("meta_info"));
            let id = request.request_id.clone().or(object.get("rid").text().map(String::from))?;
            if is_health_check(&id) {
                continue;
            }
            let zone = request.last_token_ns.and_then(|done| self.zone(done, local_ns));
            match zone {
                Some(zone) => shift(&mut request, zone),
                // Unix time in a log whose zone is not known is of no use.
                None => request = without_points(request),
            }
            request.last_token_ns = request.last_token_ns.or(local_ns);
            request.requested_output_tokens = requested_output(object);
            if let Some(at_ns) = request.last_token_ns {
                let kind = if request.error.is_some() { EventKind::Failed } else { EventKind::Finished };
                sink.event(event(at_ns, &id, kind, request.error.clone().or(request.finish_reason.clone())));
            }
            complete(&mut self.entry(&id)?.request, request);
        }
        Some(())
    }
}

fn without_points(request: ServerRequest) -> ServerRequest {
    ServerRequest {
        arrival_ns: None,
        queued_ns: None,
        first_scheduled_ns: None,
        first_token_ns: None,
        last_token_ns: None,
        ..request
    }
}

fn event(at_ns: i64, id: &str, kind: EventKind, detail: Option<String>) -> ServerEvent {
    ServerEvent { at_ns, request_id: Some(id.to_string()), kind, phase: None, detail }
}
