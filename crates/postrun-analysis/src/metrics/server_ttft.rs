//! Server TTFT: from a request's arrival at the server to its first token, on the server's clock.
//!
//! # Definition
//! One value a request: first token − arrival, both as the server stamped them. It holds tokenizing, queueing and prefill,
//! and neither the network nor the client.
//!
//! # Peers
//! vLLM's `time_to_first_token_seconds` and span attribute mean the same; SGLang's `first_token_latency` counts from receipt.
//!
//! # Needs
//! Arrival and first token of the requests table: spans, or a server's request records.
//!
//! # Caveats
//! Client TTFT minus server TTFT is network, proxy and client time; the two are durations, so the difference needs no
//! alignment of clocks.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static SERVER_TTFT: Metric = Metric {
    id: "server_ttft_ms",
    label: "Server TTFT",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "arrival_ns"), (Table::Requests, "server_first_token_ns")],
    doc: Doc::from_source(include_str!("server_ttft.rs")),
    compute: Compute::PerRequest(|| (col("server_first_token_ns") - col("arrival_ns")).cast(DataType::Float64)),
};
