//! Prefix cache hit rate: share of prompt tokens that were found in the prefix cache.
//!
//! # Definition
//! Increase of hits over increase of queries between first send and last token, in tokens; without these counters, cached
//! over all prompt tokens; without those, the mean of the rate that the server prints.
//!
//! # Peers
//! vLLM's log prints the rate over a sliding set of recent queries, SGLang's gauge that of the last prefill batch.
//!
//! # Needs
//! A scrape of the server's metrics, or its log.
//!
//! # Caveats
//! A preempted request that comes back finds its own prefix: vLLM counts that as a hit.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PREFIX_CACHE_HIT_RATE: Metric = Metric {
    id: "prefix_cache_hit_rate",
    label: "Prefix cache hit rate",
    unit: Unit::Ratio,
    better: Better::Higher,
    requires: &[(Table::Samples, "prefix_cache_queries_total")],
    doc: Doc::from_source(include_str!("prefix_cache_hit_rate.rs")),
    compute: Compute::PerRun(|run| run.server.prefix_cache_hit_rate),
};
