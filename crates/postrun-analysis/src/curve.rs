//! The server's series as curves, for those who draw them.

use crate::error::AnalysisError;
use crate::server::tracks::Tracks;
use postrun_schema::{Dataset, SERIES};

/// One series of the server over the run: label sets put together, counters as the increase since the first sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in [`SERIES`].
    pub series: &'static str,
    /// Whether its times lie on the run's time.
    pub aligned: bool,
    /// `(nanoseconds since the run's origin, value)`, in time order, one a moment.
    pub points: Vec<(i64, f64)>,
}

/// The curves of all series that postrun understands and the run has.
pub fn curves(dataset: &Dataset) -> Result<Vec<Curve>, AnalysisError> {
    let mut tracks = Tracks::load(dataset)?;
    let curve = |name| tracks.take(name).map(|t| Curve { series: name, aligned: t.aligned, points: t.points });
    Ok(SERIES.iter().map(|s| s.name).filter_map(curve).collect())
}
