//! Decode time: from the first to the last token, inside the server, as the server recorded it.
//!
//! # Definition
//! One value a request, from the server's own events: queue = queued → first scheduled; prefill = first scheduled → first
//! token; decode = first → last token; inference = first scheduled → last token. A preemption never adds to queue; before
//! the first token it lengthens prefill and inference, after it decode and inference.
//!
//! # Peers
//! vLLM's spans and histograms mean the same. SGLang's `queue_time` adds later waits after a retraction; its spans count
//! prefill from dispatch, queueing included.
//!
//! # Needs
//! `decode_ns` of the requests table: a server that reports per-request metrics (vLLM 0.33 with metrics in the response), a
//! span export, or a server log with request times.
//!
//! # Caveats
//! Never derived from client times: those include the network and belong to another clock.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static DECODE_TIME: Metric = Metric {
    id: "decode_ms",
    label: "Decode",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "decode_ns")],
    doc: Doc::from_source(include_str!("decode_time.rs")),
    compute: Compute::PerRequest(|| col("decode_ns").cast(DataType::Float64)),
};
