//! `benchmark_data.db`: one row a request, read through SQLite without touching the file.

use super::{EVALSCOPE_PERF, figures, part};
use crate::client::manifest::duration_ns;
use crate::client::values::scaled_ns;
use crate::client::{ClientRun, Record, Scale, Values};
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::records::Walked;
use crate::sink::RunSink;
use postrun_schema::{ClockKind, IssueCode, Issues, Status};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use std::path::Path;

/// Most gaps of one request.
const MOST_GAPS: usize = 1 << 22;
const KEPT_ID_BYTES: usize = 200;
/// Name of a copy while it is read.
const COPY: &str = "copy.db";

pub(super) fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let writer = sink.writer()?;
    let copy = writer.scratch_dir().join(COPY);
    let plain = source.plain_path().map(Path::to_path_buf);
    let mut text = source.take_reader();
    if plain.is_none() {
        // SQLite jumps about in its file; a stream must lie somewhere first.
        let mut to = std::fs::File::create(&copy).map_err(IngestError::io(&file))?;
        std::io::copy(&mut text, &mut to).map_err(IngestError::io(&file))?;
    }
    let mut run = ClientRun::new(writer);
    let path = plain.as_deref().unwrap_or(&copy);
    note_journals(path, &file, &mut run.issues);
    let read = read_rows(path, &file, &mut run);
    let size = std::fs::metadata(path).map(|m| m.len()).unwrap_or(0);
    if plain.is_none() {
        std::fs::remove_file(&copy).map_err(IngestError::io(&file))?;
    }
    let mut walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let table = match read {
        Ok(table) => table,
        Err(ReadError::Fatal(e)) => return Err(e),
        Err(ReadError::Sqlite(problem)) => {
            walked.first_problem = Some(problem);
            return sink.close(source, text, EVALSCOPE_PERF.id, walked);
        }
    };
    if let Some(problem) = table.problem.or_else(|| missing_end(&source.head, size)) {
        walked.skipped += 1;
        let place = || format!("{file}: after row {}", run.len());
        walked.issues.add(IssueCode::TruncatedRecord, place, || problem.clone());
        walked.first_problem = Some(problem);
    }
    if run.len() > 0 {
        commit(run, table.span, table.model, sink, &file)?;
    }
    sink.close(source, text, EVALSCOPE_PERF.id, walked)
}

/// SQLite takes a last page that is not whole for an old one; the header knows how many there were.
fn missing_end(head: &[u8], size: u64) -> Option<String> {
    let word = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let page = match u16::from_be_bytes(head.get(16..18)?.try_into().ok()?) {
        1 => 1 << 16,
        bytes => u64::from(bytes),
    };
    // The count is valid where the last writer set it.
    let pages = word(28).filter(|_| word(24) == word(92))?;
    let wanted = page * u64::from(pages);
    (size < wanted).then(|| format!("the file has {size} bytes, its header says {wanted}"))
}

/// Changes that were not written into the database yet lie beside it; it is read as it stands.
fn note_journals(path: &Path, file: &str, issues: &mut Issues) {
    for ending in ["-wal", "-journal"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        if std::fs::metadata(&beside).is_ok_and(|m| m.len() > 0) {
            let example = || format!("a journal ({ending}) lies beside it: what only that holds was not read");
            issues.add(IssueCode::UnreadRest, || file.to_string(), example);
        }
    }
}

fn commit(
    run: ClientRun,
    span: Option<(i64, i64)>,
    model: Option<String>,
    sink: &mut RunSink<'_>,
    file: &str,
) -> Result<(), IngestError> {
    let mut manifest = figures::manifest();
    manifest.model = model;
    let seconds = span.map(|(first, last)| last.saturating_sub(first) as f64 / 1e9);
    manifest.duration_ns = seconds.and_then(duration_ns);
    let totals = seconds.map(|s| figures::totals(run.len() as u64, run.totals.ok, s)).unwrap_or_default();
    let (writer, finished) = run.finish(manifest, ClockKind::Monotonic, file, String::new())?;
    sink.commit_part(writer, finished, Some(part(totals, false)))
}

