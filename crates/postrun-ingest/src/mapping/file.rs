//! A mapping file: TOML to [`Mapping`], with the place of everything that is wrong.

use super::{Column, FACTS, Fact, Kind, Mapping, Place, RunFacts, Unit, suggestion};
use crate::error::IngestError;
use toml_edit::{Document, Item, TableLike, Value};

/// What is wrong, and at which byte of the file.
struct Fault {
    at: usize,
    message: String,
}

type Read<T> = Result<T, Fault>;

const TOP: [&str; 4] = ["columns", "run", "rows", "delimiter"];
const PARTS: [&str; 3] = ["column", "unit", "optional"];
const STATUSES: [&str; 4] = ["ok", "error", "cancelled", "incomplete"];
const PHASES: [&str; 4] = ["measured", "warmup", "cooldown", "probe"];
const RUN: [&str; 9] = [
    "tool",
    "version",
    "model",
    "dataset",
    "backend",
    "request_rate",
    "max_concurrency",
    "duration_s",
    "tokens_counted_by",
];

pub(super) fn read(file: &str, text: &str) -> Result<Mapping, IngestError> {
    let failed = |fault: Fault| {
        let Place { line, column } = place(text, fault.at);
        IngestError::Mapping { file: file.to_string(), line, column, message: fault.message }
    };
    let document = Document::parse(text).map_err(|e| {
        let message = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
        failed(Fault { at: e.span().map_or(0, |span| span.start), message })
    })?;
    let mut mapping = mapping(document.as_table(), text).map_err(failed)?;
    mapping.file = Some(file.to_string());
    Ok(mapping)
}

/// Line and column of a byte, both from 1.
fn place(text: &str, at: usize) -> Place {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}

fn fault<T>(at: usize, message: impl Into<String>) -> Read<T> {
    Err(Fault { at, message: message.into() })
}

fn key_at(table: &dyn TableLike, key: &str) -> usize {
    table.get_key_value(key).and_then(|(key, _)| key.span()).map_or(0, |span| span.start)
}

fn value_at(table: &dyn TableLike, key: &str, item: &Item) -> usize {
    item.span().map_or_else(|| key_at(table, key), |span| span.start)
}

/// Refuses keys that are none of `known`.
fn only(table: &dyn TableLike, known: &[&str]) -> Read<()> {
    for (key, _) in table.iter() {
        if !known.contains(&key) {
            let hint = suggestion(key, known.iter().copied());
            return fault(key_at(table, key), format!("unknown key {key:?}{hint}; known: {}", known.join(", ")));
        }
    }
    Ok(())
}

fn string<'a>(table: &'a dyn TableLike, key: &str) -> Read<Option<(&'a str, usize)>> {
    let Some(item) = table.get(key) else { return Ok(None) };
    let at = value_at(table, key, item);
    match item.as_str() {
        Some(text) => Ok(Some((text, at))),
        None => fault(at, format!("{key} is a text in quotes")),
    }
}

fn mapping(root: &dyn TableLike, text: &str) -> Read<Mapping> {
    only(root, &TOP)?;
    let Some(item) = root.get("columns") else {
        return fault(
            0,
            "a mapping needs a table [columns]: ttft = { column = \"first_token_latency\", unit = \"ms\" }",
        );
    };
    let Some(table) = item.as_table_like() else {
        return fault(key_at(root, "columns"), "columns is a table: [columns]");
    };
    let mut columns = Vec::new();
    for (name, item) in table.iter() {
        let at = key_at(table, name);
        let Some(fact) = FACTS.iter().copied().find(|fact| fact.name() == name) else {
            let hint = suggestion(name, FACTS.iter().map(|fact| fact.name()));
            return fault(
                at,
                format!("no fact of a request is called {name:?}{hint}; `postrun explain mapping` lists them"),
            );
        };
        columns.push(column(fact, item, at, text)?);
    }
    if !columns.iter().any(|c| c.fact.is_latency()) {
        let at = key_at(root, "columns");
        return fault(at, "no column tells how long a request took: map ttft, e2e, end or a list of chunk times");
    }
    refuse_incomplete(&columns, key_at(root, "columns"))?;
    Ok(Mapping {
        file: None,
        columns,
        rows: string(root, "rows")?.map(|(path, _)| path.to_string()),
        delimiter: delimiter(root)?,
        run: run(root)?,
    })
}

/// Points in time mean nothing without the send.
fn refuse_incomplete(columns: &[Column], at: usize) -> Read<()> {
    let has = |fact: Fact| columns.iter().any(|c| c.fact == fact);
    let needs_send = [Fact::FirstToken, Fact::LastToken, Fact::End, Fact::ChunkTimes];
    if let Some(fact) = needs_send.into_iter().find(|fact| has(*fact) && !has(Fact::Sent)) {
        return fault(
            at,
            format!("{} is a point in time, which tells nothing without the send: map sent too", fact.name()),
        );
    }
    let lists = [Fact::Gaps, Fact::ChunkOffsets, Fact::ChunkTimes];
    let mapped: Vec<&str> = lists.into_iter().filter(|fact| has(*fact)).map(Fact::name).collect();
    if mapped.len() > 1 {
        return fault(at, format!("{} say the same: map one of them", mapped.join(" and ")));
    }
    Ok(())
}

