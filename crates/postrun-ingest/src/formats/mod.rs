//! The registry of ingestors: one file each, one line here.

mod otlp_spans;
mod sglang_bench;
mod sglang_request_metrics;
mod sglang_server_log;
mod trtllm_iteration_stats;
mod vllm_bench;

use crate::ingestor::Ingestor;

/// All ingestors, in the order a listing shows them.
pub static INGESTORS: &[&Ingestor] = &[
    &vllm_bench::VLLM_BENCH,
    &sglang_bench::SGLANG_BENCH,
    &otlp_spans::OTLP_SPANS,
    &sglang_server_log::SGLANG_SERVER_LOG,
    &sglang_request_metrics::SGLANG_REQUEST_METRICS,
    &trtllm_iteration_stats::TRTLLM_ITERATION_STATS,
];
