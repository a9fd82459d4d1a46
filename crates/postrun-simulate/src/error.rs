//! What can go wrong: a scenario that makes no sense, or one that would be too large.

/// Error of a simulation.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// A field of the scenario has a value that makes no sense.
    #[error("scenario field {field}: {problem}")]
    Invalid {
        /// Path of the field, e.g. `kv.num_blocks`.
        field: &'static str,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// The run would be larger than the simulator allows.
    #[error("the scenario is too large: {0}")]
    TooLarge(String),
    /// A scenario file is no JSON, or has an unknown field.
    #[error("the scenario is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Writing an output failed.
    #[error("could not write: {0}")]
    Io(#[from] std::io::Error),
}

/// Short for results of this crate.
pub type Result<T> = std::result::Result<T, SimulateError>;

pub(crate) fn invalid<T>(field: &'static str, problem: impl Into<String>) -> Result<T> {
    Err(SimulateError::Invalid { field, problem: problem.into() })
}
