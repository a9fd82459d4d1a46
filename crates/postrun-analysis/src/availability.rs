//! Why a metric has no value, and which recording would give it one.

use crate::metric::Metric;
use crate::metrics::find_metric;
use crate::requests::Requests;
use crate::server::tracks::Tracks;
use postrun_schema::{Dataset, IssueCode, Manifest, Table};
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

impl Unavailable {
    /// Of a workload, where single facts matter little: whatever needs more than sends and lengths needs answers.
    pub(crate) fn for_want_of_answers(&mut self) {
        if find_metric(self.metric).is_none_or(|m| m.requires != OF_SENDS) {
            self.missing = "answers: the recording is a workload alone".to_string();
            self.needed = "the result of a benchmark client that replayed it";
        }
    }
}

/// What metrics of arrivals require.
const OF_SENDS: &[(Table, &str)] = &[(Table::Requests, "sent_ns")];

/// Which recording would supply a column of a table, or a series of the samples.
pub fn supplier(table: Table, column: &str) -> &'static str {
    match (table, column) {
        (Table::Chunks, _) | (Table::Requests, "chunks") => {
            "per-request chunk times (the client's detailed output: --save-detailed of vllm bench serve, --output-details of SGLang)"
        }
        (Table::Requests, "sent_ns" | "scheduled_send_ns") => {
            "send times per request (of vllm bench serve from 0.16 on; SGLang's client stores none)"
        }
        (Table::Requests, "queue_ns" | "prefill_ns" | "decode_ns" | "inference_ns") => {
            "server-side request times (vLLM spans or 0.33 per-request metrics, SGLang request metrics)"
        }
        (Table::Requests, "arrival_ns" | "server_first_token_ns") => "spans or request records of the server",
        (Table::Requests, "preemptions" | "preempted_prefill_ns" | "preempted_decode_ns") => {
            "the server's records of each request's preemptions (SGLang's request metrics, preemption events)"
        }
        (Table::Requests, _) => {
            "per-request records (the client's detailed output: --save-detailed of vllm bench serve, --output-details of SGLang)"
        }
        (Table::Samples, "gpu_memory_used_bytes") => "samples of the devices (nvidia-smi --query-gpu, DCGM)",
        (Table::Samples, "running" | "waiting" | "kv_cache_usage") => {
            "scrapes of the server's /metrics during the run, or its log"
        }
        _ => "scrapes of the server's /metrics before, during and after the run",
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
        (Table::Requests, "arrival_ns" | "server_first_token_ns") => "server-side request times",
        (Table::Requests, "preemptions" | "preempted_prefill_ns" | "preempted_decode_ns") => "preemptions per request",
        (Table::Samples, "gpu_memory_used_bytes") => "device memory",
        (Table::Samples, _) => "levels and counters of the server",
        _ => "a column of the dataset",
    }
}

/// True where only files of the server's side were read.
pub fn without_client(manifest: &Manifest) -> bool {
    manifest.clocks.server.is_some() && manifest.sources.iter().all(|source| source.aligned.is_some())
}

/// Why `metric` has no value in this run (or in the window that was asked for).
pub(crate) fn explain(
    metric: &Metric,
    dataset: &Dataset,
    (requests, tracks): (&Requests, &Tracks),
    windowed: bool,
) -> Unavailable {
    let absent = metric.requires.iter().find(|(table, column)| match table {
        Table::Requests => !requests.present.contains(column),
        Table::Samples => tracks.get(column).is_none(),
        other => dataset.rows(*other) == 0,
    });
    let of_server = metric.requires.iter().any(|(table, _)| *table == Table::Samples);
    let (missing, needed) = match absent {
        Some((table, column)) if of_server => {
            (format!("{} not recorded", fact(*table, column)), supplier(*table, column))
        }
        _ if without_client(dataset.manifest()) => {
            ("no file of a benchmark client was read".to_string(), "the client's result file beside the server's files")
        }
        _ if requests.len() == 0 => {
            ("per-request records: the file holds the client's summary only".to_string(), supplier(Table::Requests, ""))
        }
        // Whatever is recorded of failed requests: no metric counts them.
        _ if !of_server && !(0..requests.len()).any(|i| requests.counts(i)) => {
            ("no request was answered in full".to_string(), "a run in which requests are answered")
        }
        Some((table, column)) => (format!("{} not recorded", fact(*table, column)), supplier(*table, column)),
        None if windowed => ("no value for a window".to_string(), "the report of the whole run"),
        None if of_server => ("too few samples of the server lie in the run".to_string(), supplier(Table::Samples, "")),
        None if metric.id == "goodput_requests_per_s" => {
            ("an objective is about a value that no request has".to_string(), "a recording of that value")
        }
        None if metric.id.ends_with("tokens_per_s") && metric.id != "peak_output_tokens_per_s" => (
            "some requests have no token count, so that a rate would be too low".to_string(),
            supplier(Table::Requests, ""),
        ),
        None if metric.requires == OF_SENDS => {
            ("too few requests were sent, or all at one instant".to_string(), "a run of several requests")
        }
        None if dataset.manifest().issues.iter().any(|i| i.code == IssueCode::SmoothedGaps) => (
            "the client stored gaps per token, not per chunk".to_string(),
            "a backend whose gaps are stored as they came",
        ),
        None => ("no request has all the values it needs".to_string(), supplier(Table::Requests, "")),
    };
    Unavailable { metric: metric.id, missing, needed }
}
