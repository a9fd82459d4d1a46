//! Mean concurrency: requests in flight, averaged over the run.
//!
//! # Definition
//! `sum of e2e over ok requests / duration` (Little's law); needs no points in time. In a window: the number of ok requests
//! in flight, averaged over the window.
//!
//! # Peers
//! SGLang's `concurrency`, with its own, slightly longer e2e.
//!
//! # Needs
//! The duration of the run: the client's own measurement, else the span from first send to last end.
//!
//! # Caveats
//! Ramp and drain pull it below the level of the steady state.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static MEAN_CONCURRENCY: Metric = Metric {
    id: "mean_concurrency",
    label: "Mean concurrency",
    unit: Unit::Requests,
    better: Better::Neither,
    requires: &[(Table::Requests, "e2e_ns")],
    doc: Doc::from_source(include_str!("mean_concurrency.rs")),
    compute: Compute::PerRun(|run| run.rate(run.busy_s)),
};
