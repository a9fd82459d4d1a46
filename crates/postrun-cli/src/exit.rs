//! Exit codes. They are part of the interface: a script may rely on them.

use postrun_analysis::AnalysisError;
use postrun_ingest::IngestError;
use postrun_schema::SchemaError;
use std::process::ExitCode;

/// Done.
pub const DONE: u8 = 0;
/// The user's input is wrong: a file that cannot be read or is not what it should be, a bad argument.
pub const BAD_INPUT: u8 = 2;
/// Our fault.
pub const INTERNAL: u8 = 3;

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
    /// Writing the result failed.
    #[error("could not write {file}: {source}")]
    Write {
        /// File, or `standard output`.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// An argument does not fit.
    #[error("{0}")]
    Argument(String),
    /// A value of ours does not serialise.
    #[error("internal: {0}")]
    Json(#[from] serde_json::Error),
}

/// Prints the error, if any, and gives the code. A reader that closed our output early is no error.
pub fn code(result: Result<(), CliError>) -> ExitCode {
    let error = match result {
        Ok(()) => return ExitCode::from(DONE),
        Err(CliError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            return ExitCode::from(DONE);
        }
        Err(error) => error,
    };
    crate::output::say(&format!("postrun: {error}"));
    ExitCode::from(match error {
        CliError::Json(_)
        | CliError::Analysis(AnalysisError::Polars { .. })
        | CliError::Schema(SchemaError::Arrow(_))
        | CliError::Ingest(IngestError::Schema(SchemaError::Arrow(_))) => INTERNAL,
        _ => BAD_INPUT,
    })
}
