//! What drawing can fail with.

use std::fmt;

/// Drawing failed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartError(pub(crate) String);

impl fmt::Display for ChartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ChartError {}
