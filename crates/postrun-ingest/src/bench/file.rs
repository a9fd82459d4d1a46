//! A file of array-shaped runs, from its first byte to its last.

use super::arrays::{self, ArrayRun, Shape};
use super::facts;
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::JsonReader;
use crate::json::records::{self, RecordError};
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::DatasetWriter;

/// Reads every run of the file. `finish` gets what was read, the file's name and the writer that holds the chunks already;
/// it writes the rows and says what the run is.
pub(crate) fn ingest(
    source: &mut Source,
    sink: &mut RunSink<'_>,
    format: &'static str,
    shape: &Shape,
    mut finish: impl FnMut(ArrayRun, &str, &mut DatasetWriter) -> Result<FinishedRun, RecordError>,
) -> Result<(), IngestError> {
    let file = source.name.clone();
    let head = source.head.clone();
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let walked = records::walk(&file, &head, &mut reader, |reader| {
        let mut writer = sink.writer().map_err(RecordError::Fatal)?;
        let mut run = arrays::read(reader, &file, shape, &mut writer)?;
        facts::judge_header(&run.scalars, &mut run.issues, &file);
        if !run.scalars.contains_key("duration") && run.columns.len() == 0 {
            return Err(RecordError::NotARun("an object with neither a duration nor per-request arrays".to_string()));
        }
        let finished = finish(run, &file, &mut writer)?;
        sink.commit(writer, finished).map_err(RecordError::Fatal)
    })?;
    drop(reader);
    sink.close(source, text, format, walked)
}
