//! The times of one request, and what stands beside them.

use super::Value;
use crate::error::ExportError;
use crate::flat::displayed;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use postrun_analysis::{CREDIBLE_NS, RequestValues};
use postrun_schema::{Unit, column};

/// Columns that say when.
pub(crate) const TIMES: [&str; 13] = [
    "request",
    "sent_ns",
    "ttft_ns",
    "e2e_ns",
    "end_ns",
    "arrival_ns",
    "queued_ns",
    "first_scheduled_ns",
    "server_first_token_ns",
    "server_last_token_ns",
    "queue_ns",
    "prefill_ns",
    "decode_ns",
];
/// Columns that are shown beside a request.
const TEXTS: [&str; 5] = ["request_id", "phase", "status", "finish_reason", "error"];
const COUNTS: [&str; 4] = ["prompt_tokens", "cached_tokens", "output_tokens", "preemptions"];

/// When what happened to a request. `None`: not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Row {
    pub request: u32,
    pub sent: Option<i64>,
    pub ttft: Option<i64>,
    pub e2e: Option<i64>,
    pub end: Option<i64>,
    pub arrival: Option<i64>,
    pub queued: Option<i64>,
    pub scheduled: Option<i64>,
    pub server_first: Option<i64>,
    pub server_last: Option<i64>,
    pub queue: Option<i64>,
    pub prefill: Option<i64>,
    pub decode: Option<i64>,
}

/// The rows of a batch.
pub(crate) fn rows(batch: &RecordBatch) -> Result<impl Iterator<Item = Row> + '_, ExportError> {
    let keys = column::<UInt32Array>(batch, "request");
    let keys = keys.ok_or_else(|| ExportError::Batch("no column request".to_string()))?;
    let times = TIMES.map(|name| column::<Int64Array>(batch, name));
    Ok((0..batch.num_rows()).map(move |i| {
        let at = |name: &str| {
            let found = TIMES.iter().position(|t| *t == name).and_then(|t| times.get(t).copied().flatten())?;
            (!found.is_null(i)).then(|| found.value(i)).filter(|ns| ns.unsigned_abs() <= CREDIBLE_NS as u64)
        };
        Row {
            request: keys.value(i),
            sent: at("sent_ns"),
            ttft: at("ttft_ns"),
            e2e: at("e2e_ns"),
            end: at("end_ns"),
            arrival: at("arrival_ns"),
            queued: at("queued_ns"),
            scheduled: at("first_scheduled_ns"),
            server_first: at("server_first_token_ns"),
            server_last: at("server_last_token_ns"),
            queue: at("queue_ns"),
            prefill: at("prefill_ns"),
            decode: at("decode_ns"),
        }
    }))
}

/// What stands beside row `i` of a batch.
pub(crate) fn args(batch: &RecordBatch, values: &[RequestValues], i: usize) -> Vec<(&'static str, Value)> {
    let text = |name: &'static str| {
        let found = column::<StringArray>(batch, name).filter(|c| !c.is_null(i))?;
        Some((name, Value::Text(found.value(i).to_string())))
    };
    let count = |name: &'static str| {
        let found = column::<UInt32Array>(batch, name).filter(|c| !c.is_null(i))?;
        Some((name, Value::Count(u64::from(found.value(i)))))
    };
    let metric = |v: &RequestValues| {
        let value = v.values.get(i).copied().flatten()?;
        Some((v.metric.id, Value::Figure(displayed(v.metric, value))))
    };
    let new = |v: &&RequestValues| v.metric.unit != Unit::Tokens && !COUNTS.contains(&v.metric.id);
    let recorded = TEXTS.into_iter().filter_map(text).chain(COUNTS.into_iter().filter_map(count));
    recorded.chain(values.iter().filter(new).filter_map(metric)).collect()
}

/// How a request's whole time is called, by how it ended, so that failures stand out.
pub(crate) fn title(batch: &RecordBatch, i: usize) -> &'static str {
    match column::<StringArray>(batch, "status").filter(|c| !c.is_null(i)).map(|c| c.value(i)) {
        Some("error") => "request (error)",
        Some("cancelled") => "request (cancelled)",
        Some("incomplete") => "request (incomplete)",
        _ => "request",
    }
}

/// Name of a request's track.
pub(crate) fn name(batch: &RecordBatch, i: usize, request: u32) -> String {
    match column::<StringArray>(batch, "request_id").filter(|c| !c.is_null(i)).map(|c| c.value(i)) {
        Some(id) => format!("request {request} ({id})"),
        None => format!("request {request}"),
    }
}
