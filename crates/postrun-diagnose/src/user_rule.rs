//! A rule of the user's own: a condition over figures of the report.

use crate::finding::Verdict;
use postrun_analysis::RunAnalysis;

/// A rule from a rules file.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRule {
    /// Its id.
    pub id: String,
}

impl UserRule {
    /// Looks at one run.
    pub fn check(&self, _run: &RunAnalysis) -> Verdict {
        Verdict::NotChecked(Vec::new())
    }
}
