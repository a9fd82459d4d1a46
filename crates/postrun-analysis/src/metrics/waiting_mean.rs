//! Mean number of requests in the server's queue.
//!
//! # Definition
//! Every sample holds until the next; mean over the time from first send to last token, engines added up. Preempted
//! requests wait too.
//!
//! # Needs
//! A scrape of the server's metrics, or its log.
//!
//! # Caveats
//! A client that limits its own concurrency keeps its queue to itself: see client_queue_ms.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static WAITING_MEAN: Metric = Metric {
    id: "waiting_mean",
    label: "Waiting on the server, mean",
    unit: Unit::Requests,
    better: Better::Lower,
    requires: &[(Table::Samples, "waiting")],
    doc: Doc::from_source(include_str!("waiting_mean.rs")),
    compute: Compute::PerRun(|run| run.server.waiting?.mean),
};
