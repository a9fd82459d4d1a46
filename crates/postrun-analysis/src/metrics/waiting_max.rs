//! Most requests in the server's queue at any sample.
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

pub(super) static WAITING_MAX: Metric = Metric {
    id: "waiting_max",
    label: "Waiting on the server, most",
    unit: Unit::Requests,
    better: Better::Lower,
    requires: &[(Table::Samples, "waiting")],
    doc: Doc::from_source(include_str!("waiting_max.rs")),
    compute: Compute::PerRun(|run| Some(run.server.waiting?.max)),
};
