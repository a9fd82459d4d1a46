//! Prompt tokens of each answered request.
//!
//! # Definition
//! One value a request: its prompt tokens, special tokens and chat template included where the recording counts them. Over the
//! measured requests that were answered, like every metric of requests.
//!
//! # Peers
//! AIPerf: input sequence length (ISL). vLLM and SGLang: `input_lens`. LLMPerf: `number_input_tokens`. GuideLLM: prompt tokens.
//! Client and server may count differently; `--convention` does not change this metric, the parity table has the client's.
//!
//! # Needs
//! `prompt_tokens` of the requests table.
//!
//! # Caveats
//! A length, not the work of a prefill: cached tokens are counted too.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static PROMPT_LENGTH: Metric = Metric {
    id: "prompt_length",
    label: "Prompt length",
    unit: Unit::Tokens,
    better: Better::Neither,
    requires: &[(Table::Requests, "prompt_tokens")],
    doc: Doc::from_source(include_str!("prompt_length.rs")),
    compute: Compute::PerRequest(|| col("prompt_tokens").cast(DataType::Float64)),
};
