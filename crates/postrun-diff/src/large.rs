//! Large changes on which nothing is decided: an engineer sees them at once, so it is said why they are no verdict.

use crate::result::{Delta, DeltaScope, RunDiff};
use crate::verdict::{DeltaVerdict, Reason};

/// From twice as much, or half as much, on a change is large.
const TIMES: f64 = 2.0;
/// One statistic a figure, so that one change is named once.
const FIGURES: [(&str, &str); 6] = [
    ("ttft_ms", "mean"),
    ("tpot_ms", "mean"),
    ("itl_ms", "mean"),
    ("e2e_ms", "mean"),
    ("requests_per_s", "value"),
    ("output_tokens_per_s", "value"),
];
/// Why such a change may be no verdict although the question is the same.
const UNDECIDED: [Reason; 5] =
    [Reason::Drift, Reason::NotBounded, Reason::WithinRun, Reason::RunNoise, Reason::TooFewRequests];

impl RunDiff {
    /// Latencies and rates of the whole run that at least doubled or halved, and of which nothing is shown; the largest first.
    /// Empty where the sides were asked different questions.
    pub fn large_undecided(&self) -> Vec<&Delta> {
        let large = |d: &&Delta| {
            let times = d.change_share.map_or(1.0, |s| 1.0 + s);
            let undecided = d.verdict == DeltaVerdict::Inconclusive && d.reason.is_some_and(|r| UNDECIDED.contains(&r));
            let named = FIGURES.iter().any(|(metric, stat)| d.metric == *metric && d.stat == *stat);
            d.scope == DeltaScope::All && named && undecided && (times >= TIMES || times <= 1.0 / TIMES)
        };
        let mut found: Vec<&Delta> = self.deltas.iter().filter(large).collect();
        found.retain(|_| self.comparable.comparable());
        let size = |d: &Delta| d.change_share.map_or(0.0, |s| (1.0 + s).max(f64::MIN_POSITIVE).ln().abs());
        found.sort_by(|a, b| size(b).total_cmp(&size(a)));
        found
    }
}
