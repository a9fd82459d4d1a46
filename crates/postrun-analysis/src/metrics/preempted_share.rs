//! Share of requests preempted at least once.
//!
//! # Definition
//! Ok requests with one preemption or more, over all ok requests of the scope.
//!
//! # Needs
//! The server's records of requests, or a counter that did not move; else the client's chunk times, from which gaps that
//! look like preemption are taken (`explain stalls`).
//!
//! # Caveats
//! From chunk times alone, requests preempted before their first token are not found.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PREEMPTED_SHARE: Metric = Metric {
    id: "preempted_requests_share",
    label: "Requests preempted",
    unit: Unit::Ratio,
    better: Better::Lower,
    requires: &[(Table::Requests, "preemptions")],
    doc: Doc::from_source(include_str!("preempted_share.rs")),
    compute: Compute::PerRun(|run| {
        let hit = run.server.preemption.as_ref()?.requests_hit?;
        (run.ok > 0).then(|| hit as f64 / run.ok as f64)
    }),
};
