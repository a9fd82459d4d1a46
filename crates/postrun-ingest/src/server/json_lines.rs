//! JSON records on lines, each small enough for a general parser.

use super::recording::ServerSink;
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::shorten;
use crate::text::lines::Lines;
use postrun_schema::IssueCode;
use serde_json::{Map, Value};

/// Calls `record` with the object of every line and its place; lines that are none are counted.
pub(crate) fn read(
    source: &mut Source,
    sink: &mut ServerSink,
    mut record: impl FnMut(&Map<String, Value>, &mut ServerSink, &dyn Fn() -> String) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    while let Some(line) = lines.next().map_err(&io)? {
        let place = || line.place();
        if line.text.trim().is_empty() {
            continue;
        }
        if line.text.contains(char::REPLACEMENT_CHARACTER) {
            sink.issue(IssueCode::NotUtf8, place, String::new);
        }
        if line.shortened {
            sink.skip(IssueCode::LongLine, place, String::new);
            continue;
        }
        match serde_json::from_str::<Value>(&line.text) {
            Ok(Value::Object(object)) => record(&object, sink, &place)?,
            Ok(_) => sink.skip(IssueCode::BadRecord, place, || "a line that is no object".to_string()),
            Err(_) if line.unfinished => {
                sink.skip(IssueCode::TruncatedRecord, place, || shorten(line.text.to_string(), 80));
            }
            Err(e) => sink.skip(IssueCode::BadRecord, place, || e.to_string()),
        }
    }
    Ok(())
}
