//! What a page or a picture of a comparison is about.

use postrun_diff::{Breach, NotJudged, RunDiff, Side};

/// Two sides with what was found between them.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// The comparison.
    pub diff: &'a RunDiff,
    /// The runs of the base, analysed with their shapes.
    pub base: &'a Side,
    /// The runs of the candidate.
    pub candidate: &'a Side,
    /// Limits that are exceeded.
    pub breaches: &'a [Breach],
    /// Limits that could not be judged.
    pub not_judged: &'a [NotJudged],
}
