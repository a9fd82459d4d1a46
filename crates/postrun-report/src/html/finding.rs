//! Findings, each with its evidence, and each piece of evidence with where it can be seen.

use crate::chart::Picture;
use crate::diagnosis_section::{evidence, measure, severity};
use crate::markup::{escape, with_flags};
use postrun_diagnose::{Diagnosis, Evidence, Finding};
use std::collections::BTreeSet;

/// What a finding can be proved by on this page.
pub(super) struct Proof<'a> {
    /// Start of every id of the run, `r1`.
    pub run: &'a str,
    pub pictures: &'a [Picture<'a>],
    /// Ids of table rows that are there.
    pub rows: &'a BTreeSet<String>,
    /// Requests with a row of their own.
    pub requests: &'a BTreeSet<u32>,
}

/// All findings.
pub(super) fn all(d: &Diagnosis, proof: &Proof<'_>) -> String {
    d.findings.iter().map(|f| one(f, d, proof)).collect()
}

fn one(f: &Finding, d: &Diagnosis, proof: &Proof<'_>) -> String {
    let (run, level) = (proof.run, severity(f.severity));
    let rule = escape(&f.rule);
    let scope = if f.scope == "whole run" { String::new() } else { format!(", {}", escape(&f.scope)) };
    let mut out = format!(
        "<article class=\"finding {level}\" id=\"{run}-f-{rule}\" tabindex=\"-1\">\n\
         <h3><span class=\"badge\">{level}</span> {}</h3>\n\
         <p class=\"meta\"><code>{rule}</code>, {:.0} % sure{scope}</p>\n<dl>\n",
        escape(&sentence(&f.summary)),
        (f.confidence * 100.0).min(99.0),
    );
    let found = |rule: &str| d.findings.iter().any(|f| f.rule == rule);
    if !f.caused_by.is_empty() {
        let links = f.caused_by.iter().map(|rule| match found(rule) {
            true => format!("<a href=\"#{run}-f-{0}\"><code>{0}</code></a>", escape(rule)),
            false => format!("<code>{}</code>", escape(rule)),
        });
        out.push_str(&format!("<dt>Caused by</dt><dd>{}</dd>\n", links.collect::<Vec<_>>().join(", ")));
    }
    if let Some(effect) = &f.effect {
        out.push_str(&format!("<dt>Effect</dt><dd>{}</dd>\n", escape(&sentence(&effect.text))));
    }
    let items: String = f.evidence.iter().map(|e| format!("<li>{}</li>", proved(e, proof))).collect();
    out.push_str(&format!("<dt>Evidence</dt><dd><ul>{items}</ul></dd>\n"));
    if !f.ruled_out.is_empty() {
        out.push_str(&format!("<dt>Not because of</dt><dd>{}</dd>\n", escape(&f.ruled_out.join("; "))));
    }
    if f.caused_by.is_empty() {
        let items: String = f.measures.iter().map(|m| format!("<li>{}</li>", with_flags(&measure(m)))).collect();
        out.push_str(&format!("<dt>Try</dt><dd><ol>{items}</ol></dd>\n"));
    }
    out.push_str("</dl></article>\n");
    out
}

/// A figure with links to its chart, its row and the requests that show it.
fn proved(e: &Evidence, proof: &Proof<'_>) -> String {
    let run = proof.run;
    let mut links = Vec::new();
    if let Some(p) = chart_of(&e.metric, proof.pictures) {
        links.push(format!("<a href=\"#{run}-c-{}\">{}</a>", p.chart.id, escape(&in_a_sentence(p.chart.title))));
    }
    for table in ["latency", "throughput", "server"] {
        let row = format!("{run}-{table}-{}", e.metric);
        if proof.rows.contains(&row) {
            links.push(format!("<a href=\"#{}\">row in the table</a>", escape(&row)));
        }
    }
    let requests = e.requests.iter().filter(|r| proof.requests.contains(r));
    links.extend(requests.map(|r| format!("<a href=\"#{run}-q{r}\">request {r}</a>")));
    let shown =
        if links.is_empty() { String::new() } else { format!(" <span class=\"see\">{}</span>", links.join(" ")) };
    // Requests with a link need no other mention.
    let unlinked = e.requests.iter().filter(|r| !proof.requests.contains(r)).copied().collect();
    format!("{}{shown}", escape(&evidence(&Evidence { requests: unlinked, ..e.clone() })))
}

/// The drawn chart that says most of a figure: the one that names it first.
fn chart_of<'a>(figure: &str, pictures: &'a [Picture<'a>]) -> Option<&'a Picture<'a>> {
    let drawn = pictures.iter().filter(|p| p.missing().is_none());
    let ranked = drawn.filter_map(|p| Some((p.chart.rank_of(figure)?, p)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, p)| p)
}

/// A title without its capital, where that is no short name: `latency over time`, but `TTFT by prompt length`.
fn in_a_sentence(title: &str) -> String {
    let mut chars = title.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => title.to_string(),
    }
}

/// With a capital and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{start}{}{end}", chars.as_str())
}
