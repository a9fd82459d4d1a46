//! Preempted in decode: time a request spent preempted after its first token.
//!
//! # Definition
//! One value a request: the time between a preemption and the next schedule, for preemptions after the first token. It is
//! part of one long chunk gap, of decode, inference and e2e; TTFT and prefill stay as they were.
//!
//! # Needs
//! Preemption events with their times: a server's trace of requests.
//!
//! # Caveats
//! Prompt and answer so far are computed again after it; that work lengthens the gap further and is not in this figure.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static PREEMPTED_DECODE: Metric = Metric {
    id: "preempted_decode_ms",
    label: "Preempted in decode",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "preempted_decode_ns")],
    doc: Doc::from_source(include_str!("preempted_decode.rs")),
    compute: Compute::PerRequest(|| col("preempted_decode_ns").cast(DataType::Float64)),
};
