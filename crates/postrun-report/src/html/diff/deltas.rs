//! Every figure of both sides as tables that can be sorted and filtered by verdict.

use crate::diff_sections::{amounts, chosen, verdict_word};
use crate::diff_words::{scope_text, stat_text, why_not};
use crate::markup::escape;
use crate::section::Section;
use crate::wording::{metric_label, unit_name};
use postrun_diff::{Delta, DeltaScope, DeltaVerdict, RunDiff};

/// In the order of a sort by verdict.
const VERDICTS: [DeltaVerdict; 5] = [
    DeltaVerdict::Worse,
    DeltaVerdict::Better,
    DeltaVerdict::Different,
    DeltaVerdict::Inconclusive,
    DeltaVerdict::Same,
];

/// The whole run and the buckets, under the titles of the shorter tables.
pub(super) fn section(d: &RunDiff, (whole, buckets): (Option<&Section>, Option<&Section>)) -> String {
    let of = |all: bool| d.deltas.iter().filter(|x| (x.scope == DeltaScope::All) == all).collect::<Vec<&Delta>>();
    let mut out = String::from("<div id=\"figures\">\n");
    for (section, rows, id) in [(whole, of(true), "whole"), (buckets, of(false), "buckets")] {
        if let (Some(s), false) = (section, rows.is_empty()) {
            out.push_str(&figures(&s.title, &rows, id));
        }
    }
    out.push_str("</div>\n");
    out
}

fn figures(title: &str, rows: &[&Delta], id: &str) -> String {
    let scopes = scopes(rows);
    let bucketed = rows.iter().any(|d| d.scope != DeltaScope::All);
    let bucket = if bucketed { "<th scope=\"col\">tokens</th>" } else { "" };
    let body: String = rows.iter().map(|d| row(d, &scopes, bucketed)).collect();
    format!(
        "<section id=\"{id}\">\n<h2>{0}</h2>\n{1}\
         <div class=\"scroll tall\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\"><table class=\"sortable deltas\" \
         id=\"{id}-deltas\"><caption class=\"hidden\">{0}</caption>\n<thead><tr><th scope=\"col\">figure</th>\
         <th scope=\"col\">statistic</th>{bucket}<th scope=\"col\" class=\"n\">base</th><th scope=\"col\" class=\"n\">candidate</th>\
         <th scope=\"col\" class=\"n\">change</th><th scope=\"col\" class=\"n\">95 % interval</th><th scope=\"col\">verdict</th>\
         <th scope=\"col\">why not more</th></tr></thead>\n<tbody>\n{body}</tbody></table></div>\n\
         <p class=\"note printed\">Printed are the figures that are always shown and those of which something is said.</p>\n\
         </section>\n",
        escape(title),
        controls(rows, &scopes, id),
    )
}

/// The buckets that are there, in their order.
fn scopes(rows: &[&Delta]) -> Vec<DeltaScope> {
    let mut out = Vec::new();
    for d in rows.iter().filter(|d| d.scope != DeltaScope::All) {
        if !out.contains(&d.scope) {
            out.push(d.scope);
        }
    }
    out
}

/// What to filter by; of use with the script alone, which shows it.
fn controls(rows: &[&Delta], scopes: &[DeltaScope], id: &str) -> String {
    let count = |v: DeltaVerdict| rows.iter().filter(|d| d.verdict == v).count();
    let verdict = |v: &DeltaVerdict| match count(*v) {
        0 => String::new(),
        n => format!("<option value=\"{0}\">{0} ({n})</option>", verdict_word(*v)),
    };
    let verdicts: String = VERDICTS.iter().map(verdict).collect();
    let option = |(i, s): (usize, &DeltaScope)| format!("<option value=\"{i}\">{} tokens</option>", scope_text(*s));
    let buckets: String = scopes.iter().enumerate().map(option).collect();
    let by_bucket = match scopes.is_empty() {
        true => String::new(),
        false => format!(
            "<label>Bucket <select data-by=\"bucket\"><option value=\"\">all</option>{buckets}</select></label>"
        ),
    };
    format!(
        "<div class=\"controls\" data-filter=\"{id}-deltas\" hidden>\
         <label>Verdict <select data-by=\"verdict\"><option value=\"\">all</option>{verdicts}</select></label>{by_bucket}\
         <label>Contains <input type=\"search\" autocomplete=\"off\"></label> <output aria-live=\"polite\"></output></div>\n"
    )
}

fn row(d: &Delta, scopes: &[DeltaScope], bucketed: bool) -> String {
    let word = verdict_word(d.verdict);
    let bucket = scopes.iter().position(|s| *s == d.scope);
    let at = bucket.map(|b| format!(" data-bucket=\"{b}\"")).unwrap_or_default();
    let minor = if chosen(d) { "" } else { " class=\"minor\"" };
    let unit = if unit_name(d.metric) == "ms" { " <span class=\"unit\">ms</span>" } else { "" };
    let number = |v: Option<f64>| match v.filter(|v| v.is_finite()) {
        Some(v) => format!(" data-v=\"{v}\""),
        None => String::new(),
    };
    let [base, candidate, change, interval] = amounts(d);
    let order = VERDICTS.iter().position(|v| *v == d.verdict).unwrap_or(VERDICTS.len());
    let tokens = if bucketed {
        format!("<td{}>{}</td>", number(bucket.map(|b| b as f64)), scope_text(d.scope))
    } else {
        String::new()
    };
    format!(
        "<tr data-verdict=\"{word}\"{at}{minor}><th scope=\"row\">{}{unit}</th><td>{}</td>{tokens}\
         <td class=\"n\"{}>{base}</td><td class=\"n\"{}>{candidate}</td><td class=\"n\"{}>{change}</td>\
         <td class=\"n\"{}>{interval}</td><td data-v=\"{order}\"><span class=\"v {word}\">{word}</span></td><td>{}</td></tr>\n",
        escape(metric_label(d.metric)),
        stat_text(&d.stat),
        number(Some(d.base)),
        number(Some(d.candidate)),
        number(d.change_share.or(Some(d.change))),
        number(d.interval_share[0].or(d.interval[0])),
        why_not(d).unwrap_or_default(),
    )
}
