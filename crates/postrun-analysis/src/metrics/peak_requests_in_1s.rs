//! Most ok requests that were in flight at any time within one second.
//!
//! # Definition
//! Seconds are counted from the first send of an ok request; a request touches every second from the one it was sent in to
//! the one it ended in; the fullest second wins.
//!
//! # Peers
//! vLLM's and SGLang's `max_concurrent_requests`.
//!
//! # Needs
//! Send times and e2e latencies.
//!
//! # Caveats
//! Larger than peak_concurrency when requests are short: two that follow each other within a second both count.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PEAK_REQUESTS_IN_1S: Metric = Metric {
    id: "peak_requests_in_1s",
    label: "Peak requests in 1 s",
    unit: Unit::Requests,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns"), (Table::Requests, "e2e_ns")],
    doc: Doc::from_source(include_str!("peak_requests_in_1s.rs")),
    compute: Compute::PerRun(|run| run.peak_requests_in_1s.map(|n| n as f64)),
};
