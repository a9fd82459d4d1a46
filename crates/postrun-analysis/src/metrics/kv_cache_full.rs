//! Share of the run in which the KV cache was at least 90 % full.
//!
//! # Definition
//! Time in which the sample in force was 0.9 or more, over all sampled time between first send and last token.
//!
//! # Needs
//! As the mean.
//!
//! # Caveats
//! Ninety percent is where a server with requests of a few hundred tokens has room for one or two more.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static KV_CACHE_FULL: Metric = Metric {
    id: "kv_cache_share_over_90",
    label: "KV cache 90 % full or more",
    unit: Unit::Ratio,
    better: Better::Lower,
    requires: &[(Table::Samples, "kv_cache_usage")],
    doc: Doc::from_source(include_str!("kv_cache_full.rs")),
    compute: Compute::PerRun(|run| run.server.kv_cache_usage.as_ref()?.share_over_90),
};
