//! Words that several sections share.

use postrun_analysis::{METRICS, Percentile};

/// What the mark behind a percentile means.
pub(crate) const FEW_NOTE: &str =
    "* fewer than 5 values are expected beyond this percentile: it rests on single requests.";

/// A value, or a dash.
pub(crate) fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_string())
}

/// `1 rule`, `12 rules`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Marks a percentile that rests on single requests.
pub(crate) fn few_mark(p: &Percentile) -> &'static str {
    if p.few_samples { "*" } else { "" }
}

/// Short name of a metric.
pub(crate) fn metric_label(id: &str) -> &'static str {
    METRICS.iter().find(|m| m.id == id).map_or("", |m| m.label)
}

/// A bucket by its edges.
pub(crate) fn token_range(lo: Option<u32>, hi: Option<u32>) -> String {
    match (lo, hi) {
        (Some(0), None) => "all".to_string(),
        (Some(lo), Some(hi)) => format!("{lo}–{}", hi.saturating_sub(1)),
        (Some(lo), None) => format!("≥ {lo}"),
        (None, _) => "not recorded".to_string(),
    }
}
