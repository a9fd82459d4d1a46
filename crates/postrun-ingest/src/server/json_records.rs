//! JSON records of the server's side: one object a line, one indented object, or arrays of objects.

use super::recording::ServerSink;
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::JsonReader;
use crate::json::records::{self, RecordError};
use postrun_schema::IssueCode;
use std::io::Read;

/// Calls `record` at the opening brace of every record, reads the file to its end, and hands what could not be read to
/// the sink.
pub(crate) fn read<R>(source: &mut Source, sink: &mut ServerSink, mut record: R) -> Result<(), IngestError>
where
    R: FnMut(&mut JsonReader<&mut dyn Read>, &mut ServerSink) -> Result<(), RecordError>,
{
    let (file, head) = (source.name.clone(), source.head.clone());
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text as &mut dyn Read);
    let walked = records::walk(&file, &head, &mut reader, |reader| record(reader, sink))?;
    let not_utf8 = reader.not_utf8;
    drop(reader);
    std::io::copy(&mut text, &mut std::io::sink()).map_err(IngestError::io(&file))?;
    let recording = &mut sink.recording;
    recording.issues.extend(walked.issues);
    recording.issues.add_many(IssueCode::NotUtf8, not_utf8, || file, || "a text in a record".to_string());
    recording.skipped += walked.skipped;
    if let (None, Some(problem)) = (&recording.first_problem, walked.first_problem) {
        recording.first_problem = Some(problem);
    }
    Ok(())
}
