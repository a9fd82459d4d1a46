//! The report and the comparison as one HTML file each, which opens offline: verdict and findings first, each with links to
//! what proves it.
//!
//! Everything is in the file; its content-security policy lets nothing be loaded, and names the one style sheet and the one
//! script by their hashes. The script only adds to a page that says everything without it. Recorded text is escaped.

mod configuration;
mod diff;
mod finding;
mod limits;
mod policy;
mod requests;
mod run;
mod table;
mod windows;

use crate::chart::{self, ChartError, dark_rules};
use crate::diagnosis_section;
use crate::markup::escape;
use crate::overview::overview;
use crate::report::Reports;

pub use diff::diff_to_html;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of all `reports`.
pub fn to_html(reports: &Reports) -> Result<String, ChartError> {
    let title = match reports.runs.as_slice() {
        [one] => format!("{} · postrun report", one.run.manifest.label),
        runs => format!("{} runs · postrun report", runs.len()),
    };
    let mut main = String::new();
    if reports.runs.len() > 1 {
        main.push_str(&several(reports)?);
    }
    for (i, report) in reports.runs.iter().enumerate() {
        main.push_str(&run::section(report, i + 1, reports.runs.len() > 1)?);
    }
    Ok(document(&title, "report", &contents(reports), &main))
}

/// A whole page; `what` it is, in a word.
fn document(title: &str, what: &str, contents: &str, main: &str) -> String {
    let style = format!("{STYLE}@media screen and (prefers-color-scheme:dark){{{}}}\n", dark_rules("svg.chart"));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the {what}</a>\n\
         <header><p class=\"brand\">postrun {what}</p>{contents}</header>\n<main id=\"main\" tabindex=\"-1\">\n{main}</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        policy::content(&style, SCRIPT),
        escape(title),
    )
}

/// Where to go.
fn contents(reports: &Reports) -> String {
    let runs = &reports.runs;
    if runs.len() == 1 {
        let parts = run::PARTS.iter().map(|(id, name)| format!("<li><a href=\"#r1-{id}\">{name}</a></li>"));
        return format!("<nav aria-label=\"Contents\"><ul>{}</ul></nav>", parts.collect::<String>());
    }
    let item = |(i, label): (usize, &str)| format!("<li><a href=\"#r{}\">{}</a></li>", i + 1, escape(label));
    let list: String = runs.iter().map(|r| r.run.manifest.label.as_str()).enumerate().map(item).collect();
    format!("<nav aria-label=\"Runs\"><ul><li><a href=\"#all\">All runs</a></li>{list}</ul></nav>")
}

/// Many runs at a glance, and their sweep.
fn several(reports: &Reports) -> Result<String, ChartError> {
    let mut out = String::from("<section id=\"all\" class=\"run\">\n");
    let mut section = overview(&reports.runs);
    out.push_str(&format!("<h1>{}</h1>\n", escape(&section.title)));
    section.title = "Overview".to_string();
    out.push_str(&table::section(&section, "all-overview", 2, &|i| Some(format!("#r{}", i + 1))));
    if let Some(finding) = &reports.sweep {
        let knee = diagnosis_section::sweep(finding);
        out.push_str(&table::section(&knee, "all-sweep", 2, &|_| None));
    }
    for picture in chart::of_all(reports) {
        out.push_str(&run::picture(&picture, "all")?);
    }
    out.push_str("</section>\n");
    Ok(out)
}
