//! Rows to Arrow record batches.

use crate::row::{EventRow, RequestRow};
use crate::table::Table;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use std::borrow::Cow;
use std::sync::Arc;

/// A row of the `reported` table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedRow {
    /// postrun's metric id, or the tool's key where postrun has no such metric.
    pub metric: String,
    /// `value`, `mean`, `std`, `p50` …
    pub stat: String,
    /// `None`: stored, but not a finite number.
    pub value: Option<f64>,
    /// Unit of `value`: `ms`, `s`, `req/s`, `tok/s`, `tokens`, `requests` …
    pub unit: &'static str,
    /// Id of the definition the tool used; behind an `@` the largest rounding, where this source stored fewer digits.
    pub convention: Cow<'static, str>,
    /// The tool's own name of the figure.
    pub key: String,
}

/// The batch of `rows`, the first of which has key `first`.
pub(crate) fn requests_batch(first: u32, rows: &[RequestRow]) -> Result<RecordBatch, ArrowError> {
    let text = |get: &dyn Fn(&RequestRow) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<StringArray>())
    };
    let small = |get: &dyn Fn(&RequestRow) -> Option<u32>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<UInt32Array>())
    };
    let time = |get: &dyn Fn(&RequestRow) -> Option<i64>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<Int64Array>())
    };
    let keys = UInt32Array::from_iter_values((0..rows.len()).map(|i| first + i as u32));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(keys),
        text(&|r| r.request_id.as_deref()),
        text(&|r| r.model.as_deref()),
        text(&|r| r.session.as_deref()),
        small(&|r| r.turn),
        text(&|r| r.worker.as_deref()),
        small(&|r| r.stage),
        text(&|r| Some(r.phase.name())),
        text(&|r| Some(r.status.name())),
        text(&|r| r.error.as_deref()),
        text(&|r| r.finish_reason.as_deref()),
        Arc::new(rows.iter().map(|r| r.streamed).collect::<BooleanArray>()),
        small(&|r| r.prompt_tokens),
        small(&|r| r.cached_tokens),
        small(&|r| r.output_tokens),
        small(&|r| r.reasoning_tokens),
        small(&|r| r.requested_output_tokens),
        small(&|r| r.first_chunk_tokens),
        small(&|r| r.client_prompt_tokens),
        small(&|r| r.client_output_tokens),
        small(&|r| r.counted_chunks),
        small(&|r| r.counted_events),
        time(&|r| r.client_itl_ns),
        time(&|r| r.scheduled_send_ns),
        time(&|r| r.sent_ns),
        time(&|r| r.first_token_ns),
        time(&|r| r.last_token_ns),
        time(&|r| r.end_ns),
        time(&|r| r.ttft_ns),
        time(&|r| r.e2e_ns),
        time(&|r| r.stream_end_ns),
        time(&|r| r.first_byte_ns),
        time(&|r| r.arrival_ns),
        time(&|r| r.queued_ns),
        time(&|r| r.first_scheduled_ns),
        time(&|r| r.server_first_token_ns),
        time(&|r| r.server_last_token_ns),
        time(&|r| r.queue_ns),
        time(&|r| r.prefill_ns),
        time(&|r| r.decode_ns),
        time(&|r| r.inference_ns),
        small(&|r| r.preemptions),
        time(&|r| r.preempted_prefill_ns),
        time(&|r| r.preempted_decode_ns),
        small(&|r| r.chunks),
    ];
    RecordBatch::try_new(Table::Requests.arrow_schema(), columns)
}

pub(crate) fn reported_batch(rows: &[ReportedRow]) -> Result<RecordBatch, ArrowError> {
    let text = |get: &dyn Fn(&ReportedRow) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(get)))
    };
    let columns: Vec<ArrayRef> = vec![
        text(&|r| r.metric.clone()),
        text(&|r| r.stat.clone()),
        Arc::new(rows.iter().map(|r| r.value.filter(|v| v.is_finite())).collect::<Float64Array>()),
        text(&|r| r.unit.to_string()),
        text(&|r| r.convention.to_string()),
        text(&|r| r.key.clone()),
    ];
    RecordBatch::try_new(Table::Reported.arrow_schema(), columns)
}

/// The batch of one name: by request, its number.
pub(crate) fn extras_batch(name: &str, rows: &[(u32, f64)]) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(request, _)| *request))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|_| name))),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, value)| *value))),
    ];
    RecordBatch::try_new(Table::Extras.arrow_schema(), columns)
}

pub(crate) fn events_batch(rows: &[EventRow]) -> Result<RecordBatch, ArrowError> {
    let text = |get: &dyn Fn(&EventRow) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<StringArray>())
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|r| r.request).collect::<UInt32Array>()),
        text(&|r| r.request_id.as_deref()),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.at_ns))),
        text(&|r| Some(r.kind.name())),
        text(&|r| r.phase),
        text(&|r| r.detail.as_deref()),
    ];
    RecordBatch::try_new(Table::Events.arrow_schema(), columns)
}

/// Rows of the `samples` table that wait for their batch.
#[derive(Debug, Default)]
pub(crate) struct SampleBuffer {
    at_ns: Vec<i64>,
    series: StringBuilder,
    labels: StringBuilder,
    value: Vec<f64>,
    source: StringBuilder,
}

impl SampleBuffer {
    pub(crate) fn len(&self) -> usize {
        self.at_ns.len()
    }

    pub(crate) fn push(&mut self, at_ns: i64, series: &str, labels: Option<&str>, value: f64, source: &str) {
        self.at_ns.push(at_ns);
        self.series.append_value(series);
        self.labels.append_option(labels);
        self.value.push(value);
        self.source.append_value(source);
    }

    pub(crate) fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(std::mem::take(&mut self.at_ns))),
            Arc::new(self.series.finish()),
            Arc::new(self.labels.finish()),
            Arc::new(Float64Array::from(std::mem::take(&mut self.value))),
            Arc::new(self.source.finish()),
        ];
        RecordBatch::try_new(Table::Samples.arrow_schema(), columns)
    }
}
