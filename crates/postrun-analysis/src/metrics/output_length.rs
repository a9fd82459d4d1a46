//! Output length: output tokens of a request.
//!
//! # Definition
//! One value a request: its output tokens, reasoning included, as counted by whom the manifest names.
//!
//! # Peers
//! Most clients store it as output length or OSL; whose tokenizer counts differs.
//!
//! # Needs
//! `output_tokens` of the requests table.
//!
//! # Caveats
//! It describes the load, not the server. Only answered requests are in it.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static OUTPUT_LENGTH: Metric = Metric {
    id: "output_length_tokens",
    label: "Output length",
    unit: Unit::Tokens,
    better: Better::Neither,
    requires: &[(Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("output_length.rs")),
    compute: Compute::PerRequest(|| col("output_tokens").cast(DataType::Float64)),
};
