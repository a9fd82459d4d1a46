//! The rules of one diagnosis: thresholds, and the user's own rules.

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
