//! Finished requests as SGLang records them: exported metrics, or its request log in JSON.
//!
//! # Which files
//! `sglang-request-metrics-*.log` of `--export-metrics-to-file` (one JSON object a line, `request_parameters` beside
//! the figures), and request logs of `--log-requests --log-requests-format json` where the lines stand alone
//! (`"event": "request.finished"`). Recognised by `request_parameters` beside a figure, or by `event` and `rid` beside
//! `obj` or `out`. In a server's log, the latter belong to `sglang_server_log`.
//!
//! # Versions seen
//! Keys of 0.5.4 to 0.5.23, read from descriptions. The keys of the time figures changed several times; each is used
//! where it is there.
//!
//! # How the figures are read
//! - Points in time are Unix time. Arrival is `request_received_ts`, else the end minus `e2e_latency`; first token =
//!   arrival + `first_token_latency`; last token = `request_finished_ts` (older: `decode_finished_ts`), else arrival +
//!   `e2e_latency`. All three are taken in the server's front end: network time is not in them, tokenizing is.
//! - `queue_time` is the queue time. Newer versions add the waits after a retraction to it.
//! - First scheduled is `forward_entry_time`, prefill from there to `prefill_finished_time`. Decode is `e2e_latency`
//!   minus `first_token_latency`, the last minus the first token as the front end saw them.
//! - `num_retractions` (older: `total_retractions`) is the number of preemptions. `finish_reason` is its type; an
//!   abort is an error.
//! - The server's own health checks are passed over. A request id that comes twice counts once.
//!
//! # What is not recorded
//! The model, times of single tokens, the server's load. Without metrics enabled also the points in time and the queue
//! time. A file holds the requests that finished in one hour; those that never finished are in none.

pub(super) mod meta_info;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::server::json_records;
use crate::server::recording::ServerSink;
use crate::text::python;
use crate::text::stamp::StampClock;
use meta_info::{from_meta, is_health_check, requested_output};
use postrun_schema::{Doc, IssueCode};
use std::collections::HashSet;

