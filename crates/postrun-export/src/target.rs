//! What a target of an export is.

use crate::error::ExportError;
use postrun_schema::{Dataset, Doc};
use std::io::Write;

/// Where the bytes of an export go.
pub(crate) type Out<'a> = &'a mut (dyn Write + Send);

/// Writes a run, and says what it had to leave out: one sentence each.
pub(crate) type WriteRun = fn(&Dataset, Out<'_>) -> Result<Vec<String>, ExportError>;

/// A form that a run can be exported to.
pub struct Target {
    /// Stable id: `chrome-trace`.
    pub id: &'static str,
    /// Ending of its files, without the dot.
    pub ending: &'static str,
    /// Not text: never printed to a terminal.
    pub binary: bool,
    /// Its page.
    pub doc: Doc,
    pub(crate) write: WriteRun,
}

impl Target {
    /// Writes the run in `dataset` to `out`. Gives a sentence for each kind of thing that could not be part of it.
    pub fn write(&self, dataset: &Dataset, out: &mut (dyn Write + Send)) -> Result<Vec<String>, ExportError> {
        (self.write)(dataset, out)
    }
}
