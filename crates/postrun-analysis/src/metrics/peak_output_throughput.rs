//! Peak output throughput: most output tokens that arrived within one second.
//!
//! # Definition
//! Seconds are counted from the first send of an ok request; each chunk counts its tokens in the second of its arrival,
//! and the fullest second wins. Where chunks do not know their tokens, each counts the mean of its request.
//!
//! # Peers
//! vLLM and SGLang (`max_output_tokens_per_s`) count chunks and call them tokens: see peak_chunks_per_s.
//!
//! # Needs
//! Send times and chunk times.
//!
//! # Caveats
//! Whether a burst falls into one second or is split over two is chance.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PEAK_OUTPUT_THROUGHPUT: Metric = Metric {
    id: "peak_output_tokens_per_s",
    label: "Peak output tokens/s",
    unit: Unit::TokensPerSecond,
    better: Better::Higher,
    requires: &[(Table::Requests, "sent_ns"), (Table::Chunks, "at_ns"), (Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("peak_output_throughput.rs")),
    compute: Compute::PerRun(|run| run.peak_output_tokens_per_s),
};
