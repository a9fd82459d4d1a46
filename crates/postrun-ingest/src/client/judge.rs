//! The oddities of one request, the same for every client whose records stand one by one.

use super::value::Judge;
use postrun_schema::{IssueCode, RequestRow, Status, counted};

/// A first token this close to the end is the end.
const SAME_INSTANT_NS: i64 = 1_000_000;
/// Below this, last chunk and recorded end differ by rounding only.
const ROUNDING_NS: i64 = 1_000;
/// No streamed chunk is expected to carry more tokens than this.
const LARGEST_PLAUSIBLE_CHUNK_TOKENS: u32 = 16;

/// Judges a request of which `chunks` were seen.
pub(super) fn judge(row: &mut RequestRow, chunks: usize, ttft_recorded: bool, judge: &mut Judge<'_>) {
    if row.status == Status::Error {
        let error = row.error.clone();
        judge.issue(IssueCode::FailedRequests, || error.unwrap_or_else(|| "no error text".to_string()));
    }
    if row.ttft_ns.is_none() && (row.status != Status::Ok || row.output_tokens == Some(0)) {
        // Without a token there is no last one; when the answer ended is all that is known.
        row.stream_end_ns = row.stream_end_ns.or(row.e2e_ns.take());
    }
    if row.status == Status::Ok {
        answer(row, chunks, ttft_recorded, judge);
    }
    let (Some(last), Some(end)) = (row.e2e_ns, row.stream_end_ns) else { return };
    let seconds = |ns: i64| ns as f64 / 1e9;
    if (end - last).abs() <= ROUNDING_NS {
        row.stream_end_ns = None;
    } else if end < last {
        judge.issue(IssueCode::FirstTokenAfterEnd, || {
            format!("last token at {:.6} s, end at {:.6} s", seconds(last), seconds(end))
        });
    } else if end - last > SAME_INSTANT_NS && row.status == Status::Ok {
        judge.issue(IssueCode::StreamEndAfterLastToken, || {
            format!("last token at {:.3} s, stream end at {:.3} s", seconds(last), seconds(end))
        });
    }
}

fn answer(row: &mut RequestRow, chunks: usize, ttft_recorded: bool, judge: &mut Judge<'_>) {
    let Some(ttft) = row.ttft_ns else {
        match (row.output_tokens, row.streamed) {
            (Some(0), _) => judge.issue(IssueCode::NoOutput, || "0 output tokens, no error".to_string()),
            (_, Some(false)) => judge.issue(IssueCode::NotStreamed, || "no first token in this record".to_string()),
            _ if ttft_recorded => {
                judge.issue(IssueCode::TtftNotMeasured, || "no usable time of a first token".to_string());
            }
            _ => {}
        }
        if chunks > 0 {
            judge.issue(IssueCode::GapsWithoutFirstToken, || counted(chunks as u64, "chunk"));
        }
        return;
    };
    if chunks > 1 {
        row.streamed = row.streamed.or(Some(true));
    }
    let at_once = chunks <= 1
        && row.output_tokens.is_some_and(|n| n > LARGEST_PLAUSIBLE_CHUNK_TOKENS)
        // The same instant to the eye: of an answer that took less, a millisecond is a large part.
        && row.e2e_ns.is_some_and(|end| (end - ttft).abs() <= SAME_INSTANT_NS.min(end / 10));
    if at_once || row.streamed == Some(false) {
        judge.issue(IssueCode::NotStreamed, || "the whole answer in one piece at the end".to_string());
        row.streamed = Some(false);
        row.ttft_ns = None;
    }
}
