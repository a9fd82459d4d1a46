//! Service level objectives given by the user, and which requests meet them.

use crate::convention::redefined::Redefined;
use crate::error::AnalysisError;
use crate::metric::{Compute, Metric};
use crate::metrics::{METRICS, find_metric};
use crate::requests::Requests;
use postrun_schema::{Unit, did_you_mean};
use serde::Serialize;

/// At most this value of a per-request metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Objective {
    /// Metric id.
    pub metric: &'static str,
    /// Largest value allowed, in nanoseconds.
    pub at_most_ns: f64,
}

impl Objective {
    /// `name` as the user wrote it: `ttft`, `tpot`, `e2e` …
    pub fn new(name: &str, at_most_ns: f64) -> Result<Objective, AnalysisError> {
        let is_one = |m: &&Metric| matches!(m.compute, Compute::PerRequest(_)) && m.unit == Unit::Nanoseconds;
        let metric = find_metric(name).filter(|m| is_one(m)).ok_or_else(|| {
            let known: Vec<&str> =
                METRICS.iter().copied().filter(is_one).map(|m| m.id.trim_end_matches("_ms")).collect();
            let near = did_you_mean(name, known.iter().copied());
            AnalysisError::BadObjective { name: name.to_string(), near, known: known.join(", ") }
        })?;
        Ok(Objective { metric: metric.id, at_most_ns })
    }

    /// True if any request of the run has the value it is about.
    pub(crate) fn measured_in(&self, requests: &Requests) -> bool {
        let position = METRICS.iter().position(|m| m.id == self.metric);
        position.is_some_and(|p| requests.values[p].iter().any(|v| v.is_finite()))
    }

    /// True if request `i` meets it. A value that is not there does not; a request of one output token has no
    /// second token that TPOT could be about, and passes there.
    pub(crate) fn met(&self, requests: &Requests, redefined: &Redefined, i: usize) -> bool {
        self.value(requests, redefined, i).is_some_and(|v| v <= self.at_most_ns)
    }

    /// The value that counts for request `i`, in nanoseconds: 0 where it passes without one.
    pub(crate) fn value(&self, requests: &Requests, redefined: &Redefined, i: usize) -> Option<f64> {
        if self.metric == "tpot_ms" && requests.output_tokens[i].is_some_and(|n| n <= 1) {
            return Some(0.0);
        }
        let position = METRICS.iter().position(|m| m.id == self.metric);
        let value = position.and_then(|p| redefined.value(p, i).or_else(|| requests.values[p].get(i).copied()));
        value.filter(|v| v.is_finite())
    }
}