enum ReadError {
    Sqlite(String),
    Fatal(IngestError),
}

/// What is known of all rows.
#[derive(Default)]
struct Table {
    /// First send and last completion.
    span: Option<(i64, i64)>,
    model: Option<String>,
    /// Why reading stopped before the end.
    problem: Option<String>,
}

/// The columns wanted, in the order of the query; `None` where the table has none of that name.
const COLUMNS: &[&[&str]] = &[
    &["start_time"],
    &["completed_time"],
    &["latency"],
    &["first_chunk_latency"],
    &["inter_token_latencies", "chunk_times"],
    &["prompt_tokens"],
    &["completion_tokens"],
    &["success"],
    &["is_stream"],
    &["request_id"],
];

fn read_rows(path: &Path, file: &str, run: &mut ClientRun) -> Result<Table, ReadError> {
    let sqlite = |e: rusqlite::Error| ReadError::Sqlite(format!("SQLite: {e}"));
    let database = open(path).map_err(sqlite)?;
    let found = columns(&database).map_err(sqlite)?;
    if !["start_time", "first_chunk_latency"].iter().all(|name| found.iter().any(|f| f == name)) {
        return Err(ReadError::Sqlite("no table result with start_time and first_chunk_latency".to_string()));
    }
    let has = |name: &str| found.iter().any(|f| f == name);
    let wanted = COLUMNS.iter().map(|names| names.iter().find(|n| has(n)).map_or("NULL", |n| n));
    let of_request = |field: &str| match has("request") {
        true => format!("CASE WHEN json_valid(request) THEN json_extract(request, '$.{field}') END"),
        false => "NULL".to_string(),
    };
    let list: Vec<String> = wanted.map(String::from).chain(["model", "max_tokens"].map(of_request)).collect();
    let mut query = database.prepare(&format!("SELECT {} FROM result", list.join(", "))).map_err(sqlite)?;
    let mut rows = query.query([]).map_err(sqlite)?;
    let mut table = Table::default();
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(table),
            Err(e) if run.len() > 0 => {
                table.problem = Some(format!("SQLite: {e}"));
                return Ok(table);
            }
            Err(e) => return Err(sqlite(e)),
        };
        let number = run.len();
        take(row, run, &mut table, &|| format!("{file}: row {number}")).map_err(ReadError::Fatal)?;
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let mut name = String::from("file:");
    for byte in std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).to_string_lossy().bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => name.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => name.push(byte as char),
            byte => name.push_str(&format!("%{byte:02x}")),
        }
    }
    name.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(name, flags)?;
    // A stranger's file: none of its code is run, and damage is looked for while reading.
    database.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    Ok(database)
}

fn columns(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = database.prepare("SELECT name FROM pragma_table_info('result')")?;
    let names = query.query_map([], |row| row.get::<_, String>(0))?;
    names.collect()
}

