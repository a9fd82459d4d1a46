//! Requests sent a second, on average.
//!
//! # Definition
//! `(sends − 1) / (last send − first send)` over the measured requests, however they ended: one over the mean of
//! interarrival_ms. In a window: of the sends inside it.
//!
//! # Peers
//! vLLM and SGLang store the rate that was asked for (`request_rate`), which a short run meets by chance only.
//!
//! # Needs
//! Send times of two requests or more.
//!
//! # Caveats
//! What was sent, not what was answered: see requests_per_s for that.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static ARRIVAL_RATE: Metric = Metric {
    id: "arrivals_per_s",
    label: "Arrival rate",
    unit: Unit::RequestsPerSecond,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns")],
    doc: Doc::from_source(include_str!("arrival_rate.rs")),
    compute: Compute::PerRun(|run| run.arrivals_per_s),
};
