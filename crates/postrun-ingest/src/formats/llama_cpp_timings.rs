//! Responses of llama.cpp's server with their `timings`: prompt and generation time of each request.
//!
//! # Which files
//! Bodies of `/completion`, `/v1/completions` and `/v1/chat/completions`, stored one behind another: a line or an object
//! each; of streams the last record. Recognised by a `timings` that holds `prompt_ms` or `predicted_ms`.
//!
//! # Versions seen
//! Members of several versions from published excerpts; no real file was at hand, so every field is taken as optional.
//!
//! # How the figures are read
//! - `prompt_ms` is prefill, `predicted_ms` is decode, both together are the inference. Time in the queue is in neither.
//! - `prompt_n` counts what was computed. With `cache_n` (newer) it adds up to the prompt; without it the prompt is
//!   `usage.prompt_tokens` or `tokens_evaluated`, and what `prompt_n` does not cover was cached.
//! - `predicted_n` is the output. Draft tokens of speculative decoding are passed over.
//! - Rates are not read: builds differ in what they divide by.
//! - Records of a stream without timings are passed over; a record with `error` is a request that failed.
//!
//! # What is not recorded
//! Times of day (`created` is the whole second in which the answer was written), time in the queue, time to first token,
//! anything the client measured.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::json::{Tree, shorten};
use crate::server::figure::{count, judged};
use crate::server::json_records;
use crate::server::recording::{ServerRequest, ServerSink};
use crate::text::stamp::StampClock;
use postrun_schema::Doc;

pub(super) static LLAMA_CPP_TIMINGS: Ingestor = Ingestor {
    id: "llama_cpp_timings",
    title: "llama.cpp server responses",
    doc: Doc::from_source(include_str!("llama_cpp_timings.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

const TEXT_BYTES: usize = 300;

fn sniff(head: &Head) -> Sniff {
    let has = |key: &[u8]| memchr::memmem::find(head.bytes, key).is_some();
    match head.keys.contains("timings") && (has(b"\"prompt_ms\"") || has(b"\"predicted_ms\"")) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    sink.clock(StampClock::Monotonic, 1);
    sink.server("llama.cpp", None);
    json_records::read(source, sink, |reader, sink| {
        let (line, at) = (reader.line(), reader.offset());
        let record = reader.tree(TEXT_BYTES)?;
        let place = || format!("line {line}, byte {at}");
        if let Some(error) = failure(record.get("error")) {
            sink.request(ServerRequest { error: Some(error), ..ServerRequest::default() });
            return Ok(());
        }
        let timings = record.get("timings");
        if timings.members().is_empty() {
            let of_a_stream = record.get("object").text().is_some_and(|kind| kind.ends_with("chunk"))
                || *record.get("stop") == Tree::Bool(false);
            return match of_a_stream {
                true => Ok(()),
                false => Err(RecordError::NotARun("a record without timings".to_string())),
            };
        }
        let request = request(&record, timings, sink, &place);
        sink.request(request);
        Ok(())
    })
}

fn failure(error: &Tree) -> Option<String> {
    let text = error.text().or(error.get("message").text())?;
    Some(shorten(text.to_string(), TEXT_BYTES))
}

fn request(record: &Tree, timings: &Tree, sink: &mut ServerSink, place: &dyn Fn() -> String) -> ServerRequest {
    let mut duration = |key: &str| judged(sink, place, key, timings.get(key), millis);
    let (prefill_ns, decode_ns) = (duration("prompt_ms"), duration("predicted_ms"));
    let mut tokens = |key: &str, tree: &Tree| count(sink, place, key, tree);
    let (computed, cached) = (tokens("prompt_n", timings.get("prompt_n")), tokens("cache_n", timings.get("cache_n")));
    let whole = [record.get("usage").get("prompt_tokens"), record.get("tokens_evaluated")];
    let whole = whole.into_iter().find_map(Tree::count);
    let prompt_tokens = match (computed, cached) {
        (Some(computed), Some(cached)) => computed.checked_add(cached),
        _ => whole.filter(|whole| computed.is_none_or(|computed| computed <= *whole)),
    };
    let cached_tokens = cached.or_else(|| prompt_tokens?.checked_sub(computed?));
    let output_tokens = tokens("predicted_n", timings.get("predicted_n"));
    let choice = record.get("choices").elements().first();
    let reason = choice.and_then(|c| c.get("finish_reason").text()).or(record.get("stop_type").text());
    let text = |text: &str| shorten(text.to_string(), 200);
    ServerRequest {
        request_id: record.get("id").text().filter(|id| !id.is_empty()).map(text),
        model: record.get("model").text().filter(|name| !name.is_empty()).map(text),
        prefill_ns,
        decode_ns,
        inference_ns: prefill_ns.zip(decode_ns).map(|(prefill, decode)| prefill.saturating_add(decode)),
        prompt_tokens,
        cached_tokens,
        output_tokens,
        finish_reason: reason.map(text),
        ..ServerRequest::default()
    }
}

/// Milliseconds as nanoseconds.
fn millis(tree: &Tree) -> Option<i64> {
    tree.seconds_ns().map(|ns| crate::client::value::in_unit(ns, 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::damage_test::{cut_everywhere, mutate_at_random, mutate_everywhere};
    use crate::formats::reading_test::{read, sniff};
    use postrun_schema::IssueCode;

    const FIXTURE: &[u8] =
        include_bytes!("../../../../fixtures/llama_cpp_timings/two_interfaces/input/responses.jsonl");

    #[test]
    fn the_fixture_reads_as_written() {
        assert_eq!(sniff(&LLAMA_CPP_TIMINGS, "responses.jsonl", FIXTURE), Sniff::Strong);
        let (recording, _dir) = read(&LLAMA_CPP_TIMINGS, "responses.jsonl", FIXTURE).unwrap();
        let [chat, native, old, failed] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
        assert_eq!((chat.prefill_ns, chat.decode_ns), (Some(20_500_000), Some(30_125_000)));
        assert_eq!(chat.inference_ns, Some(50_625_000));
        assert_eq!((chat.prompt_tokens, chat.cached_tokens, chat.output_tokens), (Some(12), Some(7), Some(3)));
        assert_eq!((chat.finish_reason.as_deref(), chat.request_id.as_deref()), (Some("stop"), Some("chatcmpl-1")));
        assert_eq!((native.prompt_tokens, native.cached_tokens), (Some(40), Some(8)));
        assert_eq!(native.finish_reason.as_deref(), Some("limit"));
        assert_eq!((old.prompt_tokens, old.cached_tokens, old.decode_ns), (None, None, None));
        assert_eq!(failed.error.as_deref(), Some("the request exceeds the available context size"));
        assert_eq!(recording.issues.count(IssueCode::NegativeDuration), 1);
        assert_eq!(recording.issues.count(IssueCode::NotARun), 1);
    }

    #[test]
    fn damage_is_no_crash() {
        cut_everywhere(&LLAMA_CPP_TIMINGS, "cut.jsonl", FIXTURE, true);
        mutate_everywhere(&LLAMA_CPP_TIMINGS, "hurt.jsonl", FIXTURE);
        mutate_at_random(&LLAMA_CPP_TIMINGS, "hurt.jsonl", FIXTURE);
        let (none, _dir) = read(
            &LLAMA_CPP_TIMINGS,
            "none.jsonl",
            b"{\"timings\":{}}
",
        )
        .unwrap();
        assert_eq!((none.requests.len(), none.skipped), (0, 1));
    }
}
