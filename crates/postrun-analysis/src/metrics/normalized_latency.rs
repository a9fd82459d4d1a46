//! Normalised latency: end-to-end latency divided by output tokens.
//!
//! # Definition
//! One value a request: `e2e / output tokens`, null without output. Queueing and prefill are spread over the tokens.
//! Known from the Orca and vLLM papers; inference-perf and LLMPerf report it as normalized time per output token.
//!
//! # Needs
//! `e2e_ns`, `output_tokens` of the requests table.
//!
//! # Caveats
//! Short outputs make it large, since TTFT is divided by few tokens.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static NORMALIZED_LATENCY: Metric = Metric {
    id: "e2e_per_output_token_ms",
    label: "E2E per output token",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "e2e_ns"), (Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("normalized_latency.rs")),
    compute: Compute::PerRequest(|| {
        let tokens = col("output_tokens").cast(DataType::Float64);
        when(tokens.clone().gt(lit(0.0))).then(col("e2e_ns").cast(DataType::Float64) / tokens).otherwise(lit(NULL))
    }),
};
