//! Preempted in prefill: time a request spent preempted before its first token.
//!
//! # Definition
//! One value a request: the time between a preemption and the next schedule, for preemptions before the first token. It
//! is part of TTFT, prefill and inference, and of nothing else.
//!
//! # Needs
//! Preemption events with their times: a server's trace of requests.
//!
//! # Caveats
//! The prompt is computed again after it; that work is not in this figure.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static PREEMPTED_PREFILL: Metric = Metric {
    id: "preempted_prefill_ms",
    label: "Preempted in prefill",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "preempted_prefill_ns")],
    doc: Doc::from_source(include_str!("preempted_prefill.rs")),
    compute: Compute::PerRequest(|| col("preempted_prefill_ns").cast(DataType::Float64)),
};
