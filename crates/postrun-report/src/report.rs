//! What a report is about.

use postrun_analysis::RunAnalysis;
use postrun_diagnose::{Diagnosis, Finding};

/// One run with its diagnosis.
#[derive(Debug, Clone)]
pub struct Report {
    /// The figures.
    pub run: RunAnalysis,
    /// What is wrong.
    pub diagnosis: Diagnosis,
}

/// Everything a report is about.
#[derive(Debug, Clone, Default)]
pub struct Reports {
    /// The runs, in the order in which they were named.
    pub runs: Vec<Report>,
    /// Where the runs are a sweep of rising load: the knee.
    pub sweep: Option<Finding>,
}

/// Which parts of a report are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Verdict, findings and every figure.
    All,
    /// Verdict, findings, and what was clear or could not be judged.
    Diagnosis,
}
