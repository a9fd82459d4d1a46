//! Total throughput: prompt and output tokens a second.
//!
//! # Definition
//! prompt_tokens_per_s + output_tokens_per_s.
//!
//! # Peers
//! vLLM: `total_token_throughput`, GuideLLM: `tokens_per_second`, both the same. SGLang: `total_throughput`, with prompts as
//! its own tokenizer counts them.
//!
//! # Needs
//! The duration of the run: the client's own measurement, else the span from first send to last end.
//!
//! # Caveats
//! Dominated by prompts, which cost far less a token than outputs: never compare it across different mixes.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static TOTAL_THROUGHPUT: Metric = Metric {
    id: "total_tokens_per_s",
    label: "Total tokens/s",
    unit: Unit::TokensPerSecond,
    better: Better::Higher,
    requires: &[(Table::Requests, "prompt_tokens"), (Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("total_throughput.rs")),
    compute: Compute::PerRun(|run| {
        run.rate(run.prompt_tokens.map(|t| t as f64).zip(run.output_tokens).map(|(prompt, output)| prompt + output))
    }),
};
