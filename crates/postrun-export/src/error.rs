//! What can go wrong in an export.

use parquet::errors::ParquetError;
use postrun_analysis::AnalysisError;
use postrun_schema::SchemaError;

/// An error of the export layer.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The dataset layer failed.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The analysis failed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] std::io::Error),
    /// Arrow or Parquet refused a batch. Ours to mend, never the input's fault.
    #[error("internal: {0}")]
    Batch(String),
    /// Nothing of the recording can be drawn on a timeline.
    #[error("{label}: nothing to draw on a timeline: {why}; --to csv and parquet need no points in time")]
    NothingToDraw {
        /// Run.
        label: String,
        /// What is missing.
        why: String,
    },
}

impl From<ParquetError> for ExportError {
    fn from(error: ParquetError) -> ExportError {
        match error {
            // What the writer below said: a full disk, a closed pipe.
            ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
                Ok(io) => ExportError::Write(*io),
                Err(other) => ExportError::Batch(other.to_string()),
            },
            other => ExportError::Batch(other.to_string()),
        }
    }
}

impl From<arrow_schema::ArrowError> for ExportError {
    fn from(error: arrow_schema::ArrowError) -> ExportError {
        ExportError::Batch(error.to_string())
    }
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> ExportError {
        ExportError::Write(error.into())
    }
}
