//! What SGLang says of a request when it is done: its `meta_info`, in native responses, exported records and request
//! logs.

use crate::json::Tree;
use crate::server::figure::{LONGEST_NS, count, seconds};
use crate::server::recording::{ServerRequest, ServerSink};
use postrun_schema::IssueCode;

/// Requests that the server sends itself.
pub(crate) fn is_health_check(id: &str) -> bool {
    id.starts_with("HEALTH_CHECK")
}

/// The request that `meta` describes; its points in time are Unix time.
pub(crate) fn from_meta(sink: &mut ServerSink, place: &dyn Fn() -> String, meta: &Tree) -> ServerRequest {
    let e2e = seconds(sink, place, "e2e_latency", meta.get("e2e_latency")).filter(|ns| *ns > 0);
    let ttft = seconds(sink, place, "first_token_latency", meta.get("first_token_latency")).filter(|ns| *ns > 0);
    let queue_ns = seconds(sink, place, "queue_time", meta.get("queue_time"));
    let mut tokens = |key: &str| count(sink, place, key, meta.get(key));
    let (prompt_tokens, output_tokens) = (tokens("prompt_tokens"), tokens("completion_tokens"));
    let (cached_tokens, retractions) = (tokens("cached_tokens"), tokens("num_retractions"));
    let preemptions = retractions.or_else(|| tokens("total_retractions"));
    let point = |keys: &[&str]| keys.iter().find_map(|key| moment(meta.get(key)));
    let finished = point(&["request_finished_ts", "decode_finished_ts"]);
    let less = |at: Option<i64>, ns: Option<i64>| at.zip(ns).map(|(at, ns)| at.saturating_sub(ns));
    let more = |at: Option<i64>, ns: Option<i64>| at.zip(ns).map(|(at, ns)| at.saturating_add(ns));
    let arrival_ns = point(&["request_received_ts"]).or(less(finished, e2e));
    let (entered, prefilled) =
        (point(&["forward_entry_time"]), point(&["prefill_finished_time", "prefill_finished_ts"]));
    if arrival_ns.zip(finished).is_some_and(|(arrival, finished)| finished < arrival) {
        sink.issue(IssueCode::NegativeDuration, place, || "a request is finished before it was received".to_string());
    }
    let reason = meta.get("finish_reason");
    let kind = reason.get("type").text().or(reason.text());
    ServerRequest {
        request_id: meta.get("id").text().filter(|id| !id.is_empty()).map(String::from),
        arrival_ns,
        first_scheduled_ns: entered,
        first_token_ns: more(arrival_ns, ttft),
        last_token_ns: finished.filter(|f| arrival_ns.is_none_or(|a| a <= *f)).or(more(arrival_ns, e2e)),
        queue_ns,
        prefill_ns: less(prefilled, entered).filter(|ns| (0..=LONGEST_NS).contains(ns)),
        decode_ns: less(e2e, ttft).filter(|ns| *ns >= 0),
        prompt_tokens,
        cached_tokens,
        output_tokens,
        preemptions,
        finish_reason: kind.map(String::from),
        error: failure(reason),
        ..ServerRequest::default()
    }
}

/// A point of Unix time; what is too small for one is another clock.
fn moment(tree: &Tree) -> Option<i64> {
    const YEAR_2001_NS: i64 = 1_000_000_000_000_000_000;
    tree.seconds_ns().filter(|ns| *ns >= YEAR_2001_NS)
}

/// Why the request was given up, where it was.
fn failure(reason: &Tree) -> Option<String> {
    let aborted = reason.get("type").text() == Some("abort") || reason.text() == Some("abort");
    aborted.then(|| reason.get("message").text().filter(|m| !m.is_empty()).unwrap_or("abort").to_string())
}

/// The output length that the request asked for.
pub(crate) fn requested_output(parameters: &Tree) -> Option<u32> {
    parameters.get("sampling_params").get("max_new_tokens").count()
}

/// Adds to `known` what another line of the same request says and `known` does not.
pub(crate) fn complete(known: &mut ServerRequest, other: ServerRequest) {
    fn fill<T>(known: &mut Option<T>, other: Option<T>) {
        if known.is_none() {
            *known = other;
        }
    }
    fill(&mut known.arrival_ns, other.arrival_ns);
    fill(&mut known.queued_ns, other.queued_ns);
    fill(&mut known.first_scheduled_ns, other.first_scheduled_ns);
    fill(&mut known.first_token_ns, other.first_token_ns);
    fill(&mut known.last_token_ns, other.last_token_ns);
    fill(&mut known.queue_ns, other.queue_ns);
    fill(&mut known.prefill_ns, other.prefill_ns);
    fill(&mut known.decode_ns, other.decode_ns);
    fill(&mut known.inference_ns, other.inference_ns);
    fill(&mut known.prompt_tokens, other.prompt_tokens);
    fill(&mut known.cached_tokens, other.cached_tokens);
    fill(&mut known.output_tokens, other.output_tokens);
    fill(&mut known.requested_output_tokens, other.requested_output_tokens);
    fill(&mut known.preemptions, other.preemptions);
    fill(&mut known.finish_reason, other.finish_reason);
    fill(&mut known.error, other.error);
}

/// Moves the points in time by `by_ns`, to another clock.
pub(crate) fn shift(request: &mut ServerRequest, by_ns: i64) {
    let points = [
        &mut request.arrival_ns,
        &mut request.queued_ns,
        &mut request.first_scheduled_ns,
        &mut request.first_token_ns,
        &mut request.last_token_ns,
    ];
    points.into_iter().flatten().for_each(|at| *at = at.saturating_add(by_ns));
}
