//! Goodput: requests a second that met every objective given by --slo.
//!
//! # Definition
//! `ok requests that meet all objectives / duration`. An objective on a value that a request does not have is not met, with
//! one exception: TPOT of a request with one output token, which has no second token to wait for. Failed requests never
//! count.
//!
//! # Peers
//! vLLM: the same, with TPOT 0 for one-token outputs. DistServe's goodput is the highest rate that keeps a share of requests
//! within the objectives: another quantity.
//!
//! # Needs
//! Objectives (`--slo ttft=500ms,tpot=50ms,e2e=10s`) and the metrics they name.
//!
//! # Caveats
//! Depends on the objectives: compare only equal ones.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Unit};

pub(super) static GOODPUT: Metric = Metric {
    id: "goodput_requests_per_s",
    label: "Goodput",
    unit: Unit::RequestsPerSecond,
    better: Better::Higher,
    requires: &[],
    doc: Doc::from_source(include_str!("goodput.rs")),
    compute: Compute::PerRun(|run| run.rate(run.good.map(|n| n as f64))),
};
