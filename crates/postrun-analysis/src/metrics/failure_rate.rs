//! Failure rate: share of the measured requests that failed.
//!
//! # Definition
//! `failed / all measured requests`, 0 to 1. Failed: an error recorded, cancelled, or neither output nor first token unless
//! the client counted it as completed.
//!
//! # Peers
//! Most clients print a count. SGLang prints none.
//!
//! # Needs
//! The requests table, or the client's own counts.
//!
//! # Caveats
//! Every latency leaves failed requests out: with failures, a better latency can mean a worse service.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Unit};

pub(super) static FAILURE_RATE: Metric = Metric {
    id: "failure_rate",
    label: "Failure rate",
    unit: Unit::Ratio,
    better: Better::Lower,
    requires: &[],
    doc: Doc::from_source(include_str!("failure_rate.rs")),
    compute: Compute::PerRun(|run| (run.requests > 0).then(|| run.failed as f64 / run.requests as f64)),
};
