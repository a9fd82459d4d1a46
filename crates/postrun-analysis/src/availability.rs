//! Why a metric has no value, and which recording would give it one.

use crate::metric::Metric;
use crate::requests::Requests;
use postrun_schema::{Dataset, IssueCode, Table};
use serde::Serialize;

/// A metric that could not be computed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unavailable {
    /// Metric id.
    pub metric: &'static str,
    /// What is missing, in words.
    pub missing: String,
    /// Which recording would supply it.
    pub needed: &'static str,
}

/// Which recording would supply a column of a table.
pub fn supplier(table: Table, column: &str) -> &'static str {
    match (table, column) {
        (Table::Chunks, _) | (Table::Requests, "chunks") => {
            "per-request chunk times (vllm bench serve --save-detailed, SGLang --output-details)"
        }
        (Table::Requests, "sent_ns" | "scheduled_send_ns") => {
            "send times per request (vllm bench serve 0.16 or newer; SGLang's client stores none)"
        }
        (Table::Requests, "queue_ns" | "prefill_ns" | "decode_ns" | "inference_ns") => {
            "server-side request times (vLLM spans or 0.33 per-request metrics, SGLang request metrics)"
        }
        (Table::Requests, _) => "per-request records (vllm bench serve --save-detailed, SGLang --output-details)",
        _ => "the server's log or metrics",
    }
}

fn fact(table: Table, column: &str) -> &'static str {
    match (table, column) {
        (Table::Chunks, _) | (Table::Requests, "chunks") => "chunk times",
        (Table::Requests, "ttft_ns") => "time to first token",
        (Table::Requests, "e2e_ns") => "end-to-end latency",
        (Table::Requests, "output_tokens") => "output tokens",
        (Table::Requests, "prompt_tokens") => "prompt tokens",
        (Table::Requests, "sent_ns") => "send times",
        (Table::Requests, "scheduled_send_ns") => "scheduled send times",
        (Table::Requests, "queue_ns" | "prefill_ns" | "decode_ns" | "inference_ns") => "server-side request times",
        _ => "a column of the dataset",
    }
}

/// Why `metric` has no value in this run (or in the window that was asked for).
pub(crate) fn explain(metric: &Metric, dataset: &Dataset, requests: &Requests, windowed: bool) -> Unavailable {
    let absent = metric.requires.iter().find(|(table, column)| match table {
        Table::Requests => !requests.present.contains(column),
        other => dataset.rows(*other) == 0,
    });
    let (missing, needed) = match absent {
        _ if requests.len() == 0 => {
            ("per-request records: the file holds the client's summary only".to_string(), supplier(Table::Requests, ""))
        }
        Some((table, column)) => (format!("{} not recorded", fact(*table, column)), supplier(*table, column)),
        None if windowed => ("no value for a window".to_string(), "the report of the whole run"),
        None if metric.id == "goodput_requests_per_s" => {
            ("an objective is about a value that no request has".to_string(), "a recording of that value")
        }
        None if metric.id.ends_with("tokens_per_s") && metric.id != "peak_output_tokens_per_s" => (
            "some requests have no token count, so that a rate would be too low".to_string(),
            supplier(Table::Requests, ""),
        ),
        None if dataset.manifest().issues.iter().any(|i| i.code == IssueCode::SmoothedGaps) => (
            "the client stored gaps per token, not per chunk".to_string(),
            "a backend whose gaps are stored as they came",
        ),
        None => ("no request has all the values it needs".to_string(), supplier(Table::Requests, "")),
    };
    Unavailable { metric: metric.id, missing, needed }
}