fn take(row: &Row<'_>, run: &mut ClientRun, table: &mut Table, place: &dyn Fn() -> String) -> Result<(), IngestError> {
    let mut values = Values { issues: &mut run.issues, place };
    let point = |values: &mut Values<'_>, i: usize, name: &str| {
        float(row, i, name, values).and_then(|v| values.float_point(name, v, Scale::Seconds))
    };
    let duration = |values: &mut Values<'_>, i: usize, name: &str| {
        float(row, i, name, values).and_then(|v| values.float_duration(name, v, Scale::Seconds))
    };
    let sent_at = point(&mut values, 0, "start_time");
    let completed = point(&mut values, 1, "completed_time");
    let mut record = Record {
        sent_at,
        e2e_ns: duration(&mut values, 2, "latency"),
        ttft_ns: duration(&mut values, 3, "first_chunk_latency").filter(|ns| *ns > 0),
        prompt_tokens: count(row, 5, "prompt_tokens", &mut values),
        output_tokens: count(row, 6, "completion_tokens", &mut values),
        requested_output_tokens: count(row, 11, "max_tokens", &mut values),
        streamed: count(row, 8, "is_stream", &mut values).filter(|n| *n == 0).map(|_| false),
        ..Record::default()
    };
    if count(row, 7, "success", &mut values) == Some(0) {
        record.fail(None);
        let lasted = completed.zip(sent_at).map(|(end, sent)| end.saturating_sub(sent));
        record.e2e_ns = record.e2e_ns.or(lasted.filter(|ns| *ns >= 0));
    }
    if let Some(id) = text(row, 9).filter(|id| !id.is_empty()) {
        record.texts().request_id = Some(crate::json::shorten(id, KEPT_ID_BYTES));
    }
    if let (Some(sent), Some(end)) = (sent_at, completed) {
        let (first, last) = table.span.unwrap_or((sent, end));
        table.span = Some((first.min(sent), last.max(end)));
    }
    if table.model.is_none() {
        table.model = text(row, 10);
    }
    let at_ns = place_chunks(&mut record, row, &mut values);
    run.push(record, place, at_ns.as_deref())?;
    Ok(())
}

/// When the chunks came, if gaps are recorded and the first token is.
fn place_chunks(record: &mut Record, row: &Row<'_>, values: &mut Values<'_>) -> Option<Vec<i64>> {
    let list = text(row, 4)?;
    let ttft = record.ttft_ns?;
    let Some(gaps) = gaps(&list) else {
        values.issue(IssueCode::WrongType, "inter_token_latencies", || crate::json::shorten(list.clone(), 40));
        return None;
    };
    if record.status != Status::Ok && gaps.is_empty() {
        return None;
    }
    let mut at = ttft;
    let mut at_ns = vec![ttft];
    for gap in gaps {
        at = at.saturating_add(gap);
        at_ns.push(at);
    }
    record.stream_end_ns = record.e2e_ns;
    record.e2e_ns = Some(at);
    Some(at_ns)
}

/// `[0.1, 0.02]` as nanoseconds; `None` where something in it is no gap.
fn gaps(list: &str) -> Option<Vec<i64>> {
    let inner = list.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    if inner.is_empty() {
        return Some(Vec::new());
    }
    let gap = |text: &str| scaled_ns(text, Scale::Seconds).filter(|ns| *ns >= 0);
    inner.split(',').take(MOST_GAPS).map(gap).collect()
}

fn float(row: &Row<'_>, i: usize, name: &str, values: &mut Values<'_>) -> Option<f64> {
    match row.get_ref(i).ok()? {
        ValueRef::Null => None,
        ValueRef::Real(v) => Some(v),
        ValueRef::Integer(v) => Some(v as f64),
        _ => {
            values.issue(IssueCode::WrongType, name, || "expected a number".to_string());
            None
        }
    }
}

fn count(row: &Row<'_>, i: usize, name: &str, values: &mut Values<'_>) -> Option<u32> {
    let value = match row.get_ref(i).ok()? {
        ValueRef::Integer(v) => Some(v),
        // The counts of a table that pandas wrote.
        ValueRef::Real(v) if v.fract() == 0.0 && v.abs() < 1e15 => Some(v as i64),
        ValueRef::Null => return None,
        _ => None,
    };
    let found = value.and_then(|v| u32::try_from(v).ok());
    if found.is_none() {
        let code = if value.is_some() { IssueCode::OutOfRange } else { IssueCode::WrongType };
        values.issue(code, name, || "expected a count".to_string());
    }
    found
}

fn text(row: &Row<'_>, i: usize) -> Option<String> {
    match row.get_ref(i).ok()? {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(v) => Some(v.to_string()),
        _ => None,
    }
}
