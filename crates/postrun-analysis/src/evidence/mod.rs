//! What a diagnosis rests on beyond the metrics: how latencies depend on prompt, load and time, what slow requests have in
//! common, and whether the load generator kept its promise.

mod change;
mod growth;
mod lateness;
mod rank;
mod tail;
mod ttft_drivers;
mod warm_up;

pub use change::ChangePoint;
pub use growth::Growth;
pub use lateness::Lateness;
pub use tail::{Feature, Tail};
pub use ttft_drivers::TtftDrivers;
pub use warm_up::WarmUp;

use crate::in_flight::InFlight;
use crate::requests::Requests;
use postrun_schema::Manifest;

/// Everything of one run; `None` where the recording cannot tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// What TTFT depends on.
    pub ttft: Option<TtftDrivers>,
    /// Arrivals against completions.
    pub growth: Option<Growth>,
    /// What the slowest requests have in common, by metric.
    pub tails: Vec<Tail>,
    /// The moment at which latencies changed for good, by metric.
    pub changes: Vec<ChangePoint>,
    /// First requests against the rest.
    pub warm_up: Option<WarmUp>,
    /// The load generator against its plan.
    pub lateness: Option<Lateness>,
}

/// Requests that a pause in their stream shows to have been preempted.
pub(crate) type Preempted<'a> = &'a [u32];

pub(crate) fn collect(r: &Requests, f: &InFlight, manifest: &Manifest, preempted: Preempted<'_>) -> Evidence {
    Evidence {
        ttft: ttft_drivers::of(r, f),
        growth: growth::of(r, f),
        tails: ["ttft_ms", "tpot_ms", "e2e_ms"].into_iter().filter_map(|m| tail::of(r, m, preempted)).collect(),
        changes: ["ttft_ms", "tpot_ms"].into_iter().filter_map(|m| change::of(r, m)).collect(),
        warm_up: warm_up::of(r),
        lateness: lateness::of(r, manifest),
    }
}
