//! Every long pause of a run, for those who draw each request by itself. A report has the longest of them.

use crate::convention::facts::Columns;
use crate::error::AnalysisError;
use crate::gap_rule::GapRule;
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
        gaps_over_time: false,
        percentiles: &[],
        tracks: &tracks,
        rules: &[GapRule::default()],
        columns: &Columns::default(),
        second_gaps: false,
        pauses: true,
    })?;
    Ok(chunks
        .and_then(|chunks| chunks.stalls)
        .map_or_else(Pauses::default, |found| Pauses { total: found.stalls.total, judged: found.into_every() }))
}
