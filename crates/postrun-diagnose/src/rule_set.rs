//! The rules of one diagnosis: thresholds, and the user's own rules.

use crate::rules_file;
use crate::thresholds::Thresholds;
use crate::user_rule::UserRule;

/// Built-in rules are always there; this is what the user adds or sets.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    /// Set by the user.
    pub thresholds: Thresholds,
    /// The user's rules.
    pub user_rules: Vec<UserRule>,
}

/// A rules file that does not parse.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct RulesFileError {
    /// File.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl RuleSet {
    /// Reads a rules file.
    pub fn from_toml(file: &str, text: &str) -> Result<RuleSet, RulesFileError> {
        rules_file::read(file, text)
    }
}
