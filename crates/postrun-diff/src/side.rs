//! What is compared: a run with its single requests and its diagnosis, or several repeats of one.

use postrun_analysis::{RunAnalysis, Samples};
use postrun_diagnose::Diagnosis;

/// One run.
pub struct SideRun {
    /// Its figures.
    pub run: RunAnalysis,
    /// Its requests.
    pub samples: Samples,
    /// What is wrong with it.
    pub diagnosis: Diagnosis,
}

/// The repeats of one configuration; at least one.
pub struct Side {
    /// In the order named.
    pub runs: Vec<SideRun>,
}

impl Side {
    /// The mean over the runs of a figure that all of them have.
    pub(crate) fn mean(&self, figure: impl Fn(&SideRun) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.runs.iter().map(figure).collect();
        let values = values.filter(|v| !v.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// The mean of a per-run figure.
    pub(crate) fn value(&self, id: &str) -> Option<f64> {
        self.mean(|r| r.run.value(id))
    }

    pub(crate) fn ok(&self) -> u64 {
        self.runs.iter().map(|r| r.run.requests.ok).sum()
    }

    pub(crate) fn total(&self) -> u64 {
        self.runs.iter().map(|r| r.run.requests.total).sum()
    }

    /// True where some run is the trace of a workload: sends and lengths, and nothing of the answers.
    pub(crate) fn is_workload(&self) -> bool {
        self.runs.iter().any(|r| r.run.is_workload())
    }

    /// Share of requests that were not answered.
    pub(crate) fn failure_rate(&self) -> f64 {
        let total = self.total();
        if total == 0 { 0.0 } else { 1.0 - self.ok() as f64 / total as f64 }
    }
}
