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
    /// The chunks table has rows without a time.
    #[error("{label}: the chunks table has {nulls} rows without a time; ingest again")]
    NullChunks {
        /// Run.
        label: String,
        /// How many.
        nulls: u64,
    },
    /// The window asked for has no part of the run in it.
    #[error("{label}: --window lies outside the run, which lasts {run_s:.3} s from the first send to the last token")]
    WindowOutside {
        /// Run.
        label: String,
        /// Length of the run in seconds.
        run_s: f64,
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
    #[error("objective {name:?}: no latency of a request is called so{near} (known: {known})")]
    BadObjective {
        /// As given.
        name: String,
        /// What a typo may have meant, as a question.
        near: String,
        /// All of them.
        known: String,
    },
}
