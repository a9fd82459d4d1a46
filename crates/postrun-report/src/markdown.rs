//! The report as Markdown that code-hosting sites render.

use crate::diagnosis_section;
use crate::markup::{own_command, steers};
use crate::overview::overview;
use crate::report::{Parts, Reports};
use crate::section::{Grid, Section};
use crate::sections;

/// Columns that curves are drawn for.
const WIDTH: usize = 100;

/// The report of `runs`.
pub fn to_markdown(reports: &Reports, parts: Parts) -> String {
    let mut out = String::from("# postrun report\n");
    let runs = &reports.runs;
    if runs.len() > 1 && parts == Parts::All {
        render(&overview(runs), 2, &mut out);
    }
    if let Some(finding) = &reports.sweep {
        render(&diagnosis_section::sweep(finding), 2, &mut out);
    }
    for run in runs {
        for (i, section) in sections::of_run(run, parts, WIDTH).iter().enumerate() {
            render(section, if i == 0 { 2 } else { 3 }, &mut out);
        }
    }
    out
}

/// Sections under one title.
pub(crate) fn to_markdown_text(title: &str, sections: &[Section]) -> String {
    let mut out = format!("# {}\n", escape(title));
    sections.iter().for_each(|section| render(section, 2, &mut out));
    out
}

pub(crate) fn render(section: &Section, level: usize, out: &mut String) {
    out.push_str(&format!("\n{} {}\n\n", "#".repeat(level), escape(&section.title)));
    for line in section.lines.iter().filter(|line| !line.is_empty()) {
        // What belongs to the line above is indented, and begins with a label.
        let words = |text: &str| escape(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        match line.strip_prefix("  ").map(|rest| rest.split_once("  ")) {
            Some(Some((label, rest))) => out.push_str(&format!("  - **{}**: {}\n", words(label), words(rest))),
            Some(None) => out.push_str(&format!("  - {}\n", words(line))),
            None => out.push_str(&format!("- {}\n", words(line))),
        }
    }
    if let Some(grid) = &section.table {
        if !section.lines.is_empty() {
            out.push('\n');
        }
        table(grid, out);
    }
    if !section.notes.is_empty() {
        out.push('\n');
    }
    for note in &section.notes {
        out.push_str(&format!("{}\n\n", escape(note)));
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
}

fn table(grid: &Grid, out: &mut String) {
    let row = |cells: &[String]| {
        format!("| {} |\n", cells.iter().map(|c| escape(&c.trim().replace('\n', " "))).collect::<Vec<_>>().join(" | "))
    };
    out.push_str(&row(&grid.header));
    let rule = |i| if grid.text_columns.contains(&i) { "---" } else { "---:" };
    out.push_str(&format!("|{}|\n", (0..grid.header.len()).map(rule).collect::<Vec<_>>().join("|")));
    for line in &grid.rows {
        out.push_str(&row(&line.cells));
    }
}

/// Recorded text (labels, models, error messages) must not become markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(command) = own_command(rest) {
            out.push_str(command);
            rest = &rest[command.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '|' | '*' | '&' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            // Who is called `@name` on a forge is sent a message: not for a name that a file holds.
            '@' if rest.starts_with(|c: char| c.is_alphanumeric()) => out.push_str("@&#8203;"),
            '\n' | '\r' => out.push(' '),
            c if steers(c) => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_text_is_no_markup_and_own_commands_are_code() {
        assert_eq!(escape("See `postrun explain stalls`."), "See `postrun explain stalls`.");
        assert_eq!(escape("a\u{1b}[31m\u{202e}b"), "a\\[31mb");
        assert_eq!(escape("ask @everyone at 5 @ 3"), "ask @&#8203;everyone at 5 @ 3");
        assert_eq!(escape("`rm` *x* `postrun <b>`"), "\\`rm\\` \\*x\\* \\`postrun \\<b\\>\\`");
    }
}
