//! The registry of ingestors: one file each, one line here.

mod otlp_spans;
mod sglang_bench;
mod vllm_bench;

use crate::ingestor::Ingestor;

/// All ingestors, in the order a listing shows them.
pub static INGESTORS: &[&Ingestor] = &[
    &vllm_bench::VLLM_BENCH,
    &sglang_bench::SGLANG_BENCH,
    &otlp_spans::OTLP_SPANS,
];
