//! One run as a part of the page.

use super::finding::{self, Proof};
use super::{configuration, limits, requests, table, windows};
use crate::chart::{self, ChartError, Picture};
use crate::diagnosis_section;
use crate::headline::{headline, not_whole};
use crate::markup::{escape, with_flags};
use crate::report::Report;
use crate::section::Section;
use crate::sections;
use postrun_diagnose::Severity;

/// The parts of a run that the contents name.
pub(super) const PARTS: [(&str, &str); 7] = [
    ("verdict", "Verdict"),
    ("findings", "Findings"),
    ("charts", "Charts"),
    ("figures", "Figures"),
    ("requests", "Requests"),
    ("configuration", "Configuration"),
    ("limits", "Not judged"),
];

/// Everything about one run. `several`: there are other runs on the page.
pub(super) fn section(report: &Report, number: usize, several: bool) -> Result<String, ChartError> {
    let a = &report.run;
    let run = format!("r{number}");
    let pictures = chart::of_run(report);
    let figures = sections::figures(report, 0);
    let rows = figures.iter().flat_map(|(id, s)| keys(&format!("{run}-{id}"), s)).collect();
    let requests_shown = a.shapes.iter().flat_map(|s| &s.listed).map(|r| r.request).collect();
    let proof = Proof { run: &run, pictures: &pictures, rows: &rows, requests: &requests_shown };
    let mut out = head(report, &run, several);
    out.push_str(&verdict(report, &run));
    if a.window.is_none() {
        out.push_str(&format!("<section id=\"{run}-findings\">\n<h2>Findings</h2>\n"));
        out.push_str(&match report.diagnosis.findings.is_empty() {
            true => "<p>None.</p>\n".to_string(),
            false => finding::all(&report.diagnosis, &proof),
        });
        out.push_str("</section>\n");
    }
    out.push_str(&format!("<section id=\"{run}-charts\">\n<h2>Charts</h2>\n"));
    for p in &pictures {
        out.push_str(&picture(p, &run)?);
    }
    if pictures.iter().all(|p| p.missing().is_some()) {
        out.push_str(&format!("<p>None can be drawn: <a href=\"#{run}-limits\">why</a>.</p>\n"));
    }
    out.push_str("</section>\n");
    // The table of windows says more than curves of text do.
    out.push_str(&windows::section(a, &run));
    let shown = figures.iter().filter(|(id, _)| !["timeline", "unavailable"].contains(id));
    out.push_str(&format!("<div id=\"{run}-figures\">\n"));
    shown.for_each(|(id, s)| out.push_str(&table::section(s, &format!("{run}-{id}"), 2, &|_| None)));
    out.push_str("</div>\n");
    out.push_str(&requests::section(a, &run));
    out.push_str(&configuration::section(a, &run));
    let unavailable = figures.iter().find(|(id, _)| *id == "unavailable").map(|(_, s)| s);
    out.push_str(&limits::section(report, unavailable, &pictures, &run));
    out.push_str("</section>\n");
    Ok(out)
}

fn keys(id: &str, s: &Section) -> Vec<String> {
    let rows = s.table.iter().flat_map(|t| &t.rows);
    rows.filter_map(|row| Some(format!("{id}-{}", row.key?))).collect()
}

fn head(report: &Report, run: &str, several: bool) -> String {
    let section = headline(&report.run);
    let lost = not_whole(&report.run);
    let class = |l: &String| if Some(l) == lost.as_ref() { " class=\"lost\"" } else { "" };
    let lines: String = section.lines.iter().map(|l| format!("<p{}>{}</p>\n", class(l), escape(l))).collect();
    let back = if several { " <a class=\"back\" href=\"#all\">all runs</a>" } else { "" };
    format!(
        "<section class=\"run\" id=\"{run}\">\n<h1>{}{back}</h1>\n<div class=\"about\">{lines}</div>\n",
        escape(&section.title)
    )
}

/// The verdict, in the colour of the gravest finding.
fn verdict(report: &Report, run: &str) -> String {
    if report.run.window.is_some() {
        return String::new();
    }
    let section = diagnosis_section::verdict(report);
    let gravest = report.diagnosis.findings.iter().map(|f| f.severity).filter(|s| *s > Severity::Info).max();
    // Nothing found where much could not be judged is no good news.
    let quiet = if report.diagnosis.not_checked.is_empty() { "calm" } else { "info" };
    let class = gravest.map_or(quiet, diagnosis_section::severity);
    let lines: String = section.lines.iter().map(|l| format!("<p>{}</p>\n", with_flags(l))).collect();
    format!("<section id=\"{run}-verdict\" class=\"verdict {class}\">\n<h2>Verdict</h2>\n{lines}</section>\n")
}

/// A chart; nothing where its figures are missing, which another section says.
pub(super) fn picture(p: &Picture<'_>, run: &str) -> Result<String, ChartError> {
    let id = format!("{run}-c-{}", p.chart.id);
    match p.inline_svg(&format!("{id}-s")) {
        Some(svg) => Ok(format!("<figure id=\"{id}\" tabindex=\"-1\">{}</figure>\n", svg?)),
        None => Ok(String::new()),
    }
}
