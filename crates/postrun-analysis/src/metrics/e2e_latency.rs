//! End-to-end latency: from sending a request to its last token.
//!
//! # Definition
//! One value a request: `last token-bearing chunk − send`. For answers that were not streamed, the whole answer.
//!
//! # Peers
//! vLLM: the same since 0.31 and for completions; chat before that ran to the usage chunk. SGLang: to the last line of the
//! stream, `[DONE]` included. inference-perf: to the end of the response.
//!
//! # Needs
//! `e2e_ns` of the requests table.
//!
//! # Caveats
//! Grows with the output length: compare runs of equal output lengths, or use e2e_per_output_token_ms.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static E2E_LATENCY: Metric = Metric {
    id: "e2e_ms",
    label: "E2E",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "e2e_ns")],
    doc: Doc::from_source(include_str!("e2e_latency.rs")),
    compute: Compute::PerRequest(|| col("e2e_ns").cast(DataType::Float64)),
};
