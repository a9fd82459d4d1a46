//! A piece of a report, before it is known whether it becomes a terminal table or Markdown.

/// A titled block: sentences, then perhaps a table, then notes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    pub title: String,
    pub lines: Vec<String>,
    pub table: Option<Grid>,
    pub notes: Vec<String>,
}

/// A table: the first column is text, the others are numbers unless marked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Columns that hold text.
    pub text_columns: Vec<usize>,
}

impl Grid {
    pub(crate) fn new(header: &[&str]) -> Grid {
        Grid { header: header.iter().map(|h| h.to_string()).collect(), rows: Vec::new(), text_columns: vec![0] }
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }
}

impl Section {
    pub(crate) fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), ..Section::default() }
    }
}
