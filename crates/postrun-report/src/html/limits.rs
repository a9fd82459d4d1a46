//! What could not be judged, computed or drawn, and which recording would change that; and what was looked at and is clear.

use crate::chart::Picture;
use crate::diagnosis_section::evidence;
use crate::markup::escape;
use crate::report::Report;
use crate::section::Section;
use postrun_schema::counted;

pub(super) fn section(report: &Report, unavailable: Option<&Section>, pictures: &[Picture<'_>], run: &str) -> String {
    let d = &report.diagnosis;
    let mut out = format!("<section id=\"{run}-limits\">\n<h2>What could not be judged</h2>\n");
    let before = out.len();
    if !d.not_checked.is_empty() {
        let item = |n: &postrun_diagnose::NotChecked| {
            format!("<li><code>{}</code>: needs {}</li>", escape(&n.rule), escape(&n.missing.join("; ")))
        };
        let items: String = d.not_checked.iter().map(item).collect();
        out.push_str(&format!("<h3>Rules</h3>\n<ul>{items}</ul>\n"));
    }
    if let Some(section) = unavailable {
        let items: String = section.lines.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
        out.push_str(&format!("<h3>Metrics</h3>\n<ul>{items}</ul>\n"));
    }
    let missing: String = pictures
        .iter()
        .filter_map(|p| Some(format!("<li>{}: {}</li>", escape(p.chart.title), escape(p.missing()?))))
        .collect();
    if !missing.is_empty() {
        out.push_str(&format!("<h3>Charts</h3>\n<ul>{missing}</ul>\n"));
    }
    if out.len() == before {
        out.push_str("<p>Nothing: every rule, metric and chart had what it needs.</p>\n");
    }
    out.push_str("</section>\n");
    if !d.cleared.is_empty() {
        let item = |c: &postrun_diagnose::Cleared| {
            let shown: Vec<String> = c.evidence.iter().map(evidence).collect();
            format!("<li><code>{}</code>: {}</li>", escape(&c.rule), escape(&shown.join("; ")))
        };
        let items: String = d.cleared.iter().map(item).collect();
        out.push_str(&format!(
            "<section id=\"{run}-clear\">\n<h2>Looked at and clear</h2>\n<details><summary>{} found nothing</summary>\n\
             <ul>{items}</ul></details>\n</section>\n",
            counted(d.cleared.len() as u64, "rule")
        ));
    }
    out
}
