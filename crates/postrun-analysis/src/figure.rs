//! A metric with its value: what analyses, buckets and the steady state are made of.

use crate::metric::Better;
use crate::metrics::find_metric;
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

impl MetricSummary {
    /// True where it describes what was asked of the server, not how it answered.
    pub fn is_of_the_load(&self) -> bool {
        find_metric(self.metric).is_some_and(|m| m.better == Better::Neither)
    }
}

/// A per-run figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunValue {
    /// Metric id.
    pub metric: &'static str,
    /// In the metric's unit.
    pub value: f64,
}
