//! Mean number of requests in the server's running batch.
//!
//! # Definition
//! Every sample holds until the next; mean over the time from first send to last token, engines added up.
//!
//! # Needs
//! A scrape of the server's metrics, or its log.
//!
//! # Caveats
//! Log lines come every ten seconds and not at all while the server is idle.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static RUNNING_MEAN: Metric = Metric {
    id: "running_mean",
    label: "Running on the server, mean",
    unit: Unit::Requests,
    better: Better::Neither,
    requires: &[(Table::Samples, "running")],
    doc: Doc::from_source(include_str!("running_mean.rs")),
    compute: Compute::PerRun(|run| run.server.running?.mean),
};
