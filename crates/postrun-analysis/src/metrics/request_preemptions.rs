//! Preemptions per request: how often a request was taken off the running batch, as the server recorded it.
//!
//! # Definition
//! One value a request; 0 where the server says that it was never preempted.
//!
//! # Peers
//! vLLM 0.31 and newer count `num_preemptions`; SGLang calls a preemption a retraction (`num_retractions`).
//!
//! # Needs
//! `preemptions` of the requests table: SGLang's request metrics, vLLM's V0 log, or preemption events.
//!
//! # Caveats
//! vLLM's V1 writes no line for a preemption: its counter says how many there were, not whom they hit. See
//! preemption_total, and `explain stalls` for what the client's own times tell.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static REQUEST_PREEMPTIONS: Metric = Metric {
    id: "preemptions",
    label: "Preemptions per request",
    unit: Unit::Count,
    better: Better::Lower,
    requires: &[(Table::Requests, "preemptions")],
    doc: Doc::from_source(include_str!("request_preemptions.rs")),
    compute: Compute::PerRequest(|| col("preemptions").cast(DataType::Float64)),
};
