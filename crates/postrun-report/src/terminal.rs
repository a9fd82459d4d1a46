//! The report as text for a terminal.

use crate::overview;
use crate::section::{Grid, Section};
use crate::sections::{self, Detail};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use postrun_analysis::RunAnalysis;

/// Below this many columns the outer percentiles and intervals are left out.
const WIDE_FROM: u16 = 110;

/// One rule under the header and nothing else: rows stay close together.
const RULE_UNDER_HEADER: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// How the text is to look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Columns of the terminal, or what is assumed for a pipe.
    pub width: u16,
    /// Bold headings.
    pub styled: bool,
}

/// The report of `runs` as text that ends in a line break.
pub fn to_table(runs: &[RunAnalysis], look: Look) -> String {
    let mut out = String::new();
    let detail = Detail { wide: look.width >= WIDE_FROM };
    if runs.len() > 1 {
        render(&overview::overview(runs, detail), look, &mut out);
    }
    for run in runs {
        for section in sections::of_run(run, detail) {
            render(&section, look, &mut out);
        }
    }
    out
}

fn render(section: &Section, look: Look, out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
    match look.styled {
        true => out.push_str(&format!("\u{1b}[1m{}\u{1b}[0m\n", section.title)),
        false => out.push_str(&format!("{}\n", section.title)),
    }
    for line in &section.lines {
        wrapped(line, look.width, out);
    }
    if let Some(grid) = &section.table {
        out.push_str(&table(grid, look));
        out.push('\n');
    }
    for note in &section.notes {
        wrapped(note, look.width, out);
    }
}

fn table(grid: &Grid, look: Look) -> String {
    let mut table = Table::new();
    table.load_style(RULE_UNDER_HEADER);
    table.set_width(look.width).set_content_arrangement(ContentArrangement::Dynamic);
    let head = |(i, text): (usize, &String)| {
        let cell = Cell::new(text).set_alignment(alignment(grid, i));
        if look.styled { cell.add_attribute(Attribute::Bold) } else { cell }
    };
    table.set_header(grid.header.iter().enumerate().map(head));
    for row in &grid.rows {
        table.add_row(row.iter().enumerate().map(|(i, text)| Cell::new(text).set_alignment(alignment(grid, i))));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn alignment(grid: &Grid, column: usize) -> CellAlignment {
    if grid.text_columns.contains(&column) { CellAlignment::Left } else { CellAlignment::Right }
}

/// `text` in lines of at most `width`, indented from the second on.
fn wrapped(text: &str, width: u16, out: &mut String) {
    let width = usize::from(width).max(20);
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = "  ".to_string();
        } else if !line.is_empty() && line != "  " {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_wrap() {
        let mut out = String::new();
        wrapped("aaaa bbbb cccc dddd eeee ffff", 20, &mut out);
        assert_eq!(out, "aaaa bbbb cccc dddd\n  eeee ffff\n");
    }
}
