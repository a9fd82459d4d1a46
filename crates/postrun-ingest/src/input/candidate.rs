//! Files that may be read, and files that were not.

use super::source::Input;
use std::path::PathBuf;

/// A file in a folder that was not read.
#[derive(Debug, Clone)]
pub struct LeftAlone {
    /// As named.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A file to read.
pub(crate) struct Candidate {
    pub input: Input,
    pub label: String,
    /// The folder it lies in; empty where the user named the file itself. Files of a group may be one run.
    pub group: PathBuf,
    /// Named by the user, so that not knowing it is an error.
    pub named: bool,
}

impl Candidate {
    /// As the user would name it.
    pub(crate) fn name(&self) -> String {
        match &self.input {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "standard input".to_string(),
        }
    }
}