pub(super) static SGLANG_REQUEST_METRICS: Ingestor = Ingestor {
    id: "sglang_request_metrics",
    title: "SGLang request metrics",
    doc: Doc::from_source(include_str!("sglang_request_metrics.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let exported = head.keys.contains("request_parameters") && head.has_any(FIGURES);
    let logged = head.has_all(&["event", "rid"]) && head.has_any(&["obj", "out"]);
    if exported || logged { Sniff::Strong } else { Sniff::No }
}

const FIGURES: &[&str] = &["finish_reason", "prompt_tokens", "completion_tokens", "e2e_latency"];
/// Long enough for the parameters of a request without its text.
const TEXT_BYTES: usize = 1 << 16;

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    // A float holds the seconds of this century to 200 ns or so.
    sink.clock(StampClock::Unix, 1000);
    sink.server("SGLang", None);
    let mut seen = HashSet::new();
    json_records::read(source, sink, |reader, sink| {
        let (line, at) = (reader.line(), reader.offset());
        let record = reader.tree(TEXT_BYTES)?;
        let place = || format!("line {line}, byte {at}");
        if let Some(event) = record.get("event").text() {
            match event {
                "request.finished" => {
                    let id = record.get("rid").text();
                    finished(sink, &place, record.get("out").get("meta_info"), record.get("obj"), id, &mut seen);
                    return Ok(());
                }
                _ if event.starts_with("request.") => return Ok(()),
                _ => return Err(RecordError::NotARun(format!("an event {event:?}, which is no request"))),
            }
        }
        if !FIGURES.iter().any(|key| *record.get(key) != Tree::Null) {
            return Err(RecordError::NotARun("a record without any figure of a request".to_string()));
        }
        let parameters = record.get("request_parameters");
        let parameters = match parameters.text().and_then(python::parse) {
            Some((parsed, _)) => parsed,
            None => parameters.clone(),
        };
        let id = parameters.get("rid").text();
        finished(sink, &place, &record, &parameters, id, &mut seen);
        Ok(())
    })
}

fn finished(
    sink: &mut ServerSink,
    place: &dyn Fn() -> String,
    meta: &Tree,
    parameters: &Tree,
    id: Option<&str>,
    seen: &mut HashSet<String>,
) {
    let mut request = from_meta(sink, place, meta);
    request.request_id = request.request_id.or(id.map(String::from));
    request.requested_output_tokens = requested_output(parameters);
    let id = request.request_id.clone().unwrap_or_default();
    if is_health_check(&id) {
        return;
    }
    if !id.is_empty() && !seen.insert(id.clone()) {
        sink.issue(IssueCode::DuplicateSample, place, || format!("request {id} once more"));
        return;
    }
    sink.request(request);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::damage_test::{cut_everywhere, mutate_everywhere};
    use crate::formats::reading_test::{read, sniff};

    const FIXTURE: &[u8] = include_bytes!(
        "../../../../fixtures/sglang_request_metrics/two_versions/input/sglang-request-metrics-20260102_03.log"
    );

    #[test]
    fn the_fixture_reads_as_written() {
        assert_eq!(sniff(&SGLANG_REQUEST_METRICS, "x.log", FIXTURE), Sniff::Strong);
        let (recording, _dir) = read(&SGLANG_REQUEST_METRICS, "x.log", FIXTURE).unwrap();
        let [first, old, aborted] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
        assert_eq!(first.arrival_ns, Some(1_767_323_045_100_000_000));
        assert_eq!(first.first_token_ns, Some(1_767_323_045_180_000_000));
        assert_eq!(first.last_token_ns, Some(1_767_323_045_300_000_000));
        assert_eq!((first.queue_ns, first.prefill_ns), (Some(12_000_000), Some(60_000_000)));
        assert_eq!((first.decode_ns, first.preemptions), (Some(120_000_000), Some(1)));
        assert_eq!((first.prompt_tokens, first.cached_tokens, first.output_tokens), (Some(8), Some(2), Some(4)));
        assert_eq!((first.finish_reason.as_deref(), first.requested_output_tokens), (Some("length"), Some(4)));
        // No time of receipt: the end minus the latency.
        assert_eq!((old.arrival_ns, old.preemptions), (Some(1_767_323_046_000_000_000), Some(0)));
        assert_eq!((old.first_token_ns, old.decode_ns), (None, None));
        assert_eq!(aborted.error.as_deref(), Some("Request running timeout reached."));
        assert_eq!((aborted.arrival_ns, aborted.queue_ns, aborted.output_tokens), (None, None, None));
        let count = |code| recording.issues.count(code);
        assert_eq!((count(IssueCode::DuplicateSample), count(IssueCode::NegativeDuration)), (1, 1));
        assert_eq!((count(IssueCode::ImplausibleTime), count(IssueCode::OutOfRange)), (1, 1));
    }

    #[test]
    fn a_request_log_in_json() {
        let text = concat!(
            r#"{"timestamp": "2026-01-02T03:04:05", "event": "request.received", "rid": "a", "obj": {}}"#,
            "\n",
            r#"{"timestamp": "2026-01-02T03:04:06", "event": "request.finished", "rid": "a", "#,
            r#""obj": {"sampling_params": {"max_new_tokens": 3}}, "out": {"meta_info": {"finish_reason": "stop", "#,
            r#""prompt_tokens": 5, "completion_tokens": 3, "e2e_latency": 0.5}}}"#,
            "\n",
            r#"{"event": "request.finished", "rid": "HEALTH_CHECK_1", "out": {"meta_info": {"prompt_tokens": 1}}}"#,
            "\n",
            r#"{"event": "other", "rid": "a", "out": {}}"#,
            "\n",
        );
        let text = text.as_bytes();
        assert_eq!(sniff(&SGLANG_REQUEST_METRICS, "x", br#"{"prompt_tokens": 1, "e2e_latency": 2}"#), Sniff::No);
        assert_eq!(sniff(&SGLANG_REQUEST_METRICS, "x.log", text), Sniff::Strong);
        let (recording, _dir) = read(&SGLANG_REQUEST_METRICS, "x.log", text).unwrap();
        let [request] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
        assert_eq!((request.request_id.as_deref(), request.requested_output_tokens), (Some("a"), Some(3)));
        assert_eq!((request.arrival_ns, request.finish_reason.as_deref()), (None, Some("stop")));
        assert_eq!((recording.skipped, recording.issues.count(IssueCode::NotARun)), (1, 1));
    }

    #[test]
    fn damage() {
        cut_everywhere(&SGLANG_REQUEST_METRICS, "x.log", FIXTURE, true);
        mutate_everywhere(&SGLANG_REQUEST_METRICS, "x.log", FIXTURE);
    }
}
