//! Batch size seen by tokens: how many requests ran beside it when a token was generated, on average over tokens.
//!
//! # Definition
//! Running requests between two samples, weighted by the tokens generated between them.
//!
//! # Needs
//! A scrape with running requests and the counter of generated tokens.
//!
//! # Caveats
//! Larger than the mean over time wherever the load was uneven, because most tokens are made while many requests run.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static BATCH_SIZE_SEEN: Metric = Metric {
    id: "batch_size_seen",
    label: "Batch size seen by tokens",
    unit: Unit::Requests,
    better: Better::Neither,
    requires: &[(Table::Samples, "running"), (Table::Samples, "output_tokens_total")],
    doc: Doc::from_source(include_str!("batch_size_seen.rs")),
    compute: Compute::PerRun(|run| run.server.batch_size_seen),
};
