//! Peak concurrency: most requests in flight at one instant.
//!
//! # Definition
//! Over ok requests, each in flight from its send to its last token; one that ends at the instant another starts does not
//! overlap it.
//!
//! # Peers
//! vLLM and SGLang count requests that touch one second, which can exceed the client's own limit: see peak_requests_in_1s.
//!
//! # Needs
//! Send times and e2e latencies.
//!
//! # Caveats
//! Failed requests are not in it: their end is not recorded.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PEAK_CONCURRENCY: Metric = Metric {
    id: "peak_concurrency",
    label: "Peak concurrency",
    unit: Unit::Requests,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns"), (Table::Requests, "e2e_ns")],
    doc: Doc::from_source(include_str!("peak_concurrency.rs")),
    compute: Compute::PerRun(|run| run.peak_concurrency.map(|n| n as f64)),
};
