//! One row of a stranger's table as a request.

use super::columns::{Cells, as_text};
use crate::client::run_rows::ChunkTimes;
use crate::mapping::Fact;
use postrun_schema::{IssueCode, Phase, RequestRow, Status, counted};

/// Two times that differ by less are the same, written twice.
const ROUNDING_NS: i64 = 1_000;

/// The request and its chunks.
pub(super) fn request(cells: &mut Cells<'_, '_>) -> (RequestRow, ChunkTimes) {
    let error = error_text(cells);
    let (status, odd_word) = status(cells, error.is_some());
    let error = error.or(odd_word.map(|word| format!("status {word:?}")).filter(|_| status == Status::Error));
    let sent_ns = cells.point(Fact::Sent);
    let since_send = |at: Option<i64>| at.zip(sent_ns).map(|(at, sent)| at.saturating_sub(sent));
    let first_token = since_send(cells.point(Fact::FirstToken)).and_then(|ns| cells.judge.plausible("first_token", ns));
    let last_token = since_send(cells.point(Fact::LastToken)).and_then(|ns| cells.judge.plausible("last_token", ns));
    let end_ns = cells.point(Fact::End);
    let ended = since_send(end_ns).and_then(|ns| cells.judge.plausible("end", ns));
    let chunks = chunks(cells, sent_ns);
    let ttft_ns = cells.duration(Fact::Ttft).or(first_token).filter(|ns| *ns > 0);
    let (ttft_ns, chunks) = match (ttft_ns, chunks) {
        (Some(ttft), Chunks::Gaps(gaps)) => (Some(ttft), added_up(ttft, &gaps)),
        (None, Chunks::Gaps(gaps)) => (None, added_up(0, &gaps)),
        (ttft, Chunks::Offsets(offsets)) => (ttft.or(offsets.first().copied().filter(|ns| *ns > 0)), offsets),
        (ttft, Chunks::None) => (ttft, Vec::new()),
    };
    let tokens = chunk_tokens(cells, chunks.len());
    let stream_end_ns = cells.duration(Fact::StreamEnd).or(ended);
    let recorded = cells.duration(Fact::E2e).or(last_token);
    let (e2e_ns, stream_end_ns) = match status {
        // What a failed request took is no latency.
        Status::Error => (None, stream_end_ns.or(recorded)),
        _ => ends(recorded, stream_end_ns, chunks.last().copied().filter(|_| ttft_ns.is_some())),
    };
    let row = RequestRow {
        request_id: cells.text(Fact::RequestId),
        model: cells.text(Fact::Model),
        session: cells.text(Fact::Session),
        turn: cells.count(Fact::Turn),
        worker: cells.text(Fact::Worker),
        phase: phase(cells),
        status,
        error,
        finish_reason: cells.text(Fact::FinishReason),
        streamed: cells.flag(Fact::Streamed).or(ttft_ns.map(|_| true)),
        prompt_tokens: cells.count(Fact::PromptTokens),
        cached_tokens: cells.count(Fact::CachedTokens),
        output_tokens: cells.count(Fact::OutputTokens),
        reasoning_tokens: cells.count(Fact::ReasoningTokens),
        requested_output_tokens: cells.count(Fact::RequestedOutputTokens),
        first_chunk_tokens: cells.count(Fact::FirstChunkTokens).or(tokens.first().copied()),
        preemptions: cells.count(Fact::Preemptions),
        scheduled_send_ns: cells.point(Fact::ScheduledSend),
        sent_ns,
        end_ns,
        ttft_ns,
        e2e_ns,
        stream_end_ns,
        first_byte_ns: cells.duration(Fact::FirstByte),
        queue_ns: cells.duration(Fact::Queue),
        prefill_ns: cells.duration(Fact::Prefill),
        decode_ns: cells.duration(Fact::Decode),
        inference_ns: cells.duration(Fact::Inference),
        ..RequestRow::default()
    };
    (row, ChunkTimes { at_ns: chunks, tokens })
}

enum Chunks {
    None,
    Gaps(Vec<i64>),
    /// Since the send.
    Offsets(Vec<i64>),
}

fn chunks(cells: &mut Cells<'_, '_>, sent_ns: Option<i64>) -> Chunks {
    if let Some(gaps) = cells.times(Fact::Gaps) {
        return Chunks::Gaps(gaps);
    }
    let fact = if cells.has(Fact::ChunkTimes) { Fact::ChunkTimes } else { Fact::ChunkOffsets };
    let Some(mut offsets) = cells.times(fact) else { return Chunks::None };
    if fact == Fact::ChunkTimes {
        let Some(sent) = sent_ns else { return Chunks::None };
        offsets.iter_mut().for_each(|at| *at = at.saturating_sub(sent));
    }
    if offsets.first().is_some_and(|first| *first < 0) || !offsets.is_sorted() {
        let name = cells.name(fact).to_string();
        cells.issue(IssueCode::NegativeDuration, &name, "a chunk before the one before it".to_string());
        return Chunks::None;
    }
    Chunks::Offsets(offsets)
}

