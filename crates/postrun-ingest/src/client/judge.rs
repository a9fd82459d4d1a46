//! The oddities of one request, the same for every client.

use super::record::Record;
use super::values::Values;
use postrun_schema::{IssueCode, Status};

/// A first token this close to the end is the end.
const SAME_INSTANT_NS: i64 = 1_000_000;
/// Below this, last chunk and recorded end differ by rounding only.
const ROUNDING_NS: i64 = 1_000;
/// No streamed chunk is expected to carry more tokens than this.
const LARGEST_PLAUSIBLE_CHUNK_TOKENS: u32 = 16;

/// Judges a record whose chunks, if any, are `chunks` many.
pub(super) fn judge(record: &mut Record, values: &mut Values<'_>, chunks: Option<usize>, ttft_recorded: bool) {
    if record.status == Status::Error {
        let error = record.texts.as_ref().and_then(|t| t.error.clone());
        values.issue(IssueCode::FailedRequests, "status", || error.unwrap_or_else(|| "no error text".to_string()));
    }
    if record.ttft_ns.is_none() && (record.status != Status::Ok || record.output_tokens == Some(0)) {
        // Without a token there is no last one; when the answer ended is all that is known.
        record.stream_end_ns = record.stream_end_ns.or(record.e2e_ns.take());
    }
    if record.status == Status::Ok {
        judge_answer(record, values, chunks, ttft_recorded);
    }
    if let (Some(last), Some(end)) = (record.e2e_ns, record.stream_end_ns) {
        if (end - last).abs() <= ROUNDING_NS {
            record.stream_end_ns = None;
        } else if end < last {
            values.issue(IssueCode::FirstTokenAfterEnd, "end", || {
                format!("last token at {:.6} s, end at {:.6} s", last as f64 / 1e9, end as f64 / 1e9)
            });
        } else if end - last > SAME_INSTANT_NS && record.status == Status::Ok {
            values.issue(IssueCode::StreamEndAfterLastToken, "end", || {
                format!("last token at {:.3} s, stream end at {:.3} s", last as f64 / 1e9, end as f64 / 1e9)
            });
        }
    }
}

fn judge_answer(record: &mut Record, values: &mut Values<'_>, chunks: Option<usize>, ttft_recorded: bool) {
    let Some(ttft) = record.ttft_ns else {
        if record.output_tokens == Some(0) {
            values.issue(IssueCode::NoOutput, "output", || "0 output tokens, no error".to_string());
        } else if ttft_recorded && record.streamed != Some(false) {
            values.issue(IssueCode::TtftNotMeasured, "TTFT", || "0, null or not a time".to_string());
        }
        return;
    };
    if record.e2e_ns.or(record.stream_end_ns).is_some_and(|end| ttft - end > ROUNDING_NS) {
        values.issue(IssueCode::FirstTokenAfterEnd, "TTFT", || format!("first token at {:.6} s", ttft as f64 / 1e9));
    }
    if chunks.is_some_and(|n| n > 1) {
        record.streamed = record.streamed.or(Some(true));
    }
    let at_once = chunks.is_none_or(|n| n == 1)
        && record.output_tokens.is_some_and(|n| n > LARGEST_PLAUSIBLE_CHUNK_TOKENS)
        && record.e2e_ns.is_some_and(|end| (end - ttft).abs() <= SAME_INSTANT_NS);
    if at_once || record.streamed == Some(false) {
        values.issue(IssueCode::NotStreamed, "TTFT", || "the whole answer in one piece at the end".to_string());
        record.streamed = Some(false);
        record.ttft_ns = None;
    }
}
