//! Which column of a table of requests holds which fact: a mapping, from a TOML file or from the columns' own names.

mod fact;
mod file;
mod own;
#[cfg(test)]
mod tests;
mod unit;

pub(crate) use fact::{FACTS, Fact, Kind};
pub(crate) use own::{own_columns, own_fact};
pub(crate) use unit::Unit;

use crate::error::IngestError;
use crate::ingestor::Head;

/// The nearest of `known`, as a question.
pub(crate) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let likeness = |k: &str| strsim::jaro_winkler(&word.to_lowercase(), &k.to_lowercase());
    let near = known.into_iter().map(|k| (likeness(k), k)).filter(|(score, _)| *score >= 0.75);
    let best = near.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    best.map_or(String::new(), |(_, k)| format!("; did you mean {k:?}?"))
}

/// Where something stands in a mapping file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: usize,
    pub column: usize,
}

/// One fact and the column that holds it.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub fact: Fact,
    /// Name in the heading, or the path of the member: `usage.prompt_tokens`.
    pub name: String,
    pub unit: Option<Unit>,
    /// May be absent from the file.
    pub optional: bool,
    /// What the words of this column mean, where the mapping says: the word and the name of its meaning.
    pub words: Vec<(String, &'static str)>,
    /// `None`: found by its own name.
    pub at: Option<Place>,
}

/// Whether such columns make a recording of requests: something took its time, or at least sends and lengths are there, a workload.
pub(crate) fn tell_requests(columns: &[Column]) -> bool {
    let has = |fact: Fact| columns.iter().any(|c| c.fact == fact);
    let latency = columns.iter().any(|c| c.fact.is_latency());
    latency || (has(Fact::Sent) && (has(Fact::PromptTokens) || has(Fact::OutputTokens)))
}

/// What the mapping says of the run as a whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunFacts {
    pub tool: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
    pub dataset: Option<String>,
    pub backend: Option<String>,
    pub request_rate: Option<f64>,
    pub max_concurrency: Option<u32>,
    pub duration_s: Option<f64>,
    /// Who counted tokens: true the server, false the client.
    pub tokens_by_server: Option<bool>,
}

/// The columns of a stranger's table, and what they are.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// As named by the user; `None`: the columns carry postrun's own names.
    pub(crate) file: Option<String>,
    pub(crate) columns: Vec<Column>,
    /// Path of the list of rows inside one JSON object.
    pub(crate) rows: Option<String>,
    /// What separates the cells of a CSV; `None`: told by its heading.
    pub(crate) delimiter: Option<u8>,
    pub(crate) run: RunFacts,
}

impl Mapping {
    /// Reads a mapping file; the error says file, line and column.
    pub fn from_toml(file: &str, text: &str) -> Result<Mapping, IngestError> {
        file::read(file, text)
    }

    /// The mapping of columns that carry postrun's own names.
    pub(crate) fn of_own_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Mapping {
        Mapping { columns: own_columns(names), ..Mapping::default() }
    }

    /// An error about a column of the mapping, with its place where there is one.
    pub(crate) fn fault(&self, data: &str, column: Option<&Column>, message: String) -> IngestError {
        match (&self.file, column.and_then(|c| c.at)) {
            (Some(file), Some(at)) => {
                IngestError::Mapping { file: file.clone(), line: at.line, column: at.column, message }
            }
            _ => IngestError::Column { file: data.to_string(), message },
        }
    }

    /// A column that is not in the data, with the nearest of those that are.
    pub(crate) fn missing(&self, data: &str, column: &Column, known: &[String]) -> IngestError {
        let hint = suggestion(&column.name, known.iter().map(String::as_str));
        let shown: Vec<String> = known.iter().take(12).map(|name| format!("{name:?}")).collect();
        let more = if known.len() > shown.len() { ", …" } else { "" };
        let fact = column.fact.name();
        let message =
            format!("{data} has no column {:?} for {fact}{hint} (it has {}{more})", column.name, shown.join(", "));
        self.fault(data, Some(column), message)
    }

    /// May this file be the one that the mapping was written for?
    pub(crate) fn fits(&self, head: &Head) -> bool {
        if head.bytes.starts_with(PARQUET_MAGIC) {
            return true;
        }
        if let Some(rows) = &self.rows {
            return head.keys.contains(first_part(rows));
        }
        let names: Vec<String> = match head.keys.is_empty() {
            true => heading_of(head.bytes, self.delimiter),
            false => head.keys.iter().cloned().collect(),
        };
        let there = |name: &str| names.iter().any(|n| n == name || n == first_part(name));
        let found = self.columns.iter().filter(|c| there(&c.name)).count();
        found > 0 && found * 2 >= self.columns.iter().filter(|c| !c.optional).count()
    }
}

/// The first bytes of a Parquet file.
pub(crate) const PARQUET_MAGIC: &[u8] = b"PAR1";

fn first_part(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// Cells of the first line, without a byte order mark and quotes.
pub(crate) fn heading_of(bytes: &[u8], delimiter: Option<u8>) -> Vec<String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let delimiter = delimiter.unwrap_or_else(|| delimiter_of(line));
    let cells = line.split(|b| *b == delimiter);
    cells.map(|cell| String::from_utf8_lossy(cell).trim().trim_matches('"').to_string()).collect()
}

/// What occurs most often in the heading: a comma, a semicolon or a tab.
pub(crate) fn delimiter_of(line: &[u8]) -> u8 {
    let count = |byte: u8| line.iter().filter(|b| **b == byte).count();
    // The last of equals wins: a comma where there is none of the three.
    b"\t;,".iter().copied().max_by_key(|byte| count(*byte)).unwrap_or(b',')
}
