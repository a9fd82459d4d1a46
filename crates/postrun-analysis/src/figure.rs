//! A metric with its value: what analyses, buckets and the steady state are made of.

use crate::summary::Summary;
use serde::Serialize;

/// A distribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricSummary {
    /// Metric id.
    pub metric: &'static str,
    /// In nanoseconds, for the metrics that are times.
    pub summary: Summary,
}

/// A per-run figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunValue {
    /// Metric id.
    pub metric: &'static str,
    /// In the metric's unit.
    pub value: f64,
}
