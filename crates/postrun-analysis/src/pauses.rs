//! Every long pause of a run, for those who draw each request by itself. A report has the longest of them.

use crate::error::AnalysisError;
use crate::gaps::{self, Plan};
use crate::requests::Requests;
use crate::server::tracks::Tracks;
use crate::stall::Stall;
use postrun_schema::Dataset;

/// The long pauses of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pauses {
    /// All that there are.
    pub total: u64,
    /// Those judged, by request and in time. In the largest runs these are the longest.
    pub judged: Vec<Stall>,
}

/// Finds and judges the long pauses; none where the run has no chunks.
pub fn pauses(dataset: &Dataset) -> Result<Pauses, AnalysisError> {
    let requests = Requests::load(dataset)?;
    let tracks = Tracks::load(dataset)?;
    let chunks = gaps::read(&Plan {
        dataset,
        requests: &requests,
        buckets: &vec![None; requests.len()],
        n_buckets: 1,
        window: None,
        steady: None,
        timeline: None,
        percentiles: &[],
        tracks: &tracks,
    })?;
    Ok(chunks.map_or_else(Pauses::default, |chunks| {
        let found = chunks.stalls;
        Pauses { total: found.stalls.total, judged: found.into_every() }
    }))
}
