//! What can go wrong when a dataset is opened or written.

use parquet::errors::ParquetError;
use std::path::{Path, PathBuf};

/// An error of the dataset layer. Messages read well after "could not open …".
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder has no manifest, so it is no dataset (or an ingest was cut short).
    #[error("{path}: no manifest.json here: not a postrun dataset, or one whose ingest did not finish")]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// The manifest does not parse.
    #[error("{path}: manifest is damaged: {message}")]
    BadManifest {
        /// The manifest file.
        path: PathBuf,
        /// Parser message with line and column.
        message: String,
    },
    /// Written by a newer postrun.
    #[error("{path}: schema {found} is newer than this postrun reads ({supported}); use a newer postrun")]
    Newer {
        /// The manifest file.
        path: PathBuf,
        /// Schema found.
        found: String,
        /// Schema this build writes.
        supported: &'static str,
    },
    /// A table differs from what the manifest says of it.
    #[error("{path}: table differs from its manifest: {what} (expected {expected}, found {found}); ingest again")]
    TableDiffers {
        /// The table file.
        path: PathBuf,
        /// bytes, sha256, rows or column.
        what: &'static str,
        /// What the manifest or the schema says.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The target of a write exists already.
    #[error("{path}: exists already; choose another folder, or --force to replace it")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// --force was given, but what is there is not a dataset.
    #[error("{path}: holds other things than a postrun dataset, so --force leaves it alone; choose another folder")]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// A run beyond [`crate::MOST_REQUESTS`].
    #[error("a run of more than {} requests; split the recording (see `postrun explain limits`)", crate::MOST_REQUESTS)]
    TooManyRequests,
    /// Parquet refused.
    #[error("{path}: {source}")]
    Parquet {
        /// The table file.
        path: PathBuf,
        /// What the parquet crate said.
        source: ParquetError,
    },
    /// The thread that wrote a table ended without a result. Ours to mend.
    #[error("internal: the writing thread ended early")]
    Thread,
    /// Arrow refused a batch. Ours to mend, never the input's fault.
    #[error("internal: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
}

impl SchemaError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> SchemaError + '_ {
        move |source| SchemaError::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> SchemaError + '_ {
        move |source| match source {
            // A full disk is no fault of the table.
            ParquetError::External(e) => match e.downcast::<std::io::Error>() {
                Ok(source) => SchemaError::Io { path: path.to_path_buf(), source: *source },
                Err(e) => SchemaError::Parquet { path: path.to_path_buf(), source: ParquetError::External(e) },
            },
            source => SchemaError::Parquet { path: path.to_path_buf(), source },
        }
    }
}
