//! Results that stand in rows: CSV, SQL statements, and the table that is printed for people.

use super::KEYS;
use crate::json::{Tree, number};
use crate::mapping::heading_of;
use memchr::memmem::find;
use postrun_schema::IssueCode;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    Sql,
    Markdown,
}

impl Form {
    /// By the beginning of a file; `None`: JSON, or something else.
    pub(super) fn of(head: &[u8]) -> Option<Form> {
        let holds = |word: &str| find(head, word.as_bytes()).is_some();
        if is_heading(&heading_of(head, Some(b','))) {
            return Some(Form::Csv);
        }
        if holds("INSERT INTO") && holds("CREATE TABLE") && KEYS.iter().all(|key| holds(key)) {
            return Some(Form::Sql);
        }
        let lines = head.split(|b| *b == b'\n').map(String::from_utf8_lossy);
        lines.into_iter().any(|line| is_printed_heading(&between_bars(&line))).then_some(Form::Markdown)
    }
}

fn is_heading(cells: &[String]) -> bool {
    KEYS.iter().all(|key| cells.iter().any(|cell| cell == key))
}

fn is_printed_heading(cells: &[String]) -> bool {
    let has = |name: &str| cells.iter().any(|cell| cell == name);
    cells.first().is_some_and(|first| first == "model") && has("test") && has("t/s")
}

/// What is wrong with a row.
type Problem = (IssueCode, String);

/// Rows with the names of their cells.
pub(super) struct Table {
    form: Form,
    heading: Vec<String>,
}

impl Table {
    pub(super) fn of(form: Form) -> Table {
        Table { form, heading: Vec::new() }
    }

    /// The members of the test that a line holds, under their names in JSON; `None`: it holds none.
    pub(super) fn row(&mut self, line: &str, unfinished: bool) -> Result<Option<Tree>, Problem> {
        let cut = |end: char| match unfinished && !line.trim_end().ends_with(end) {
            true => Err((IssueCode::TruncatedRecord, "the file ends inside a row".to_string())),
            false => Ok(()),
        };
        let (names, cells) = match self.form {
            Form::Csv => {
                let cells = csv_cells(line);
                if cells.iter().all(|cell| cell.trim().is_empty()) {
                    return Ok(None);
                }
                if self.heading.is_empty() || is_heading(&cells) {
                    self.heading = cells;
                    return Ok(None);
                }
                cut('"')?;
                (self.heading.clone(), cells)
            }
            Form::Sql => {
                let Some(statement) = line.trim_start().strip_prefix("INSERT INTO") else { return Ok(None) };
                cut(';')?;
                statement_cells(statement)
                    .ok_or((IssueCode::BadRecord, "not a list of names and values".to_string()))?
            }
            Form::Markdown => {
                let cells = between_bars(line);
                if is_printed_heading(&cells) {
                    self.heading = cells;
                    return Ok(None);
                }
                let is_rule = cells.iter().all(|cell| cell.trim_matches(['-', ':']).is_empty());
                if self.heading.is_empty() || !line.trim_start().starts_with('|') || is_rule {
                    return Ok(None);
                }
                cut('|')?;
                (self.heading.clone(), cells)
            }
        };
        if cells.len() != names.len() {
            return Err((IssueCode::BadRecord, format!("{} cells below {} names", cells.len(), names.len())));
        }
        let members = names.into_iter().zip(cells);
        Ok(Some(Tree::Map(match self.form {
            Form::Markdown => members.flat_map(|(name, cell)| printed(&name, cell)).collect(),
            _ => members.map(|(name, cell)| (name, value(cell))).collect(),
        })))
    }
}

fn value(cell: String) -> Tree {
    match number(cell.as_bytes()) {
        Some(_) => Tree::Number(cell),
        None => Tree::Text(cell),
    }
}

fn csv_cells(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(|record| record.ok()).unwrap_or_default();
    record.iter().map(|cell| cell.trim_start_matches('\u{feff}').to_string()).collect()
}

/// Names and values of `table (a, b) VALUES ('x', 'y');`. Quotes inside a value are not doubled.
fn statement_cells(statement: &str) -> Option<(Vec<String>, Vec<String>)> {
    let (names, values) = statement.split_once("VALUES")?;
    let names = names.split_once('(')?.1.rsplit_once(')')?.0;
    let values = values.split_once("('")?.1.rsplit_once("')")?.0;
    let list = |text: &str, between: &str| text.split(between).map(|cell| cell.trim().to_string()).collect();
    Some((list(names, ","), list(values, "', '")))
}

/// Cells of a row of a Markdown table.
fn between_bars(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().to_string()).collect()
}

/// A cell of the printed table, as JSON would have it.
fn printed(name: &str, cell: String) -> Vec<(String, Tree)> {
    let count = |name: &str, n: u32| (name.to_string(), Tree::Number(n.to_string()));
    match name {
        "test" => match tested(&cell) {
            Some((prompt, output, depth)) => {
                vec![count("n_prompt", prompt), count("n_gen", output), count("n_depth", depth)]
            }
            None => Vec::new(),
        },
        "t/s" => {
            let (mean, spread) = cell.split_once('±').unwrap_or((&cell, ""));
            let figures = [("avg_ts", mean), ("stddev_ts", spread)].map(|(name, text)| (name, text.trim()));
            let known = figures.into_iter().filter(|(_, text)| !text.is_empty());
            known.map(|(name, text)| (name.to_string(), value(text.to_string()))).collect()
        }
        "model" => vec![("model_type".to_string(), Tree::Text(cell))],
        "backend" => vec![("backends".to_string(), Tree::Text(cell))],
        name => vec![(name.to_string(), value(cell))],
    }
}

/// Prompt, tokens and context before of `pp 512`, `tg128`, `pp512+tg128 @ d4096`.
fn tested(test: &str) -> Option<(u32, u32, u32)> {
    let (what, depth) = match test.split_once('@') {
        Some((what, depth)) => (what, depth.trim().strip_prefix('d')?.trim().parse().ok()?),
        None => (test, 0),
    };
    let (mut prompt, mut output) = (0, 0);
    for part in what.split('+').map(str::trim) {
        match (part.strip_prefix("pp"), part.strip_prefix("tg")) {
            (Some(n), _) => prompt = n.trim().parse().ok()?,
            (_, Some(n)) => output = n.trim().parse().ok()?,
            _ => return None,
        }
    }
    Some((prompt, output, depth))
}
