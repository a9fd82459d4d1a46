//! Request throughput: requests answered a second.
//!
//! # Definition
//! `ok requests / duration`. The duration is the client's own measurement of the whole run, failed requests and drain
//! included. In a window: ok requests that ended inside it, by the window's length.
//!
//! # Peers
//! vLLM, SGLang and TensorRT-LLM: the same. AIPerf and GuideLLM: by the span of the requests that count.
//!
//! # Needs
//! The duration of the run: the client's own measurement, else the span from first send to last end.
//!
//! # Caveats
//! A server that refuses requests looks fast: read it beside failure_rate. A long drain tail makes it low: see the
//! steady state.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Unit};

pub(super) static REQUEST_THROUGHPUT: Metric = Metric {
    id: "requests_per_s",
    label: "Requests/s",
    unit: Unit::RequestsPerSecond,
    better: Better::Higher,
    requires: &[],
    doc: Doc::from_source(include_str!("request_throughput.rs")),
    compute: Compute::PerRun(|run| run.rate(Some(run.ended as f64))),
};
