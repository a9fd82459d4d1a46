//! A piece of a report, before it is known whether it becomes a terminal table or Markdown.

use std::collections::BTreeSet;

/// A titled block: sentences, then perhaps a table, then notes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    pub title: String,
    pub lines: Vec<String>,
    pub table: Option<Grid>,
    pub notes: Vec<String>,
}

/// A table. A header may have two lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    pub header: Vec<String>,
    pub rows: Vec<Row>,
    /// Columns that hold text and are aligned left.
    pub text_columns: Vec<usize>,
    /// Where the table is too wide, these columns go, the first one first.
    pub drop_order: Vec<usize>,
}

/// A row of cells, as many as the header has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub cells: Vec<String>,
    /// Goes before any column does.
    pub detail: bool,
    /// What it is about, where something may point to it: a metric id.
    pub key: Option<&'static str>,
}

impl Grid {
    pub(crate) fn new(header: &[&str]) -> Grid {
        Grid { header: header.iter().map(|h| h.to_string()).collect(), text_columns: vec![0], ..Grid::default() }
    }

    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(Row { cells, ..Row::default() });
    }

    /// A row about a metric.
    pub(crate) fn push_about(&mut self, key: &'static str, cells: Vec<String>) {
        self.rows.push(Row { cells, detail: false, key: Some(key) });
    }

    pub(crate) fn push_detail(&mut self, cells: Vec<String>) {
        self.rows.push(Row { cells, detail: true, key: None });
    }

    /// Columns needed with the gap between the cells.
    pub(crate) fn width(&self) -> usize {
        let columns = 0..self.header.len();
        columns.map(|c| self.column_width(c) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    pub(crate) fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|r| r.cells.get(column)).chain(self.header.get(column));
        cells.flat_map(|cell| cell.lines()).map(|line| line.chars().count()).max().unwrap_or(0)
    }

    /// What fits into `width`: without detail rows, then without the columns that may go, then with a shorter first
    /// column. Never breaks a cell.
    pub(crate) fn fitted(&self, width: usize) -> Grid {
        let mut grid = self.clone();
        if grid.width() > width {
            grid.rows.retain(|r| !r.detail);
        }
        for dropped in &self.drop_order {
            if grid.width() <= width {
                break;
            }
            // Positions in `drop_order` are those of the full table.
            let gone = |kept: &Grid| self.header.iter().take(*dropped).filter(|h| kept.header.contains(h)).count();
            let at = gone(&grid);
            grid.header.remove(at);
            grid.rows.iter_mut().for_each(|r| drop(r.cells.remove(at)));
            grid.text_columns =
                grid.text_columns.iter().filter(|c| **c != at).map(|c| c - usize::from(*c > at)).collect();
        }
        let over = grid.width().saturating_sub(width);
        if over > 0 {
            let most = grid.column_width(0).saturating_sub(over).max(SHORTEST_LABEL);
            let labels: Vec<String> =
                self.rows.iter().filter(|r| !r.detail).filter_map(|r| r.cells.first().cloned()).collect();
            let short = shorten_apart(&labels, most);
            let cells = grid.rows.iter_mut().filter_map(|r| r.cells.first_mut());
            cells.zip(short).for_each(|(cell, short)| *cell = short);
        }
        grid
    }

    /// The names of the columns that `fitted` leaves out, as a sentence of what to do about it.
    pub(crate) fn columns_left_out(&self, fitted: &Grid, width: usize) -> Option<String> {
        let gone = self.header.len().checked_sub(fitted.header.len()).filter(|n| *n > 0)?;
        let mut gone: Vec<usize> = self.drop_order.iter().copied().take(gone).collect();
        gone.sort_unstable();
        let names: Vec<String> =
            gone.iter().filter_map(|c| self.header.get(*c)).map(|h| h.replace('\n', " ").trim().to_string()).collect();
        let needed = self.width();
        Some(format!("Not shown at {width} columns: {} (COLUMNS={needed} shows all).", names.join(", ")))
    }
}

