//! Mean KV cache usage over time, 0 to 1.
//!
//! # Definition
//! Every sample holds until the next; their mean over the time from first send to last token. Engines are averaged. Without
//! samples it is rebuilt from the requests in flight where the capacity is known (`explain kv_cache`).
//!
//! # Peers
//! vLLM's log prints percent, its metric `kv_cache_usage_perc` is a fraction in spite of its name.
//!
//! # Needs
//! A scrape of the server's metrics, its log, or send times, chunk times and the capacity.
//!
//! # Caveats
//! vLLM counts a block that holds a cached prefix of no running request as free.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static KV_CACHE_MEAN: Metric = Metric {
    id: "kv_cache_usage_mean",
    label: "KV cache usage, mean",
    unit: Unit::Ratio,
    better: Better::Neither,
    requires: &[(Table::Samples, "kv_cache_usage")],
    doc: Doc::from_source(include_str!("kv_cache_mean.rs")),
    compute: Compute::PerRun(|run| run.server.kv_cache_usage.as_ref()?.mean),
};
