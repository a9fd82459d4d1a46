//! Where a change comes from: along the phases, and on the server.

use super::super::table;
use crate::diff_words::{phase_text, stat_text};
use crate::markup::escape;
use crate::quantity::number;
use crate::section::{Grid, Section};
use crate::wording::metric_label;
use postrun_diff::RunDiff;

/// The sentences, and all parts of each latency; nothing where no latency can be split.
pub(super) fn section(d: &RunDiff, why: Option<&Section>) -> String {
    if d.same_recording || (why.is_none() && d.why.is_empty()) {
        return String::new();
    }
    let title = why.map_or("Where it comes from", |s| s.title.as_str());
    let mut out = format!("<section id=\"why\">\n<h2>{}</h2>\n", escape(title));
    match why {
        Some(s) => out.push_str(&table::lines(&s.lines)),
        None => out.push_str("<p>No latency moved enough to ask.</p>\n"),
    }
    if !d.why.is_empty() {
        out.push_str("<details open><summary>All parts, in ms</summary>");
        out.push_str(&table::grid(&parts(d), "why-parts", "Parts of the latencies, in ms", &|_| None));
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
    out
}

fn parts(d: &RunDiff) -> Grid {
    let mut grid = Grid::new(&["latency", "part", "base", "candidate", "change"]);
    grid.text_columns = vec![0, 1];
    let ms = |ns: f64| number(ns / 1e6);
    for w in &d.why {
        let name = format!("{} {}", metric_label(w.metric), stat_text(w.stat));
        let mut push = |part: &str, base: f64, candidate: f64| {
            let change = candidate - base;
            let sign = if change > 0.0 { "+" } else { "" };
            grid.push(vec![name.clone(), part.to_string(), ms(base), ms(candidate), format!("{sign}{}", ms(change))]);
        };
        push("all of it", w.base, w.candidate);
        w.parts.iter().for_each(|p| push(&phase_text(p.phase), p.base, p.candidate));
    }
    grid
}
