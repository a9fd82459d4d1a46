//! Output tokens of each answered request.
//!
//! # Definition
//! One value a request: its output tokens, reasoning included. Over the measured requests that were answered. Unavailable
//! where only the length that was asked for is known: that is the load's setting, not an answer.
//!
//! # Peers
//! AIPerf: output sequence length (OSL). vLLM and SGLang: `output_lens`. LLMPerf: `number_output_tokens`. GuideLLM: output tokens.
//!
//! # Needs
//! `output_tokens` of the requests table.
//!
//! # Caveats
//! Where the load generator ignores the end of sequence, outputs are as long as it asked for, not as the model would stop.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static OUTPUT_LENGTH: Metric = Metric {
    id: "output_length",
    label: "Output length",
    unit: Unit::Tokens,
    better: Better::Neither,
    requires: &[(Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("output_length.rs")),
    compute: Compute::PerRequest(|| col("output_tokens").cast(DataType::Float64)),
};
