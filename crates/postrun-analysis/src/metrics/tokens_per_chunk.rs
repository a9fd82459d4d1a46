//! Output tokens per chunk of the stream.
//!
//! # Definition
//! `output tokens / token-bearing chunks`, over ok requests whose chunks are recorded.
//!
//! # Needs
//! The chunks table and output token counts.
//!
//! # Caveats
//! Above 1, itl_ms is no latency between tokens; below 1, some chunks carried no token.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static TOKENS_PER_CHUNK: Metric = Metric {
    id: "tokens_per_chunk",
    label: "Tokens per chunk",
    unit: Unit::Tokens,
    better: Better::Neither,
    requires: &[(Table::Requests, "chunks"), (Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("tokens_per_chunk.rs")),
    compute: Compute::PerRun(|run| {
        run.chunks
            .filter(|n| *n > 0)
            .zip(run.output_tokens_in_chunks)
            .map(|(chunks, tokens)| tokens as f64 / chunks as f64)
    }),
};