/// Labels of at most `most` characters, the middles of the longer ones left out so that different ones stay different.
fn shorten_apart(labels: &[String], most: usize) -> Vec<String> {
    let different = |short: &[String]| {
        let pairs: BTreeSet<(&String, &String)> = labels.iter().zip(short).collect();
        pairs.len() == short.iter().collect::<BTreeSet<_>>().len()
    };
    let cut = |head: usize| -> Vec<String> { labels.iter().map(|l| cut_middle(l, head, most)).collect() };
    // The usual cut first, then those nearest to it.
    let usual = most / 2;
    let heads = (0..most).flat_map(|by| [usual.checked_sub(by), Some(usual + by).filter(|h| *h < most)]);
    let apart = heads.flatten().map(cut).find(|short| different(short));
    apart.unwrap_or_else(|| {
        let distinct: Vec<&String> = labels.iter().collect::<BTreeSet<_>>().into_iter().collect();
        let numbered = |label: &String| {
            let at = distinct.iter().position(|l| *l == label).unwrap_or(0) + 1;
            let mark = format!(" #{at}");
            format!("{}{mark}", ellipsis(label, most.saturating_sub(mark.len()).max(1)))
        };
        labels.iter().map(numbered).collect()
    })
}

const SHORTEST_LABEL: usize = 8;
/// Between two columns: the table's separator and a padding.
const GAP: usize = 2;

/// `text` with its middle left out where it is longer than `most` characters.
pub(crate) fn ellipsis(text: &str, most: usize) -> String {
    cut_middle(text, most / 2, most)
}

/// The same with `head` characters before what is left out.
fn cut_middle(text: &str, head: usize, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_string();
    }
    let head = head.min(most.saturating_sub(1));
    let tail = most.saturating_sub(head + 1);
    let (start, end): (String, String) = (chars[..head].iter().collect(), chars[chars.len() - tail..].iter().collect());
    format!("{start}…{end}")
}

impl Section {
    pub(crate) fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), ..Section::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shrinks_in_order() {
        let mut grid = Grid::new(&["name", "a", "b", "c"]);
        grid.drop_order = vec![2, 1];
        grid.push(["a-long-name", "1111", "2222", "3333"].map(String::from).to_vec());
        grid.push_detail(["", "", "22222222", ""].map(String::from).to_vec());
        assert_eq!(grid.width(), 11 + 2 + 4 + 2 + 8 + 2 + 4);
        assert_eq!(grid.fitted(29).header, ["name", "a", "b", "c"]);
        assert_eq!(grid.fitted(29).rows.len(), 1);
        assert_eq!(grid.fitted(24).header, ["name", "a", "c"]);
        assert_eq!(grid.fitted(18).header, ["name", "c"]);
        assert_eq!(grid.fitted(15).rows[0].cells, ["a-lo…name", "3333"]);
        let said = |width: usize| grid.columns_left_out(&grid.fitted(width), width);
        assert_eq!(said(29), None);
        assert_eq!(said(18).unwrap(), "Not shown at 18 columns: a, b (COLUMNS=33 shows all).");
    }

    #[test]
    fn shorter_labels_stay_different() {
        let short =
            |labels: &[&str], most| shorten_apart(&labels.iter().map(|l| l.to_string()).collect::<Vec<_>>(), most);
        assert_eq!(short(&["abcdefghij", "abc"], 7), ["abc…hij", "abc"]);
        assert_eq!(short(&["run-tp2-long-c16", "run-tp4-long-c16"], 9), ["run-tp2…6", "run-tp4…6"]);
        assert_eq!(short(&["aaaaaaaa1bbbbbbbb", "aaaaaaaa2bbbbbbbb"], 8), ["aa…bb #1", "aa…bb #2"]);
        // Equal ones stay equal: rows of one figure.
        assert_eq!(short(&["abcdefghij", "abcdefghij"], 7), ["abc…hij", "abc…hij"]);
    }
}
