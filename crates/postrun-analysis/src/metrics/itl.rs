//! Inter-token latency as the gap between two chunks of one stream.
//!
//! # Definition
//! One value a gap between consecutive token-bearing chunks of an ok request, all requests pooled. A chunk may carry
//! several tokens (speculative decoding, stream interval, batching in the network): then this is a gap between chunks, not
//! tokens, and itl_per_token_ms is the one to judge a model by.
//!
//! # Peers
//! vLLM: the same, role-only chunks included before 0.33. SGLang: the same for OpenAI backends; its native backend stores
//! gaps already divided by tokens. AIPerf calls this inter-chunk latency, and uses inter-token latency for what is TPOT here.
//!
//! # Needs
//! The chunks table.
//!
//! # Caveats
//! Long requests weigh more, having more gaps. Gaps of one stream depend on each other: the interval of a percentile is
//! narrower than the truth.

use crate::metric::{Better, Compute, GapValue, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static ITL: Metric = Metric {
    id: "itl_ms",
    label: "ITL (chunk gap)",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Chunks, "at_ns")],
    doc: Doc::from_source(include_str!("itl.rs")),
    compute: Compute::PerGap(GapValue::Chunk),
};