fn column(fact: Fact, item: &Item, at: usize, text: &str) -> Read<Column> {
    let mut column =
        Column { fact, name: String::new(), unit: None, optional: false, words: Vec::new(), at: Some(place(text, at)) };
    match (item.as_str(), item.as_table_like()) {
        (Some(name), _) => column.name = name.to_string(),
        (None, Some(table)) => parts(table, at, text, &mut column)?,
        _ => return fault(at, format!("{} is the name of a column, or {{ column = …, unit = … }}", fact.name())),
    }
    if column.name.is_empty() {
        return fault(at, format!("{} names no column", fact.name()));
    }
    if fact.kind().is_time() {
        column.unit = column.unit.or_else(|| Unit::of_column(&column.name));
    }
    Ok(column)
}

fn parts(table: &dyn TableLike, at: usize, text: &str, column: &mut Column) -> Read<()> {
    let kind = column.fact.kind();
    let meanings: &[&'static str] = match column.fact {
        Fact::Status => &STATUSES,
        Fact::Phase => &PHASES,
        _ => &[],
    };
    let known: Vec<&str> = PARTS.iter().chain(meanings).copied().collect();
    only(table, &known)?;
    let Some((name, name_at)) = string(table, "column")? else {
        return fault(at, format!("{} needs column = \"…\"", column.fact.name()));
    };
    column.name = name.to_string();
    column.at = Some(place(text, name_at));
    if let Some((unit, unit_at)) = string(table, "unit")? {
        let names: Vec<&str> = Unit::ALL.iter().map(|unit| unit.name()).collect();
        let Some(unit) = Unit::from_name(unit) else {
            return fault(unit_at, format!("{unit:?} is no unit of time; known: {}", names.join(", ")));
        };
        if !kind.is_time() {
            return fault(unit_at, format!("{} is no time and has no unit", column.fact.name()));
        }
        if unit == Unit::Iso8601 && matches!(kind, Kind::Duration | Kind::Durations) {
            return fault(unit_at, format!("{} is a duration: its unit is s, ms, us or ns", column.fact.name()));
        }
        column.unit = Some(unit);
    }
    if let Some(item) = table.get("optional") {
        match item.as_bool() {
            Some(optional) => column.optional = optional,
            None => return fault(value_at(table, "optional", item), "optional is true or false"),
        }
    }
    for meaning in meanings {
        column.words.extend(words(table, meaning)?.into_iter().map(|word| (word, *meaning)));
    }
    Ok(())
}

fn words(table: &dyn TableLike, key: &str) -> Read<Vec<String>> {
    let Some(item) = table.get(key) else { return Ok(Vec::new()) };
    let at = value_at(table, key, item);
    let Some(list) = item.as_array() else { return fault(at, format!("{key} is a list of the words that mean it")) };
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(n) => Some(n.value().to_string()),
        Value::Boolean(yes) => Some(yes.value().to_string()),
        _ => None,
    };
    let mut out = Vec::new();
    for value in list {
        match word(value) {
            Some(word) => out.push(word.to_lowercase()),
            None => {
                return fault(value.span().map_or(at, |s| s.start), "a word is a text, a whole number, true or false");
            }
        }
    }
    Ok(out)
}

fn delimiter(root: &dyn TableLike) -> Read<Option<u8>> {
    let Some((text, at)) = string(root, "delimiter")? else { return Ok(None) };
    match text.as_bytes() {
        [byte] if !matches!(byte, b'"' | b'\n' | b'\r') => Ok(Some(*byte)),
        _ => fault(at, "delimiter is one character, such as \",\", \";\" or \"\\t\""),
    }
}

fn run(root: &dyn TableLike) -> Read<RunFacts> {
    let Some(item) = root.get("run") else { return Ok(RunFacts::default()) };
    let Some(table) = item.as_table_like() else { return fault(key_at(root, "run"), "run is a table: [run]") };
    only(table, &RUN)?;
    let text = |key: &str| Ok(string(table, key)?.map(|(text, _)| text.to_string()));
    let number = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => {
            let value = item.as_float().or_else(|| item.as_integer().map(|n| n as f64));
            match value.filter(|v| v.is_finite() && *v > 0.0 && *v < 4e9) {
                Some(value) => Ok(Some(value)),
                None => fault(value_at(table, key, item), format!("{key} is a number above 0")),
            }
        }
    };
    let tokens_by_server = match string(table, "tokens_counted_by")? {
        None => None,
        Some(("server", _)) => Some(true),
        Some(("client", _)) => Some(false),
        Some((_, at)) => return fault(at, "tokens_counted_by is \"server\" or \"client\""),
    };
    Ok(RunFacts {
        tool: text("tool")?,
        version: text("version")?,
        model: text("model")?,
        dataset: text("dataset")?,
        backend: text("backend")?,
        request_rate: number("request_rate")?,
        max_concurrency: number("max_concurrency")?.map(|v| v as u32),
        duration_s: number("duration_s")?,
        tokens_by_server,
    })
}
