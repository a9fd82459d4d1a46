//! What is said of one change.

use serde::Serialize;

/// What is said of one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaVerdict {
    /// Better, beyond all noise.
    Better,
    /// Worse, beyond all noise.
    Worse,
    /// Different beyond all noise, where neither direction is good.
    Different,
    /// Shown to be equal within the margin.
    Same,
    /// Neither a change nor equality is shown.
    Inconclusive,
}
