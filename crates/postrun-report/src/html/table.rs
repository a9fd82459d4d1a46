//! Sections and tables as HTML.

use crate::markup::{escape, with_commands};
use crate::section::{Grid, Section};

/// Where the first cell of row `i` leads, if anywhere.
pub(super) type RowLink<'a> = &'a dyn Fn(usize) -> Option<String>;

/// A section with a heading of `level`.
pub(super) fn section(s: &Section, id: &str, level: usize, link: RowLink<'_>) -> String {
    let mut out = format!("<section id=\"{id}\">\n<h{level}>{}</h{level}>\n", escape(&s.title));
    out.push_str(&lines(&s.lines));
    if let Some(table) = &s.table {
        out.push_str(&grid(table, id, &s.title, link));
    }
    s.notes.iter().for_each(|note| out.push_str(&format!("<p class=\"note\">{}</p>\n", with_commands(note))));
    out.push_str("</section>\n");
    out
}

/// Sentences; what is indented belongs to the one before, and may begin with a label.
pub(super) fn lines(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines.iter().filter(|l| !l.is_empty()) {
        let words = |text: &str| with_commands(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        out.push_str(&match line.strip_prefix("  ").map(|rest| rest.split_once("  ")) {
            Some(Some((label, rest))) if !label.is_empty() => {
                format!("<p class=\"more\"><b>{}</b> {}</p>\n", words(label), words(rest))
            }
            Some(_) => format!("<p class=\"more\">{}</p>\n", words(line)),
            None => format!("<p>{}</p>\n", words(line)),
        });
    }
    out
}

/// A table whose columns of numbers can be sorted. Rows with a key can be linked to as `<id>-<key>`.
pub(super) fn grid(g: &Grid, id: &str, caption: &str, link: RowLink<'_>) -> String {
    let mut out = format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\"><table class=\"sortable\">\
         <caption class=\"hidden\">{0}</caption>\n<thead><tr>",
        escape(caption)
    );
    let class = |c: usize| if g.text_columns.contains(&c) { "" } else { " class=\"n\"" };
    for (c, name) in g.header.iter().enumerate() {
        let name = name.trim().replace('\n', " ");
        let shown = if name.is_empty() { "<span class=\"hidden\">name</span>".to_string() } else { escape(&name) };
        out.push_str(&format!("<th scope=\"col\"{}>{shown}</th>", class(c)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (i, row) in g.rows.iter().enumerate() {
        let anchor = row.key.map(|key| format!(" id=\"{id}-{key}\" tabindex=\"-1\"")).unwrap_or_default();
        out.push_str(&format!("<tr{anchor}{}>", if row.detail { " class=\"detail\"" } else { "" }));
        for (c, cell) in row.cells.iter().enumerate() {
            let mut text = escape(cell.trim());
            if g.text_columns.contains(&c) {
                // Ids and names of files may wrap, and not push the last column out of sight.
                text = text.replace('_', "_<wbr>");
            }
            match (c, link(i)) {
                (0, Some(to)) => out.push_str(&format!("<th scope=\"row\"><a href=\"{to}\">{text}</a></th>")),
                (0, None) => out.push_str(&format!("<th scope=\"row\">{text}</th>")),
                _ => out.push_str(&format!("<td{}>{text}</td>", class(c))),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}
