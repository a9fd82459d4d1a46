//! What a diagnosis rests on beyond the metrics: how latencies depend on prompt, load and time, what slow requests have in
//! common, and whether the load generator kept its promise.

mod change;
mod crowding;
mod failures;
mod growth;
mod lateness;
mod outside;
mod rank;
mod tail;
mod ttft_drivers;
mod warm_up;

pub use change::ChangePoint;
pub use crowding::Crowding;
pub use failures::Failures;
pub use growth::Growth;
pub use lateness::Lateness;
pub use outside::Outside;
pub use tail::{Feature, Tail};
pub use ttft_drivers::TtftDrivers;
pub use warm_up::WarmUp;

use crate::in_flight::InFlight;
use crate::requests::Requests;
use crate::server::ServerFacts;
use crate::timeline::Timeline;
use postrun_schema::Manifest;
use serde::Serialize;

/// Everything of one run; `None` where the recording cannot tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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
    /// Quiet moments against busy ones.
    pub crowding: Option<Crowding>,
    /// Where requests were before the engine had them.
    pub outside: Option<Outside>,
    /// Failed requests against answered ones.
    pub failures: Option<Failures>,
}

/// Requests that a pause in their stream shows to have been preempted.
pub(crate) type Preempted<'a> = &'a [u32];

/// What the figures are taken from.
pub(crate) struct Sources<'a> {
    pub requests: &'a Requests,
    pub in_flight: &'a InFlight,
    pub manifest: &'a Manifest,
    pub preempted: Preempted<'a>,
    pub server: &'a ServerFacts,
    pub timeline: Option<&'a Timeline>,
}

pub(crate) fn collect(from: &Sources<'_>) -> Evidence {
    let (r, f) = (from.requests, from.in_flight);
    Evidence {
        ttft: ttft_drivers::of(r, f),
        growth: growth::of(r, f),
        tails: ["ttft_ms", "tpot_ms", "e2e_ms"].into_iter().filter_map(|m| tail::of(r, m, from.preempted)).collect(),
        changes: ["ttft_ms", "tpot_ms"].into_iter().filter_map(|m| change::of(r, m)).collect(),
        warm_up: warm_up::of(r),
        lateness: lateness::of(r, from.manifest),
        crowding: crowding::of(from.timeline),
        outside: outside::of(r, f, from.server),
        failures: failures::of(r),
    }
}
