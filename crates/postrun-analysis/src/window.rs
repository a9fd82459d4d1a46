//! A span of time of the run, closed at both ends.

use serde::Serialize;

/// From `start_ns` to `end_ns` since the first send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// First instant inside.
    pub start_ns: i64,
    /// Last instant inside.
    pub end_ns: i64,
}

impl Window {
    /// True if `at_ns` lies inside.
    pub fn contains(&self, at_ns: i64) -> bool {
        self.start_ns <= at_ns && at_ns <= self.end_ns
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }
}
