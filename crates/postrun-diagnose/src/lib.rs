//! Rules: from an analysis to findings with evidence and measures.
//!
//! Entry point: [`diagnose`]. A rule is a file under `rules/` and a line in its registry; it contains no query: what it
//! needs is a figure of [`postrun_analysis::RunAnalysis`], so that every piece of evidence stands in the report too.

mod condition;
mod diagnosis;
mod finding;
mod measure;
mod rule;
mod rule_set;
mod rules;
mod rules_file;
mod sweep;
#[cfg(test)]
mod tests;
mod thresholds;
mod user_rule;
mod view;

pub use diagnosis::{Cleared, Diagnosis, NotChecked, diagnose};
pub use finding::{Effect, Evidence, Finding, Reference, Severity, Verdict};
pub use measure::{Advice, Measure, Server};
pub use rule::Rule;
/// The page on rules files.
pub static RULES_FILE: postrun_schema::Doc = postrun_schema::Doc::from_source(include_str!("rules_file.rs"));

pub use rule_set::{RuleSet, RulesFileError};
pub use rules::{RULES, find_rule};
pub use sweep::{Sweep, SweepStep, diagnose_sweep, has_loads, reported_sweep, sweep};
pub use thresholds::{Threshold, Thresholds};
pub use user_rule::UserRule;
pub use view::RunView;
