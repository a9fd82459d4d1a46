//! Most requests in the server's running batch at any sample.
//!
//! # Definition
//! The largest sample in force between first send and last token, engines added up.
//!
//! # Needs
//! A scrape of the server's metrics, or its log.
//!
//! # Caveats
//! A peak of samples is a lower bound.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static RUNNING_MAX: Metric = Metric {
    id: "running_max",
    label: "Running on the server, most",
    unit: Unit::Requests,
    better: Better::Neither,
    requires: &[(Table::Samples, "running")],
    doc: Doc::from_source(include_str!("running_max.rs")),
    compute: Compute::PerRun(|run| Some(run.server.running?.max)),
};
