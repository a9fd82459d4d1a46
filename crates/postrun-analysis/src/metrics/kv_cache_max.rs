//! Highest KV cache usage of any sample, 0 to 1.
//!
//! # Definition
//! The largest sample in force between first send and last token.
//!
//! # Needs
//! As the mean.
//!
//! # Caveats
//! Between two samples it can have been higher: a peak of samples is a lower bound.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static KV_CACHE_MAX: Metric = Metric {
    id: "kv_cache_usage_max",
    label: "KV cache usage, highest",
    unit: Unit::Ratio,
    better: Better::Lower,
    requires: &[(Table::Samples, "kv_cache_usage")],
    doc: Doc::from_source(include_str!("kv_cache_max.rs")),
    compute: Compute::PerRun(|run| run.server.kv_cache_usage.as_ref()?.max),
};
