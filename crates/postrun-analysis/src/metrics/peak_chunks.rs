//! Peak chunk rate: most token-bearing chunks that arrived within one second.
//!
//! # Definition
//! Seconds are counted from the first send of an ok request; the fullest second wins.
//!
//! # Peers
//! What vLLM and SGLang print as peak output token throughput.
//!
//! # Needs
//! Send times and chunk times.
//!
//! # Caveats
//! Equals tokens only where each chunk carries one.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PEAK_CHUNKS: Metric = Metric {
    id: "peak_chunks_per_s",
    label: "Peak chunks/s",
    unit: Unit::ChunksPerSecond,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns"), (Table::Chunks, "at_ns")],
    doc: Doc::from_source(include_str!("peak_chunks.rs")),
    compute: Compute::PerRun(|run| run.peak_chunks_per_s.map(|n| n as f64)),
};
