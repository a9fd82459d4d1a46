//! Shapes: what a picture of a run is drawn from, in sizes that do not follow the number of requests.
//!
//! Distributions as quantiles and binned counts, two quantities against each other as counts in a grid, means of phases, and
//! the few requests worth naming. Plain values: nothing here knows how it is drawn.

mod density;
mod gap_bins;
mod goodput_curve;
mod listed;
mod phases;
mod quantiles;

pub use density::{Density, DensityAxis, DensityCell};
pub use gap_bins::GapBin;
pub use goodput_curve::{GoodputCurve, ObjectiveCurve};
pub use listed::{ListedRequest, RequestOutcome};
pub use phases::{PhaseRow, PhaseScope, Phases};
pub use quantiles::Quantiles;

pub(crate) use gap_bins::of_counts;

use crate::bucket::BucketEdges;
use crate::convention::redefined::Redefined;
use crate::error::AnalysisError;
use crate::objective::Objective;
use crate::requests::Requests;
use crate::stall::Stalls;
use crate::window::Window;
use postrun_schema::Dataset;

/// What the pictures of one run are drawn from; of the window, where one was asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shapes {
    /// Quantiles of the per-request metrics that are times or lengths, in registry order.
    pub quantiles: Vec<Quantiles>,
    /// Gaps between chunks, counted in bins of about 2 %; only bins that hold any, rising.
    pub gaps: Vec<GapBin>,
    /// TTFT against prompt length.
    pub ttft_by_prompt: Option<Density>,
    /// Where the time went, by bucket and for the slowest requests.
    pub phases: Option<Phases>,
    /// How goodput depends on the objectives; `None` without objectives.
    pub goodput: Option<GoodputCurve>,
    /// The slowest, the longest held up and the first failed requests, the slowest first.
    pub listed: Vec<ListedRequest>,
}

/// What shapes are taken from.
pub(crate) struct Sources<'a> {
    pub dataset: &'a Dataset,
    pub requests: &'a Requests,
    pub edges: &'a BucketEdges,
    /// Bucket of each request.
    pub assigned: &'a [Option<u32>],
    pub objectives: &'a [Objective],
    pub redefined: &'a Redefined,
    pub stalls: Option<&'a Stalls>,
    pub gaps: Vec<GapBin>,
    pub window: Option<Window>,
}

impl Sources<'_> {
    /// The requests whose latencies count.
    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.requests.len()).filter(|i| self.requests.in_scope(*i, self.window))
    }
}

pub(crate) fn collect(mut from: Sources<'_>) -> Result<Shapes, AnalysisError> {
    Ok(Shapes {
        gaps: std::mem::take(&mut from.gaps),
        quantiles: quantiles::of(&from),
        ttft_by_prompt: density::of(&from),
        phases: phases::of(&from),
        goodput: goodput_curve::of(&from),
        listed: listed::of(&from)?,
    })
}
