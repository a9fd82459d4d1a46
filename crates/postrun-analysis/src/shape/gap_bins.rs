//! Gaps between chunks, counted in logarithmic bins wide enough to be drawn.

use crate::order_stats::bin_start;
use serde::Serialize;

/// Fine bins in one that is drawn: 32 bins an octave, so each is about 2 % wide.
const FINE_IN_ONE: usize = 128;

/// Gaps of one length, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GapBin {
    /// Shortest, in nanoseconds.
    pub from_ns: u64,
    /// The bin ends before it.
    pub to_ns: u64,
    /// How many.
    pub count: u64,
}

/// Bins of `counts`, which are those of `order_stats`.
pub(crate) fn of_counts(counts: &[u64]) -> Vec<GapBin> {
    let bin = |(k, part): (usize, &[u64])| GapBin {
        from_ns: bin_start(k * FINE_IN_ONE),
        to_ns: bin_start((k + 1) * FINE_IN_ONE),
        count: part.iter().sum(),
    };
    counts.chunks(FINE_IN_ONE).enumerate().map(bin).filter(|b| b.count > 0).collect()
}
