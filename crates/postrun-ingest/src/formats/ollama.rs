//! Responses of Ollama as they came: what the server itself measured of each request.
//!
//! # Which files
//! Bodies of `/api/generate` and `/api/chat`, stored one behind another: a line or an object each, whole streams or only
//! their last records. Recognised by `model`, `created_at` and `done` beside a text or a duration.
//!
//! # Versions seen
//! By its documentation; no real file was at hand, so every field is taken as optional.
//!
//! # How the figures are read
//! - The record with `"done": true` is a request. `created_at` is when the server wrote it: the last token. Arrival is that
//!   less `total_duration`, which holds the load of the model and every wait too. All durations are nanoseconds.
//! - `prompt_eval_duration` is prefill, `eval_duration` is decode; both together are the inference.
//! - The first record of a stream with a text, a thought or a tool call is the first token. Records of streams must not
//!   be mixed: nothing in them tells one stream from another. Without such records there is no first token.
//! - `prompt_eval_count` may leave out what was cached, by version; it is absent where all was.
//! - A line with `error` is a request that failed.
//!
//! # What is not recorded
//! Request ids, time in the queue, cached tokens, the length asked for, anything the client measured. `load_duration` is in
//! no figure but the time from arrival to the last token.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::json::{Tree, shorten};
use crate::server::figure::{count, judged};
use crate::server::json_records;
use crate::server::recording::{ServerRequest, ServerSink};
use crate::text::stamp::{CivilStamp, StampClock};
use postrun_schema::{Doc, IssueCode};

