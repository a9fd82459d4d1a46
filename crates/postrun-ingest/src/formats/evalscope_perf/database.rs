//! `benchmark_data.db`: one row a request, read through SQLite without touching the file.

use super::{EVALSCOPE_PERF, FAMILY, figures};
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{clock, duration_ns};
use crate::client::run_rows::{ChunkTimes, RunRows};
use crate::client::value::{self, Judge};
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::records::Walked;
use crate::json::{JsonReader, Tree, shorten};
use crate::sink::RunSink;
use postrun_schema::{ClockKind, IssueCode, Issues, RequestRow, Status};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use std::path::Path;

/// Name of a copy while it is read.
const COPY: &str = "copy.db";

pub(super) fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let mut rows = RunRows::create(sink)?;
    let copy = rows.writer.scratch_dir().join(COPY);
    let plain = source.plain_path().map(Path::to_path_buf);
    let mut text = source.take_reader();
    if plain.is_none() {
        // SQLite jumps about in its file; a stream must lie somewhere first.
        let mut to = std::fs::File::create(&copy).map_err(IngestError::io(&file))?;
        std::io::copy(&mut text, &mut to).map_err(IngestError::io(&file))?;
    }
    let path = plain.as_deref().unwrap_or(&copy);
    let journal = journal(path);
    if let Some(ending) = journal {
        rows.issues.add(IssueCode::JournalBeside, || file.clone(), || format!("a {ending} file lies beside it"));
    }
    let read = read_rows(path, &file, &mut rows);
    let size = std::fs::metadata(path).map(|m| m.len()).unwrap_or(0);
    if plain.is_none() {
        std::fs::remove_file(&copy).map_err(IngestError::io(&file))?;
    }
    let mut walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let table = match read {
        Ok(table) => table,
        Err(ReadError::Fatal(e)) => return Err(e),
        Err(ReadError::Sqlite(problem)) => {
            let why = |ending| format!("{problem}; it is being written: a {ending} file lies beside it");
            walked.first_problem = Some(journal.map_or(problem.clone(), why));
            return sink.close(source, text, EVALSCOPE_PERF.id, walked);
        }
    };
    walked.skipped += table.lost.count(IssueCode::BadRecord);
    walked.issues.extend(table.lost);
    if let Some(problem) = table.problem.or_else(|| missing_end(&source.head, size)) {
        walked.skipped += 1;
        let place = || format!("{file}: after row {}", rows.len());
        walked.issues.add(IssueCode::TruncatedRecord, place, || problem.clone());
        walked.first_problem = Some(problem);
    }
    if rows.len() > 0 {
        commit(rows, table.span, table.model, sink, &file)?;
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

/// The journal beside a database that is being written, or was not closed; the database is read as it stands.
fn journal(path: &Path) -> Option<&'static str> {
    ["-wal", "-journal"].into_iter().find(|ending| {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        std::fs::metadata(&beside).is_ok_and(|m| m.len() > 0)
    })
}

