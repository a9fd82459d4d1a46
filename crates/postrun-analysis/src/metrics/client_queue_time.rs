//! Client queue time: how long the load generator held a request back after it meant to send it.
//!
//! # Definition
//! One value a request: `sent − scheduled send`, both on the client's clock. With a concurrency limit this is the wait for
//! a free slot.
//!
//! # Peers
//! vLLM 0.31 and newer: `queue_times`. Most other clients do not record it.
//!
//! # Needs
//! `scheduled_send_ns` and `sent_ns` of the requests table.
//!
//! # Caveats
//! A latency without this wait looks better than what a user at that arrival rate would see (coordinated omission).

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static CLIENT_QUEUE_TIME: Metric = Metric {
    id: "client_queue_ms",
    label: "Client queue",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "scheduled_send_ns"), (Table::Requests, "sent_ns")],
    doc: Doc::from_source(include_str!("client_queue_time.rs")),
    compute: Compute::PerRequest(|| (col("sent_ns") - col("scheduled_send_ns")).cast(DataType::Float64)),
};
