//! The report as text for a terminal.

use crate::diagnosis_section;
use crate::markup::steers;
use crate::overview::overview;
use crate::report::{Parts, Reports};
use crate::section::{Grid, Section};
use crate::sections;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

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
pub fn to_table(reports: &Reports, parts: Parts, look: Look) -> String {
    let mut out = String::new();
    let runs = &reports.runs;
    if runs.len() > 1 && parts == Parts::All {
        render(&overview(runs), look, &mut out);
    }
    if let Some(finding) = &reports.sweep {
        render(&diagnosis_section::sweep(finding), look, &mut out);
    }
    for run in runs {
        for section in sections::of_run(run, parts, usize::from(look.width)) {
            render(&section, look, &mut out);
        }
    }
    out
}

/// Sections one after the other.
pub(crate) fn to_text(sections: &[Section], look: Look) -> String {
    let mut out = String::new();
    sections.iter().for_each(|section| render(section, look, &mut out));
    out
}

pub(crate) fn render(section: &Section, look: Look, out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
    let title = printable(&section.title);
    match look.styled {
        true => out.push_str(&format!("\u{1b}[1m{title}\u{1b}[0m\n")),
        false => out.push_str(&format!("{title}\n")),
    }
    for line in &section.lines {
        wrap(&printable(line), usize::from(look.width), out);
    }
    if let Some(grid) = &section.table {
        let width = usize::from(look.width);
        let fitted = grid.fitted(width);
        out.push_str(&table(&fitted, look));
        out.push('\n');
        if let Some(said) = grid.columns_left_out(&fitted, width) {
            wrap(&said, width, out);
        }
    }
    for note in &section.notes {
        wrap(&printable(note), usize::from(look.width), out);
    }
}

fn table(grid: &Grid, look: Look) -> String {
    let mut table = Table::new();
    table.load_style(RULE_UNDER_HEADER).set_content_arrangement(ContentArrangement::Disabled);
    let head = |(i, text): (usize, &String)| {
        let cell = Cell::new(head_text(text)).set_alignment(alignment(grid, i));
        if look.styled { cell.add_attribute(Attribute::Bold) } else { cell }
    };
    table.set_header(grid.header.iter().enumerate().map(head));
    for row in &grid.rows {
        let cells = row.cells.iter().enumerate();
        table.add_row(cells.map(|(i, text)| Cell::new(printable(text)).set_alignment(alignment(grid, i))));
    }
    let last = grid.header.len().saturating_sub(1);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, u16::from(i < last)));
    }
    if look.styled {
        table.enforce_styling();
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn alignment(grid: &Grid, column: usize) -> CellAlignment {
    if grid.text_columns.contains(&column) { CellAlignment::Left } else { CellAlignment::Right }
}

/// A header of two lines stays one.
fn head_text(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Recorded text may hold anything; what would steer the terminal is shown as `�`.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '\n' || c == '\t' {
                ' '
            } else if steers(c) {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// `text` in lines of at most `width`, indented by two more from the second on. A number keeps its `%`.
pub fn wrap(text: &str, width: usize, out: &mut String) {
    let width = width.max(20);
    let text = text.trim_end();
    let first = text.len() - text.trim_start_matches(' ').len();
    let (mut line, mut empty) = (" ".repeat(first), true);
    for word in text[first..].replace(" %", "\u{0}%").split(' ') {
        let word = word.replace('\u{0}', " ");
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(line.trim_end());
            out.push('\n');
            (line, empty) = (" ".repeat(first + 2), true);
        }
        if !empty {
            line.push(' ');
        }
        empty = false;
        line.push_str(&word);
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
        wrap("aaaa bbbb cccc dddd eeee ffff", 20, &mut out);
        assert_eq!(out, "aaaa bbbb cccc dddd\n  eeee ffff\n");
        let mut out = String::new();
        wrap("  label     bbbb cccc", 20, &mut out);
        assert_eq!(out, "  label     bbbb\n    cccc\n");
        let mut out = String::new();
        wrap("ramp-up is about 12 % of it", 20, &mut out);
        assert_eq!(out, "ramp-up is about\n  12 % of it\n");
    }

    #[test]
    fn recorded_text_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\nd"), "a\u{fffd}[31mb\u{fffd}c d");
    }
}
