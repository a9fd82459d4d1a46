//! Words that several sections share.

use crate::quantity::{ms, plain};
use postrun_analysis::{METRICS, Percentile, find_metric};
use postrun_schema::Unit;

/// What the mark behind a percentile means.
pub(crate) const FEW_NOTE: &str =
    "* fewer than 5 values are expected beyond this percentile: it rests on single requests.";

/// A value, or a dash.
pub(crate) fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_string())
}

/// Marks a percentile that rests on single requests.
pub(crate) fn few_mark(p: &Percentile) -> &'static str {
    if p.few_samples { "*" } else { "" }
}

/// Short name of a metric.
pub(crate) fn metric_label(id: &str) -> &'static str {
    METRICS.iter().find(|m| m.id == id).map_or("", |m| m.label)
}

/// A value of a metric in the unit it is shown in: times in milliseconds, anything else as it is.
pub(crate) fn in_unit(id: &str, value: f64) -> String {
    match find_metric(id).map(|m| m.unit) {
        Some(Unit::Nanoseconds) | None => ms(value),
        Some(_) => plain(value),
    }
}

/// The unit that values of a metric are shown in.
pub(crate) fn unit_name(id: &str) -> &'static str {
    match find_metric(id).map(|m| m.unit) {
        Some(Unit::Nanoseconds) => "ms",
        Some(Unit::Tokens) => "tokens",
        Some(Unit::Requests) => "requests",
        Some(Unit::TokensPerSecond) => "tok/s",
        Some(Unit::RequestsPerSecond) => "req/s",
        Some(Unit::ChunksPerSecond) => "chunks/s",
        Some(Unit::Ratio) => "share",
        Some(Unit::Bytes) => "bytes",
        Some(Unit::Count) => "count",
        _ => "",
    }
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