fn added_up(first: i64, gaps: &[i64]) -> Vec<i64> {
    let mut at = first;
    let next = |gap: &i64| {
        at = at.saturating_add(*gap);
        at
    };
    if gaps.is_empty() { Vec::new() } else { std::iter::once(first).chain(gaps.iter().map(next)).collect() }
}

fn chunk_tokens(cells: &mut Cells<'_, '_>, chunks: usize) -> Vec<u32> {
    let Some(tokens) = cells.counts(Fact::ChunkTokens) else { return Vec::new() };
    if tokens.len() == chunks {
        return tokens;
    }
    let name = cells.name(Fact::ChunkTokens).to_string();
    cells.issue(
        IssueCode::ArrayLengthMismatch,
        &name,
        format!("{} for {}", counted(tokens.len() as u64, "token count"), counted(chunks as u64, "chunk")),
    );
    Vec::new()
}

/// The last token and the end of the stream. Where only the end is recorded, it stands for both.
fn ends(recorded: Option<i64>, stream_end: Option<i64>, last_chunk: Option<i64>) -> (Option<i64>, Option<i64>) {
    let (Some(last), Some(end)) = (last_chunk, recorded.or(stream_end)) else {
        return match (recorded, stream_end) {
            (None, end) => (last_chunk.or(end), None),
            (Some(e2e), end) => (Some(e2e), end.filter(|end| (end - e2e).abs() > ROUNDING_NS)),
        };
    };
    if end - last <= ROUNDING_NS {
        return (recorded.or(last_chunk), stream_end.filter(|end| (end - last).abs() > ROUNDING_NS));
    }
    (Some(last), stream_end.or(Some(end)))
}

/// Words for nothing that went wrong.
const NO_ERROR: [&str; 4] = ["false", "0", "none", "null"];

fn error_text(cells: &Cells<'_, '_>) -> Option<String> {
    as_text(cells.value(Fact::Error)).filter(|text| !NO_ERROR.contains(&text.to_lowercase().as_str()))
}

/// And the word, where nobody knows it. What it says of the request is not known, so the request is not answered: where the
/// mapping lists the words for ok it failed, else it is neither answered nor failed.
fn status(cells: &mut Cells<'_, '_>, failed: bool) -> (Status, Option<String>) {
    let otherwise = if failed { Status::Error } else { Status::Ok };
    let Some(word) = cells.text(Fact::Status).map(|word| word.to_lowercase()) else { return (otherwise, None) };
    let listed = cells.meaning(Fact::Status, &word);
    let ok_is_listed = cells.has_words(Fact::Status, "ok");
    let usual = usual_status(&word).filter(|usual| !(*usual == "ok" && ok_is_listed));
    let status = match listed.or(usual) {
        Some("ok") if failed && listed.is_none() => Status::Error,
        Some("ok") => Status::Ok,
        Some("error") => Status::Error,
        Some("cancelled") => Status::Cancelled,
        Some("incomplete") => Status::Incomplete,
        _ => {
            let (status, taken_as) = match failed || ok_is_listed {
                true => (Status::Error, "failed"),
                false => (Status::Incomplete, "neither answered nor failed"),
            };
            let name = cells.name(Fact::Status).to_string();
            let example = format!(
                "{word:?} is no known status, the request is taken as {taken_as}; say which it is: status = {{ column = …, ok = [{word:?}] }}"
            );
            cells.issue(IssueCode::UnknownStatus, &name, example);
            return (status, Some(word));
        }
    };
    (status, None)
}

fn usual_status(word: &str) -> Option<&'static str> {
    Some(match word {
        "ok" | "success" | "successful" | "succeeded" | "completed" | "complete" | "done" | "finished" | "true"
        | "1" | "1.0" => "ok",
        "error" | "errored" | "failed" | "failure" | "timeout" | "timed out" | "false" | "0" | "0.0" => "error",
        "cancelled" | "canceled" | "aborted" | "abort" => "cancelled",
        "incomplete" | "running" | "pending" => "incomplete",
        // Codes of HTTP.
        _ => match word.parse::<u32>().ok()? {
            200..=299 => "ok",
            499 => "cancelled",
            400..=599 => "error",
            _ => return None,
        },
    })
}

fn phase(cells: &mut Cells<'_, '_>) -> Phase {
    let Some(word) = cells.text(Fact::Phase).map(|word| word.to_lowercase()) else { return Phase::Measured };
    let usual = match word.as_str() {
        "measured" | "measure" | "measurement" | "main" | "benchmark" | "profiling" => Some("measured"),
        "warmup" | "warm-up" | "warm_up" => Some("warmup"),
        "cooldown" | "cool-down" | "cool_down" => Some("cooldown"),
        "probe" => Some("probe"),
        _ => None,
    };
    match cells.meaning(Fact::Phase, &word).or(usual) {
        Some("measured") => Phase::Measured,
        Some("warmup") => Phase::Warmup,
        Some("cooldown") => Phase::Cooldown,
        Some("probe") => Phase::Probe,
        _ => {
            let name = cells.name(Fact::Phase).to_string();
            cells.issue(IssueCode::WrongType, &name, format!("{word:?} is no known phase; taken as measured"));
            Phase::Measured
        }
    }
}
