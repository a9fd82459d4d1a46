//! A client's JSON file from its first byte to its last: lines, arrays or objects, one record at a time.

use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::JsonReader;
use crate::json::records::{self, RecordError};
use crate::sink::RunSink;
use postrun_schema::IssueCode;
use std::io::Read;

/// The reader that a record is taken from.
pub(crate) type Reader<'a> = JsonReader<&'a mut dyn Read>;

/// Calls `record` at the opening brace of every record with its place, then `finish`, which hands over the runs.
pub(crate) fn read<S>(
    source: &mut Source,
    sink: &mut RunSink<'_>,
    format: &'static str,
    mut state: S,
    mut record: impl FnMut(&mut S, &mut Reader<'_>, &mut RunSink<'_>, &dyn Fn() -> String) -> Result<(), RecordError>,
    finish: impl FnOnce(S, &mut RunSink<'_>, &str) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let (file, head) = (source.name.clone(), source.head.clone());
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text as &mut dyn Read);
    let mut walked = records::walk(&file, &head, &mut reader, |reader| {
        let (line, at) = (reader.line(), reader.offset());
        record(&mut state, reader, sink, &|| format!("{file}: line {line}, byte {at}"))
    })?;
    let not_utf8 = reader.not_utf8;
    drop(reader);
    let example = || "a text in a record".to_string();
    walked.issues.add_many(IssueCode::NotUtf8, not_utf8, || file.clone(), example);
    finish(state, sink, &file)?;
    sink.close(source, text, format, walked)
}
