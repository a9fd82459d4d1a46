//! Inter-token latency per token: the gap between two chunks divided by the tokens of the later one.
//!
//! # Definition
//! Where the recording says how many tokens a chunk carried: one value a token, `gap / tokens of the later chunk`. Where it
//! does not: one value a gap, `gap / r`, with the request's own mean `r = (output tokens − 1) / (chunks − 1)`; so the mean
//! over a request is its TPOT either way.
//!
//! # Peers
//! SGLang's native backend stores this. vLLM, AIPerf and others have no such figure.
//!
//! # Needs
//! The chunks table, and `output_tokens` of the requests table unless chunks know their tokens.
//!
//! # Caveats
//! With an estimated `r` all chunks of a request are taken as equally large. Percentiles spread a stall over the tokens of
//! the chunk that ended it.

use crate::metric::{Better, Compute, GapValue, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static ITL_PER_TOKEN: Metric = Metric {
    id: "itl_per_token_ms",
    label: "ITL per token",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Chunks, "at_ns"), (Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("itl_per_token.rs")),
    compute: Compute::PerGap(GapValue::Token),
};
