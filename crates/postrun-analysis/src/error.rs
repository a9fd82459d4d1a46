//! What can go wrong when a dataset is analysed.

use postrun_schema::SchemaError;

/// An error of the analysis layer. Messages read well after "could not analyse …".
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// The dataset layer failed.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Polars failed: a table is not what its schema says, or we asked wrongly.
    #[error("{label}: {source}")]
    Polars {
        /// Run.
        label: String,
        /// What Polars said.
        source: polars::error::PolarsError,
    },
    /// A window was asked for, but the recording has no points in time.
    #[error("{label}: --window needs send times, and this recording has none")]
    NoSendTimes {
        /// Run.
        label: String,
    },
    /// The chunks table does not have the rows that the requests table promises.
    #[error("{label}: the chunks table has {found} rows, the requests table counts {expected}; ingest again")]
    ChunkCount {
        /// Run.
        label: String,
        /// Sum over requests.
        expected: u64,
        /// Rows found.
        found: u64,
    },
    /// An objective names something that cannot be one.
    #[error(
        "objective {name:?}: expected one of ttft, tpot, itl_per_token, e2e, queue, prefill, decode, e2e_per_output_token"
    )]
    BadObjective {
        /// As given.
        name: String,
    },
}
