//! Rows of a CSV.

use super::columns::bind;
use super::refuse_unknown;
use super::runs::Runs;
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::Walked;
use crate::mapping::{Mapping, delimiter_of};
use crate::sink::RunSink;
use csv::{ByteRecord, ReaderBuilder};
use postrun_schema::{IssueCode, Issues};
use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

/// A longer row is a quote that was never closed.
const LONGEST_ROW_BYTES: u64 = 16 << 20;

/// What is read since the last row, and the last byte of all.
#[derive(Default)]
struct Watch {
    since_row: Cell<u64>,
    last: Cell<u8>,
}

/// Refuses a row without an end before it fills the memory.
struct Watched<R> {
    inner: R,
    watch: Rc<Watch>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        if self.watch.since_row.get() > LONGEST_ROW_BYTES {
            return Err(std::io::Error::other("a row of more than 16 MiB: a quote that is not closed?"));
        }
        let n = self.inner.read(buf)?;
        self.watch.since_row.set(self.watch.since_row.get() + n as u64);
        if let Some(last) = buf[..n].last() {
            self.watch.last.set(*last);
        }
        Ok(n)
    }
}

pub(super) fn read(source: &mut Source, sink: &mut RunSink<'_>, given: Option<&Mapping>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let first_line = source.head.split(|b| *b == b'\n').next().unwrap_or_default();
    let delimiter = given.and_then(|m| m.delimiter).unwrap_or_else(|| delimiter_of(first_line));
    let mut text = source.take_reader();
    let watch = Rc::new(Watch::default());
    let walked = {
        let watched = Watched { inner: &mut text, watch: Rc::clone(&watch) };
        let mut table =
            ReaderBuilder::new().delimiter(delimiter).flexible(true).has_headers(false).from_reader(watched);
        let mut next = || {
            let mut record = ByteRecord::new();
            let read = table.read_byte_record(&mut record).map_err(|e| broken(&file, e));
            watch.since_row.set(0);
            Ok::<_, IngestError>(read?.then_some(record))
        };
        let heading = next()?.unwrap_or_default();
        rows(&file, &heading, &mut next, given, sink, &watch)?
    };
    sink.close(source, text, super::MAPPING.id, walked)
}

fn broken(file: &str, e: csv::Error) -> IngestError {
    let place = e.position().map_or(String::new(), |p| format!("line {}: ", p.line()));
    match e.into_kind() {
        csv::ErrorKind::Io(e) => IngestError::io(file)(e),
        other => IngestError::io(file)(std::io::Error::other(format!("{place}{other:?}"))),
    }
}

fn rows(
    file: &str,
    heading: &ByteRecord,
    next: &mut impl FnMut() -> Result<Option<ByteRecord>, IngestError>,
    given: Option<&Mapping>,
    sink: &mut RunSink<'_>,
    watch: &Watch,
) -> Result<Walked, IngestError> {
    let names: Vec<String> = heading.iter().enumerate().map(|(i, cell)| name(i, cell)).collect();
    let own = Mapping::of_own_names(names.iter().map(String::as_str));
    let mapping = given.unwrap_or(&own);
    refuse_unknown(file, mapping, &names)?;
    let mut positions = Vec::new();
    for column in &mapping.columns {
        let mut found = names.iter().enumerate().filter(|(_, name)| **name == column.name).map(|(i, _)| i);
        positions.push(found.next());
        if positions.last() == Some(&None) && !column.optional {
            return Err(mapping.missing(file, column, &names));
        }
        if found.next().is_some() {
            return Err(mapping.fault(file, Some(column), format!("{file} has two columns called {:?}", column.name)));
        }
    }
    let lists: Vec<bool> = mapping.columns.iter().map(|c| c.fact.kind().is_list()).collect();
    let mut runs = Runs::new(mapping, file, bind(mapping, file, |_| None)?);
    names.iter().for_each(|name| runs.note_double(name));
    let mut walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let mut waiting: Option<ByteRecord> = None;
    loop {
        let coming = next()?;
        let Some(record) = waiting.take() else {
            if coming.is_none() {
                break;
            }
            waiting = coming;
            continue;
        };
        let (line, byte) = record.position().map_or((0, 0), |p| (p.line(), p.byte()));
        let place = || format!("{file}: line {line}, byte {byte}");
        let cut = coming.is_none() && !matches!(watch.last.get(), b'\n' | b'\r');
        let problem = if cut {
            let what = "the file ends without a line break: its last row may be cut".to_string();
            Some((IssueCode::TruncatedRecord, what))
        } else if record.len() != names.len() {
            Some((IssueCode::BadRecord, format!("{} cells below {} names", record.len(), names.len())))
        } else {
            None
        };
        match problem {
            Some((code, example)) => {
                walked.skipped += 1;
                walked.first_problem.get_or_insert_with(|| format!("line {line}, byte {byte}: {example}"));
                walked.issues.add(code, place, || example);
            }
            None => {
                let cell = |(at, list): (&Option<usize>, &bool)| {
                    at.and_then(|i| record.get(i)).map_or(Tree::Null, |c| value(c, *list))
                };
                let values: Vec<Tree> = positions.iter().zip(&lists).map(cell).collect();
                if record.iter().any(|cell| std::str::from_utf8(cell).is_err()) {
                    walked.issues.add(IssueCode::NotUtf8, place, || "a cell".to_string());
                }
                runs.push(sink, &values, &place)?;
            }
        }
        waiting = coming;
        if waiting.is_none() {
            break;
        }
    }
    let (empty, skipped) = runs.finish(sink)?;
    walked.issues.extend(empty);
    walked.skipped += skipped;
    Ok(walked)
}

/// A name of the heading, the first one without a byte order mark.
fn name(i: usize, cell: &[u8]) -> String {
    let cell = if i == 0 { cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell) } else { cell };
    String::from_utf8_lossy(cell).trim().trim_matches('"').to_string()
}

/// Words for an empty cell.
const NOTHING: [&str; 6] = ["", "null", "None", "NA", "N/A", "NULL"];

fn value(cell: &[u8], list: bool) -> Tree {
    let text = String::from_utf8_lossy(cell);
    let text = text.trim();
    if NOTHING.contains(&text) {
        return Tree::Null;
    }
    if !list {
        return Tree::Text(text.to_string());
    }
    let inner = text.trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
    let parts = inner.split(|c: char| c.is_whitespace() || ",;|".contains(c)).filter(|part| !part.is_empty());
    Tree::List(
        parts.map(|part| if NOTHING.contains(&part) { Tree::Null } else { Tree::Text(part.to_string()) }).collect(),
    )
}
