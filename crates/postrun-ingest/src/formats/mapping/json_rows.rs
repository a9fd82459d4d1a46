//! Rows of JSON: lines, an array, objects one after another, or a list inside one object.

use super::columns::bind;
use super::refuse_unknown;
use super::runs::Runs;
use crate::client::value::TEXT_BYTES;
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::records::{self, ONE_OBJECT, RecordError};
use crate::json::{JsonReader, Result, Tree};
use crate::mapping::{Column, Mapping, own_columns};
use crate::sink::RunSink;
use postrun_schema::IssueCode;
use std::collections::BTreeSet;
use std::io::Read;

/// Names of members that are kept to suggest one.
const MOST_NAMES: usize = 256;
/// Entries of one list; a request of more chunks is none.
const MOST_ENTRIES: usize = 1 << 22;

pub(super) fn read(
    source: &mut Source,
    sink: &mut RunSink<'_>,
    given: Option<&Mapping>,
) -> std::result::Result<(), IngestError> {
    let (file, head) = (source.name.clone(), source.head.clone());
    let own = Mapping::default();
    let mapping = given.unwrap_or(&own);
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let mut rows = Rows {
        file: &file,
        runs: Runs::new(mapping, &file, bind(mapping, &file, |_| None)?),
        names: mapping.columns.iter().map(Name::of).collect(),
        grows: given.is_none(),
        seen: BTreeSet::new(),
        found: mapping.rows.is_none(),
        failure: None,
    };
    let head = if mapping.rows.is_some() { ONE_OBJECT } else { &head };
    let mut walked = records::walk(&file, head, &mut reader, |reader| {
        let read = match &mapping.rows {
            None => rows.row(reader, sink),
            Some(path) => rows.list(reader, sink, path, ""),
        };
        match rows.failure.take() {
            Some(failure) => Err(RecordError::Fatal(failure)),
            None => read.map_err(RecordError::from),
        }
    })?;
    let not_utf8 = reader.not_utf8;
    drop(reader);
    walked.issues.add_many(IssueCode::NotUtf8, not_utf8, || file.clone(), || format!("{not_utf8} text(s)"));
    rows.refuse_absent(mapping)?;
    let (empty, skipped) = rows.runs.finish(sink)?;
    walked.issues.extend(empty);
    walked.skipped += skipped;
    sink.close(source, text, super::MAPPING.id, walked)
}

/// Where a column lies, and whether it was there.
struct Name {
    path: String,
    list: bool,
    met: bool,
}

impl Name {
    fn of(column: &Column) -> Name {
        Name { path: column.name.clone(), list: column.fact.kind().is_list(), met: false }
    }
}

struct Rows<'a> {
    file: &'a str,
    runs: Runs<'a>,
    names: Vec<Name>,
    /// Columns under postrun's own names are taken as they come.
    grows: bool,
    /// Members met, to suggest one where a column is missing.
    seen: BTreeSet<String>,
    found: bool,
    failure: Option<IngestError>,
}

impl Rows<'_> {
    /// Walks down to the list of rows.
    fn list<R: Read>(
        &mut self,
        reader: &mut JsonReader<R>,
        sink: &mut RunSink<'_>,
        path: &str,
        above: &str,
    ) -> Result<()> {
        reader.object(|reader, key| {
            let here = format!("{above}{key}");
            self.remember(&here);
            match reader.peek()? {
                Some(b'[') if here == path => {
                    self.found = true;
                    let each = |reader: &mut JsonReader<R>| match reader.peek()? {
                        Some(b'{') => self.row(reader, sink),
                        _ => reader.skip_value(),
                    };
                    reader.array(each).map(drop)
                }
                Some(b'{') if path.starts_with(&format!("{here}.")) => {
                    self.list(reader, sink, path, &format!("{here}."))
                }
                _ => reader.skip_value(),
            }
        })
    }

    fn row<R: Read>(&mut self, reader: &mut JsonReader<R>, sink: &mut RunSink<'_>) -> Result<()> {
        let (line, byte) = (reader.line(), reader.offset());
        let mut values = vec![Tree::Null; self.names.len()];
        self.members(reader, "", &mut values)?;
        let file = self.file;
        let place = || format!("{file}: line {line}, byte {byte}");
        if self.failure.is_none()
            && let Err(e) = self.runs.push(sink, &values, &place)
        {
            self.failure = Some(e);
        }
        Ok(())
    }

    fn members<R: Read>(&mut self, reader: &mut JsonReader<R>, above: &str, values: &mut Vec<Tree>) -> Result<()> {
        reader.object(|reader, key| {
            let path = format!("{above}{key}");
            self.remember(&path);
            if self.grows && above.is_empty() && !self.names.iter().any(|n| n.path == path) {
                self.grow(key, values);
            }
            let mine: Vec<usize> =
                (0..self.names.len()).filter(|i| self.names.get(*i).is_some_and(|n| n.path == path)).collect();
            if mine.is_empty() {
                let inside = format!("{path}.");
                return match reader.peek()? {
                    Some(b'{') if self.names.iter().any(|n| n.path.starts_with(&inside)) => {
                        self.members(reader, &inside, values)
                    }
                    _ => reader.skip_value(),
                };
            }
            let is_list = mine.iter().any(|i| self.names.get(*i).is_some_and(|n| n.list));
            let value = if is_list { list(reader)? } else { reader.tree(TEXT_BYTES)? };
            for i in mine {
                if let (Some(name), Some(cell)) = (self.names.get_mut(i), values.get_mut(i)) {
                    name.met = true;
                    *cell = value.clone();
                }
            }
            Ok(())
        })
    }

    fn remember(&mut self, path: &str) {
        if self.seen.len() < MOST_NAMES && !self.seen.contains(path) {
            self.seen.insert(path.to_string());
        }
    }

    fn grow(&mut self, key: &str, values: &mut Vec<Tree>) {
        for column in own_columns([key]) {
            let name = Name::of(&column);
            if self.runs.add_column(column) {
                self.names.push(name);
                values.push(Tree::Null);
            }
        }
    }

    fn refuse_absent(&self, mapping: &Mapping) -> std::result::Result<(), IngestError> {
        let known: Vec<String> = self.seen.iter().cloned().collect();
        if !self.found {
            let path = mapping.rows.as_deref().unwrap_or_default();
            let hint = crate::mapping::suggestion(path, known.iter().map(String::as_str));
            return Err(mapping.fault(self.file, None, format!("no list of rows at {path:?}{hint}")));
        }
        if self.grows {
            return refuse_unknown(self.file, &Mapping { columns: self.runs.columns(), ..Mapping::default() }, &known);
        }
        // Without any row the columns are not what is wrong.
        let absent = mapping.columns.iter().zip(&self.names).find(|(column, name)| !column.optional && !name.met);
        match absent {
            Some((column, _)) if !self.seen.is_empty() => Err(mapping.missing(self.file, column, &known)),
            _ => Ok(()),
        }
    }
}

/// A list of any length, without what lies deeper; anything else as it is.
fn list<R: Read>(reader: &mut JsonReader<R>) -> Result<Tree> {
    if reader.peek()? != Some(b'[') {
        return reader.tree(64);
    }
    let mut out = Vec::new();
    reader.array(|reader| {
        match out.len() < MOST_ENTRIES {
            true => out.push(reader.tree(64)?),
            false => reader.skip_value()?,
        }
        Ok(())
    })?;
    Ok(Tree::List(out))
}
