//! Queue share of TTFT: how much of the wait for first tokens was queueing in the server.
//!
//! # Definition
//! Sum of the server's queue times over the sum of the client's TTFTs, over the ok requests that have both. Both are
//! durations, so that clocks need not be aligned.
//!
//! # Needs
//! Queue times of a server and TTFTs of a client.
//!
//! # Caveats
//! Time in the client's own queue is in neither.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static QUEUE_SHARE: Metric = Metric {
    id: "queue_share_of_ttft",
    label: "Queue share of TTFT",
    unit: Unit::Ratio,
    better: Better::Lower,
    requires: &[(Table::Requests, "queue_ns"), (Table::Requests, "ttft_ns")],
    doc: Doc::from_source(include_str!("queue_share.rs")),
    compute: Compute::PerRun(|run| run.server.queue_share_of_ttft),
};
