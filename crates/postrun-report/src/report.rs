//! What a report is about.

use postrun_analysis::RunAnalysis;
use postrun_diagnose::Diagnosis;

/// One run with its diagnosis.
#[derive(Debug, Clone)]
pub struct Report {
    /// The figures.
    pub run: RunAnalysis,
    /// What is wrong.
    pub diagnosis: Diagnosis,
}

/// Which parts of a report are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Verdict, findings and every figure.
    All,
    /// Verdict, findings, and what was clear or could not be judged.
    Diagnosis,
}
