//! Prompt throughput: prompt tokens of answered requests a second.
//!
//! # Definition
//! `prompt tokens of ok requests / duration`. In a window: of ok requests whose first token came inside it.
//!
//! # Peers
//! SGLang: `input_throughput`, the same.
//!
//! # Needs
//! The duration of the run: the client's own measurement, else the span from first send to last end.
//!
//! # Caveats
//! Tokens served from a prefix cache count too, although no prefill work was done for them.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PROMPT_THROUGHPUT: Metric = Metric {
    id: "prompt_tokens_per_s",
    label: "Prompt tokens/s",
    unit: Unit::TokensPerSecond,
    better: Better::Higher,
    requires: &[(Table::Requests, "prompt_tokens")],
    doc: Doc::from_source(include_str!("prompt_throughput.rs")),
    compute: Compute::PerRun(|run| run.rate(run.prompt_tokens.map(|t| t as f64))),
};
