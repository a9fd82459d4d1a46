//! Walks the runs of a file: one JSON object, several without a separator, JSON lines, or an array of objects.

use super::{JsonError, JsonReader};
use crate::error::IngestError;
use postrun_schema::{IssueCode, Issues};
use std::io::Read;

/// The head of a text that is known not to be lines.
pub(crate) const ONE_OBJECT: &[u8] = &[];

/// What became of the file as a whole.
pub(crate) struct Walked {
    /// Problems of records that belong to no run.
    pub issues: Issues,
    /// Records left out.
    pub skipped: u64,
    /// The first problem, to say when nothing was usable.
    pub first_problem: Option<String>,
}

/// Why one record gave no run.
pub(crate) enum RecordError {
    /// It does not parse.
    Json(JsonError),
    /// It parses and is something else.
    NotARun(String),
    /// Our side failed.
    Fatal(IngestError),
}

impl From<JsonError> for RecordError {
    fn from(e: JsonError) -> Self {
        RecordError::Json(e)
    }
}

impl From<postrun_schema::SchemaError> for RecordError {
    fn from(e: postrun_schema::SchemaError) -> Self {
        RecordError::Fatal(e.into())
    }
}

/// Calls `record` at the opening brace of every run. A record that does not parse is counted and, where records
/// are lines, left out alone; otherwise nothing behind it can be trusted and reading stops.
pub(crate) fn walk<R: Read>(
    file: &str,
    head: &[u8],
    reader: &mut JsonReader<R>,
    mut record: impl FnMut(&mut JsonReader<R>) -> Result<(), RecordError>,
) -> Result<Walked, IngestError> {
    let lines = records_are_lines(head);
    let mut out = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let mut in_array = false;
    loop {
        reader.newline_ends_record = false;
        let next = reader.peek().map_err(|e| IngestError::io(file)(std::io::Error::other(e.to_string())))?;
        let (at, line) = (reader.offset(), reader.line());
        let result = match next {
            None => {
                if in_array {
                    // Cut between two records: none is torn, and how many are missing nobody can say.
                    let what = "the file ends inside a list of records: its ']' is missing".to_string();
                    out.first_problem.get_or_insert_with(|| format!("line {line}, byte {at}: {what}"));
                    out.issues.add(IssueCode::TruncatedRecord, || format!("{file}: line {line}, byte {at}"), || what);
                }
                return Ok(out);
            }
            Some(b'{') => {
                reader.newline_ends_record = lines;
                record(reader)
            }
            Some(b'[') if !in_array => {
                reader.bump();
                in_array = true;
                continue;
            }
            Some(b',') if in_array => {
                reader.bump();
                continue;
            }
            Some(b']') if in_array => {
                reader.bump();
                in_array = false;
                continue;
            }
            Some(0) => {
                // Padding behind the last record, as copied from a preallocated file.
                Err(RecordError::NotARun("NUL bytes instead of a record".to_string()))
            }
            Some(_) => {
                reader.newline_ends_record = lines;
                reader
                    .skip_value()
                    .map_err(RecordError::from)
                    .and(Err(RecordError::NotARun("not an object".to_string())))
            }
        };
        let place = || format!("{file}: line {line}, byte {at}");
        let stop = match result {
            Ok(()) => false,
            Err(RecordError::Fatal(e)) => return Err(e),
            Err(RecordError::Json(JsonError::Io(e))) => return Err(IngestError::io(file)(e)),
            Err(RecordError::NotARun(what)) => {
                out.skipped += 1;
                out.first_problem.get_or_insert_with(|| format!("line {line}, byte {at}: {what}"));
                out.issues.add(IssueCode::NotARun, place, || what.clone());
                next == Some(0)
            }
            Err(RecordError::Json(e)) => {
                let code = match (&e, reader.peek()) {
                    (JsonError::Cut { .. }, _) | (_, Ok(None)) => IssueCode::TruncatedRecord,
                    _ => IssueCode::BadRecord,
                };
                out.skipped += 1;
                out.first_problem.get_or_insert_with(|| format!("line {line}, {e}"));
                out.issues.add(code, place, || e.to_string());
                if !lines && code == IssueCode::BadRecord {
                    let from = reader.offset();
                    out.issues.add(IssueCode::UnreadRest, place, || format!("nothing from byte {from} on was read"));
                }
                !(lines
                    && reader.skip_line().map_err(|e| IngestError::io(file)(std::io::Error::other(e.to_string())))?)
            }
        };
        if stop {
            return Ok(out);
        }
    }
}

/// True when the first record opens and goes on in its first line: then a line break inside a record means that the
/// record is torn. False for indented JSON.
fn records_are_lines(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let start = head.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
    let text = &head[start..];
    let first_line = text.split(|b| *b == b'\n').next().unwrap_or(text);
    let inner = first_line.strip_prefix(b"{").unwrap_or(b"");
    inner.iter().any(|b| !b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_cut_between_two_records_is_truncated() {
        let truncated = |text: &str| {
            let mut reader = JsonReader::new(text.as_bytes());
            let walked = walk("f", ONE_OBJECT, &mut reader, |reader| reader.skip_value().map_err(RecordError::from));
            walked.ok().unwrap().issues.count(IssueCode::TruncatedRecord)
        };
        for cut in ["[{\"a\":1}", "[{\"a\":1},", "[{\"a\":1},\n", "[{\"a\":1},{\"b\"", "[", "[{}][{}"] {
            assert_eq!(truncated(cut), 1, "{cut}");
        }
        for whole in ["[{\"a\":1}]", "[]", "{\"a\":1}{\"b\":2}", ""] {
            assert_eq!(truncated(whole), 0, "{whole}");
        }
    }

    #[test]
    fn indented_json_is_not_lines() {
        assert!(records_are_lines(b"{\"a\":1}\n{\"b\":2}\n"));
        assert!(records_are_lines(b"{\"a\": 1, "));
        assert!(!records_are_lines(b"{\n  \"a\": 1\n}\n"));
        assert!(!records_are_lines(b"[\n  {\"a\": 1}\n]\n"));
    }
}
