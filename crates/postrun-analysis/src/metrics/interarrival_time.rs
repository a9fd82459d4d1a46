//! Time between arrivals: how long after the send before it a request was sent.
//!
//! # Definition
//! One value a request but the first: `sent − sent` of the request before it in order of sending, whatever became of that
//! one. A mean of 100 ms is a rate of ten a second; a standard deviation above the mean is an arrival in bursts.
//!
//! # Peers
//! None stores it; vLLM's `burstiness` shapes it.
//!
//! # Needs
//! `sent_ns` of the requests table.
//!
//! # Caveats
//! It describes the load, not the server. With a concurrency limit the server's own pace decides when a slot is free.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static INTERARRIVAL_TIME: Metric = Metric {
    id: "interarrival_ms",
    label: "Between arrivals",
    unit: Unit::Nanoseconds,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns")],
    doc: Doc::from_source(include_str!("interarrival_time.rs")),
    compute: Compute::PerRequest(|| {
        let sent = || col("sent_ns");
        let in_order = || sent().gather(sent().arg_sort(false, true), false);
        let gaps = in_order() - in_order().shift(lit(1));
        // The place of each request in the order of sending.
        let place = sent().arg_sort(false, true).arg_sort(false, true);
        gaps.gather(place, false).cast(DataType::Float64)
    }),
};
