//! Burstiness: how unevenly requests were sent.
//!
//! # Definition
//! The coefficient of variation of interarrival_ms: its standard deviation over its mean, both of the population. 0: evenly
//! spaced; 1: as Poisson arrivals are; above 1: in bursts.
//!
//! # Peers
//! `burstiness` of vLLM's client, and of TensorRT-LLM's, which stores the same, is the shape k of a gamma distribution and runs the
//! other way: below 1 is burstier. With many requests this figure comes to 1/√k.
//!
//! # Needs
//! Send times of three requests or more, not all at one instant.
//!
//! # Caveats
//! One long pause weighs as much as many bursts. A load that changes over the day raises it too: look at the rate over time.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static INTERARRIVAL_CV: Metric = Metric {
    id: "interarrival_cv",
    label: "Burstiness",
    unit: Unit::Count,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns")],
    doc: Doc::from_source(include_str!("interarrival_cv.rs")),
    compute: Compute::PerRun(|run| run.interarrival_cv),
};
