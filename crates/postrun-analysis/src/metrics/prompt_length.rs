//! Prompt length: prompt tokens of a request.
//!
//! # Definition
//! One value a request: its prompt tokens, cached ones included, as counted by whom the manifest names.
//!
//! # Peers
//! Most clients store it as input length or ISL; whose tokenizer counts differs.
//!
//! # Needs
//! `prompt_tokens` of the requests table.
//!
//! # Caveats
//! It describes the load, not the server. Only answered requests are in it.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static PROMPT_LENGTH: Metric = Metric {
    id: "prompt_length_tokens",
    label: "Prompt length",
    unit: Unit::Tokens,
    better: Better::Neither,
    requires: &[(Table::Requests, "prompt_tokens")],
    doc: Doc::from_source(include_str!("prompt_length.rs")),
    compute: Compute::PerRequest(|| col("prompt_tokens").cast(DataType::Float64)),
};
