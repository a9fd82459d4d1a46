//! What a rule is.

use crate::finding::Verdict;
use crate::thresholds::Threshold;
use crate::view::RunView;
use postrun_schema::Doc;

/// One rule: a file under `rules/` and a line in its registry.
pub struct Rule {
    /// Stable id, the sentence it claims: `long_prompts_raise_ttft`.
    pub id: &'static str,
    /// The sentence for a person.
    pub title: &'static str,
    /// Its page: *What it finds · Why it happens · How it is decided · What to try · When it is wrong*.
    pub doc: Doc,
    /// Thresholds with their defaults and reasons.
    pub thresholds: &'static [Threshold],
    /// Rules whose findings explain a finding of this one.
    pub explained_by: &'static [&'static str],
    /// Looks at one run.
    pub check: fn(&RunView<'_>) -> Verdict,
}
