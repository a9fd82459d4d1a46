//! Time To First Token: from sending a request to its first token-bearing chunk, as the client saw it.
//!
//! # Definition
//! One value a request: `first token-bearing chunk − send`. A chunk that carries only the role, or only usage, bears no
//! token; a reasoning token is a token. Null where the client timed no first token (0 is a timer that never fired), where
//! the answer was not streamed, and for failed requests.
//!
//! # Peers
//! vLLM before 0.33 (chat), SGLang's server and some proxies count the role-only chunk: too early. Clients with
//! streaming off store e2e as TTFT. LLMPerf and EvalScope store 0 for an unmeasured one. GuideLLM takes the first content
//! delta, which for a reasoning model is the first answer token.
//!
//! # Needs
//! `ttft_ns` of the requests table.
//!
//! # Caveats
//! Includes network, tokenising and queueing; the server's own TTFT does not. Under a client-side concurrency limit the
//! wait for a slot is not in it: see client_queue_ms.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static TTFT: Metric = Metric {
    id: "ttft_ms",
    label: "TTFT",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "ttft_ns")],
    doc: Doc::from_source(include_str!("ttft.rs")),
    compute: Compute::PerRequest(|| col("ttft_ns").cast(DataType::Float64)),
};
