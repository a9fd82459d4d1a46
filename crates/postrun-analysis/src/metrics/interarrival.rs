//! Time from one send to the next.
//!
//! # Definition
//! The measured requests in the order in which they were sent, however they ended; one value for each but the first: its send
//! less the send before it. Sends at one instant are 0 apart. In a window: between sends inside it. Not by prompt length,
//! where a difference would be between requests that do not follow each other.
//!
//! # Peers
//! Load generators set how it is distributed and store no statistics of it: vLLM's draws it from a gamma distribution
//! (`--burstiness`; 1 is exponential).
//!
//! # Needs
//! `sent_ns` of the requests table.
//!
//! # Caveats
//! Where the number of requests in flight is limited, the next request waits for an answer: then this says how fast the
//! server was, not what was asked of it. A trace whose times are rounded has many zeros.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static INTERARRIVAL: Metric = Metric {
    id: "interarrival_ms",
    label: "Inter-arrival time",
    unit: Unit::Nanoseconds,
    better: Better::Neither,
    requires: &[(Table::Requests, "sent_ns")],
    doc: Doc::from_source(include_str!("interarrival.rs")),
    compute: Compute::BetweenSends,
};
