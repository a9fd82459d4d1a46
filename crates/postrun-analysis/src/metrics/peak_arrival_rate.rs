//! Most requests sent a second in one window of the run.
//!
//! # Definition
//! Sends of measured requests in the fullest window of the timeline, divided by its width. Windows begin at the first send;
//! they are at least one second wide, and at most 120 (`postrun explain timeline`). The report names the width.
//!
//! # Peers
//! None.
//!
//! # Needs
//! Send times.
//!
//! # Caveats
//! Comparable between runs whose windows are equally wide only: a burst is higher the closer one looks.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PEAK_ARRIVAL_RATE: Metric = Metric {
    id: "peak_arrivals_per_s",
    label: "Peak arrival rate",
    unit: Unit::RequestsPerSecond,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns")],
    doc: Doc::from_source(include_str!("peak_arrival_rate.rs")),
    compute: Compute::PerRun(|run| run.peak_arrivals_per_s),
};