pub(super) static OLLAMA: Ingestor = Ingestor {
    id: "ollama",
    title: "Ollama responses",
    doc: Doc::from_source(include_str!("ollama.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

/// Enough to see whether there is a text.
const TEXT_BYTES: usize = 300;

fn sniff(head: &Head) -> Sniff {
    let told = head.has_any(&["response", "message", "total_duration", "eval_duration"]);
    match head.has_all(&["model", "created_at", "done"]) && told {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    sink.clock(StampClock::Unix, 1);
    sink.server("Ollama", None);
    let mut first_token: Option<i64> = None;
    json_records::read(source, sink, |reader, sink| {
        let (line, at) = (reader.line(), reader.offset());
        let record = reader.tree(TEXT_BYTES)?;
        let place = || format!("line {line}, byte {at}");
        if let Some(error) = record.get("error").text() {
            let error = Some(shorten(error.to_string(), TEXT_BYTES));
            sink.request(ServerRequest { error, ..ServerRequest::default() });
            first_token = None;
            return Ok(());
        }
        match record.get("done") {
            Tree::Bool(false) => {
                if first_token.is_none() && has_content(&record) {
                    first_token = moment(&record, sink, &place);
                }
                Ok(())
            }
            Tree::Bool(true) => {
                finished(&record, first_token.take(), sink, &place);
                Ok(())
            }
            _ => Err(RecordError::NotARun("a record without done".to_string())),
        }
    })
}

fn has_content(record: &Tree) -> bool {
    let filled = |value: &Tree| match value {
        Tree::Text(text) => !text.is_empty(),
        Tree::List(list) => !list.is_empty(),
        _ => false,
    };
    let message = record.get("message");
    let values = [record.get("response"), record.get("thinking"), message.get("content"), message.get("thinking")];
    values.into_iter().chain([message.get("tool_calls")]).any(filled)
}

/// When the server wrote the record.
fn moment(record: &Tree, sink: &mut ServerSink, place: &dyn Fn() -> String) -> Option<i64> {
    let text = record.get("created_at").text()?;
    let at = CivilStamp::parse(text).and_then(|(stamp, _)| Some(stamp.at_ns(stamp.year?)));
    if at.is_none() {
        sink.issue(IssueCode::WrongType, place, || format!("created_at is {:?}", shorten(text.to_string(), 40)));
    }
    at
}

fn finished(record: &Tree, first_token: Option<i64>, sink: &mut ServerSink, place: &dyn Fn() -> String) {
    let end_ns = moment(record, sink, place);
    let mut duration = |key: &str| judged(sink, place, key, record.get(key), Tree::integer);
    let total = duration("total_duration");
    let (prefill_ns, decode_ns) = (duration("prompt_eval_duration"), duration("eval_duration"));
    let parts = prefill_ns.unwrap_or(0).saturating_add(decode_ns.unwrap_or(0));
    let total = match total {
        Some(total) if total < parts => {
            let example = || format!("total_duration {total} ns is less than its parts, {parts} ns");
            sink.issue(IssueCode::ImplausibleTime, place, example);
            None
        }
        other => other,
    };
    let arrival_ns = end_ns.zip(total).and_then(|(end, total)| end.checked_sub(total));
    let inside = |at: &i64| arrival_ns.is_none_or(|from| from <= *at) && end_ns.is_none_or(|to| *at <= to);
    let request = ServerRequest {
        model: record.get("model").text().map(|name| shorten(name.to_string(), 200)),
        arrival_ns,
        first_token_ns: first_token.filter(inside),
        last_token_ns: end_ns,
        prefill_ns,
        decode_ns,
        inference_ns: prefill_ns.zip(decode_ns).map(|(prefill, decode)| prefill.saturating_add(decode)),
        prompt_tokens: count(sink, place, "prompt_eval_count", record.get("prompt_eval_count")),
        output_tokens: count(sink, place, "eval_count", record.get("eval_count")),
        finish_reason: record.get("done_reason").text().map(|reason| shorten(reason.to_string(), 100)),
        ..ServerRequest::default()
    };
    sink.request(request);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::damage_test::{cut_everywhere, mutate_at_random, mutate_everywhere};
    use crate::formats::reading_test::{read, sniff};

    const FIXTURE: &[u8] = include_bytes!("../../../../fixtures/ollama/streams_and_last_records/input/responses.jsonl");

    #[test]
    fn the_fixture_reads_as_written() {
        assert_eq!(sniff(&OLLAMA, "responses.jsonl", FIXTURE), Sniff::Strong);
        let (recording, _dir) = read(&OLLAMA, "responses.jsonl", FIXTURE).unwrap();
        let [stream, cold, cached, failed, odd] = recording.requests.as_slice() else {
            panic!("{:?}", recording.requests)
        };
        assert_eq!(stream.arrival_ns, Some(1_767_323_045_000_000_000));
        assert_eq!(stream.first_token_ns, Some(1_767_323_045_250_000_000));
        assert_eq!(stream.last_token_ns, Some(1_767_323_045_500_000_000));
        assert_eq!((stream.prefill_ns, stream.decode_ns), (Some(120_000_000), Some(300_000_000)));
        assert_eq!(stream.inference_ns, Some(420_000_000));
        assert_eq!((stream.prompt_tokens, stream.output_tokens), (Some(26), Some(3)));
        assert_eq!((stream.finish_reason.as_deref(), stream.model.as_deref()), (Some("stop"), Some("tiny:1b")));
        assert_eq!((cold.arrival_ns, cold.first_token_ns), (Some(1_767_323_047_000_000_000), None));
        assert_eq!((cached.prompt_tokens, cached.prefill_ns, cached.inference_ns), (None, None, None));
        assert_eq!(failed.error.as_deref(), Some("model runner has unexpectedly stopped"));
        assert_eq!((odd.arrival_ns, odd.decode_ns, odd.output_tokens), (None, None, None));
        let issues = recording.issues;
        assert_eq!((issues.count(IssueCode::NegativeDuration), issues.count(IssueCode::OutOfRange)), (1, 1));
        assert_eq!(issues.count(IssueCode::ImplausibleTime), 1);
    }

    #[test]
    fn damage_is_no_crash() {
        cut_everywhere(&OLLAMA, "cut.jsonl", FIXTURE, true);
        mutate_everywhere(&OLLAMA, "hurt.jsonl", FIXTURE);
        mutate_at_random(&OLLAMA, "hurt.jsonl", FIXTURE);
        let indented =
            b"{\n \"model\": \"m\",\n \"created_at\": \"soon\",\n \"done\": true,\n \"eval_duration\": 5\n}\n";
        let (recording, _dir) = read(&OLLAMA, "one.json", indented).unwrap();
        assert_eq!(recording.requests.len(), 1);
        assert_eq!(recording.issues.count(IssueCode::WrongType), 1);
        let (none, _dir) = read(
            &OLLAMA,
            "none.jsonl",
            b"{\"model\":\"m\"}
",
        )
        .unwrap();
        assert_eq!((none.requests.len(), none.skipped), (0, 1));
    }
}
