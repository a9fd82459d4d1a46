//! What a command can fail with.

use postrun_analysis::AnalysisError;
use postrun_diagnose::RulesFileError;
use postrun_diff::BudgetError;
use postrun_export::ExportError;
use postrun_ingest::IngestError;
use postrun_schema::SchemaError;
use postrun_simulate::SimulateError;

/// What a command can fail with.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Reading a recording failed.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// Opening or writing a dataset failed.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Analysing failed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// An export failed, other than in writing.
    #[error(transparent)]
    Export(ExportError),
    /// A rules file does not parse.
    #[error(transparent)]
    Rules(#[from] RulesFileError),
    /// A budget file does not parse.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// A scenario cannot be simulated, or its run not be written.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// A file could not be read.
    #[error("{file}: {source}")]
    Read {
        /// File.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Writing the result failed.
    #[error("could not write {file}: {source}")]
    Write {
        /// File, or `standard output`.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A chart could not be drawn.
    #[error("internal: could not draw: {0}")]
    Chart(#[from] postrun_report::ChartError),
    /// An argument does not fit.
    #[error("{0}")]
    Argument(String),
    /// A value of ours does not serialise.
    #[error("internal: {0}")]
    Json(#[from] serde_json::Error),
}
