//! Preemptions: how often running requests were taken off the batch for want of KV cache.
//!
//! # Definition
//! Increase of the server's counter from the last sample before the first send to the first one after the last token,
//! across restarts of the server; without a counter, the sum over the server's records of requests. Where the clocks are
//! not aligned, the increase over the whole recording.
//!
//! # Peers
//! vLLM: `vllm:num_preemptions_total`; SGLang: `sglang:num_retracted_requests_total`. vLLM's log has a field for it that
//! never prints.
//!
//! # Needs
//! A scrape of the server's metrics before and after the run, better one a second.
//!
//! # Caveats
//! Requests of other clients at the same time count too.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static PREEMPTION_TOTAL: Metric = Metric {
    id: "preemption_total",
    label: "Preemptions",
    unit: Unit::Count,
    better: Better::Lower,
    requires: &[(Table::Samples, "preemptions_total")],
    doc: Doc::from_source(include_str!("preemption_total.rs")),
    compute: Compute::PerRun(|run| run.server.preemption.as_ref()?.total),
};
