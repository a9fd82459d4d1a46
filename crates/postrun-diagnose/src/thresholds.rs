//! Thresholds: a default with its reason, and what the user set instead.

use std::collections::BTreeMap;

/// A threshold of a rule.
#[derive(Debug, Clone, Copy)]
pub struct Threshold {
    /// Key inside the rule's table of a rules file.
    pub key: &'static str,
    /// Value unless the user sets another.
    pub default: f64,
    /// Unit.
    pub unit: &'static str,
    /// Why this value.
    pub why: &'static str,
}

/// What the user set, by `rule.key`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thresholds(pub BTreeMap<String, f64>);

impl Thresholds {
    /// The value of a rule's threshold.
    pub fn get(&self, rule: &str, threshold: &Threshold) -> f64 {
        self.0.get(&format!("{rule}.{}", threshold.key)).copied().unwrap_or(threshold.default)
    }
}