fn commit(
    rows: RunRows,
    span: Option<(i64, i64)>,
    model: Option<String>,
    sink: &mut RunSink<'_>,
    file: &str,
) -> Result<(), IngestError> {
    let mut manifest = figures::manifest();
    manifest.model = model;
    let seconds = span.map(|(first, last)| last.saturating_sub(first) as f64 / 1e9);
    manifest.duration_ns = seconds.and_then(duration_ns);
    let totals = seconds.map(|s| figures::totals(rows.len(), rows.totals.ok, s)).unwrap_or_default();
    let written = rows.finish(file, FAMILY)?;
    manifest.clocks.client = clock(ClockKind::Monotonic, written.origin_ns);
    let part = Part { totals, ..Part::of(FAMILY, Layer::Requests) };
    written.commit(sink, manifest, String::new(), Some(part))
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
    /// Rows whose pages hold nothing.
    lost: Issues,
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

fn read_rows(path: &Path, file: &str, requests: &mut RunRows) -> Result<Table, ReadError> {
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
            Err(e) if requests.len() > 0 => {
                table.problem = Some(format!("SQLite: {e}"));
                return Ok(table);
            }
            Err(e) => return Err(sqlite(e)),
        };
        let number = requests.len() + table.lost.count(IssueCode::BadRecord);
        if let Some(what) = lost(row) {
            table.lost.add(IssueCode::BadRecord, || format!("{file}: row {number}"), || what.to_string());
            continue;
        }
        take(row, requests, &mut table, &|| format!("{file}: row {number}")).map_err(ReadError::Fatal)?;
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

/// Of a true table: a view's query is a stranger's, and may never end.
fn columns(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = database.prepare(
        "SELECT info.name FROM sqlite_schema AS entry, pragma_table_info('result') AS info
         WHERE entry.name = 'result' AND entry.type = 'table'",
    )?;
    let names = query.query_map([], |row| row.get::<_, String>(0))?;
    names.collect()
}

/// Says why a row is none. Pages behind the end of a cut file read as null, pages of zeros as 0.
fn lost(row: &Row<'_>) -> Option<&'static str> {
    let number = |i: usize| cell(row, i).number();
    if (0..8).all(|i| cell(row, i) == Tree::Null) {
        return Some("a row without any value: the page that held it is missing");
    }
    (number(0) > Some(0.0) && number(1) == Some(0.0)).then_some("a row that ended at 0: the page that held it is empty")
}

fn take(row: &Row<'_>, rows: &mut RunRows, table: &mut Table, place: &dyn Fn() -> String) -> Result<(), IngestError> {
    let judge = &mut Judge { issues: &mut rows.issues, place };
    let sent = judge.point("start_time", &cell(row, 0));
    let completed = judge.point("completed_time", &cell(row, 1));
    let failed = cell(row, 7).integer() == Some(0);
    let lasted = || completed.zip(sent).map(|(end, sent)| end.saturating_sub(sent)).filter(|ns| *ns >= 0);
    let mut request = RequestRow {
        request_id: value::id(&cell(row, 9)),
        status: if failed { Status::Error } else { Status::Ok },
        sent_ns: sent,
        ttft_ns: judge.duration("first_chunk_latency", &cell(row, 3), 1).filter(|ns| *ns > 0),
        e2e_ns: judge.duration("latency", &cell(row, 2), 1).or_else(|| lasted().filter(|_| failed)),
        prompt_tokens: judge.count("prompt_tokens", &cell(row, 5)),
        output_tokens: judge.count("completion_tokens", &cell(row, 6)),
        requested_output_tokens: judge.count("max_tokens", &cell(row, 11)),
        streamed: (judge.count("is_stream", &cell(row, 8)) == Some(0)).then_some(false),
        ..RequestRow::default()
    };
    if let (Some(sent), Some(end)) = (sent, completed) {
        let (first, last) = table.span.unwrap_or((sent, end));
        table.span = Some((first.min(sent), last.max(end)));
    }
    if table.model.is_none() {
        table.model = value::text(&cell(row, 10));
    }
    let chunks = chunks(&mut request, &cell(row, 4), judge);
    rows.push(request, &chunks, place)
}

/// When the chunks came, if gaps are recorded and the first token is.
fn chunks(request: &mut RequestRow, list: &Tree, judge: &mut Judge<'_>) -> ChunkTimes {
    const KEY: &str = "inter_token_latencies";
    let (Some(list), Some(ttft)) = (list.text(), request.ttft_ns) else { return ChunkTimes::default() };
    let Ok(Some(gaps)) = value::seconds(&mut JsonReader::new(list.as_bytes())) else {
        judge.bad(IssueCode::WrongType, KEY, shorten(list.to_string(), 40));
        return ChunkTimes::default();
    };
    if request.status != Status::Ok && gaps.is_empty() {
        return ChunkTimes::default();
    }
    let Some(chunks) = ChunkTimes::after(ttft, &gaps, 1, KEY, judge) else { return ChunkTimes::default() };
    request.stream_end_ns = request.e2e_ns;
    request.e2e_ns = chunks.at_ns.last().copied();
    chunks
}

/// A cell as if it stood in JSON. What pandas wrote as a float is a count all the same.
fn cell(row: &Row<'_>, i: usize) -> Tree {
    match row.get_ref(i) {
        Ok(ValueRef::Integer(v)) => Tree::Number(v.to_string()),
        Ok(ValueRef::Real(v)) => Tree::Number(format!("{v:?}")),
        Ok(ValueRef::Text(bytes)) => Tree::Text(String::from_utf8_lossy(bytes).into_owned()),
        // Nothing that is looked for is one.
        Ok(ValueRef::Blob(_)) => Tree::List(Vec::new()),
        Ok(ValueRef::Null) | Err(_) => Tree::Null,
    }
}
