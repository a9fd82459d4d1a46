//! The requests worth naming, as a table that can be sorted and filtered.

use crate::markup::escape;
use crate::pause_section::words;
use crate::quantity::{ms, seconds};
use crate::wording::token_range;
use postrun_analysis::{BucketResult, ListedRequest, RequestOutcome, RunAnalysis, StallClass};
use postrun_schema::counted;

/// Longest part of an error text that is shown.
const ERROR_CHARS: usize = 300;

/// A column: its heading, and the value of a request with what it sorts by.
type Column = (&'static str, fn(&ListedRequest) -> Option<(f64, String)>);

fn time(ns: Option<f64>) -> Option<(f64, String)> {
    ns.map(|ns| (ns, ms(ns)))
}

fn count(n: Option<u32>) -> Option<(f64, String)> {
    n.map(|n| (f64::from(n), n.to_string()))
}

const COLUMNS: [Column; 10] = [
    ("sent at", |r| r.sent_ns.map(|ns| (ns as f64, seconds(ns as f64 / 1e9)))),
    ("prompt tokens", |r| count(r.prompt_tokens)),
    ("output tokens", |r| count(r.output_tokens)),
    ("E2E ms", |r| time(r.e2e_ns)),
    ("TTFT ms", |r| time(r.ttft_ns)),
    ("TPOT ms", |r| time(r.tpot_ns)),
    ("queue ms", |r| time(r.queue_ns)),
    ("prefill ms", |r| time(r.prefill_ns)),
    ("decode ms", |r| time(r.decode_ns)),
    ("longest pause ms", |r| r.pauses.iter().map(|p| p.length_ns).max().map(|ns| (ns as f64, ms(ns as f64)))),
];

/// The table; nothing where no request is known by itself.
pub(super) fn section(a: &RunAnalysis, run: &str) -> String {
    let Some(rows) = a.shapes.as_ref().map(|s| &s.listed).filter(|rows| !rows.is_empty()) else {
        return String::new();
    };
    let shown: Vec<&Column> = COLUMNS.iter().filter(|(_, get)| rows.iter().any(|r| get(r).is_some())).collect();
    let ids = rows.iter().any(|r| r.request_id.is_some());
    let notes = rows.iter().any(|r| note(r).is_some());
    let mut out = format!(
        "<section id=\"{run}-requests\">\n<h2>Requests worth a look</h2>\n\
         <p>{} of {}: the slowest by each measure, those held up longest, and the first that failed.</p>\n",
        rows.len(),
        counted(a.requests.total, "request")
    );
    out.push_str(&controls(a, run));
    out.push_str(&format!(
        "<div class=\"scroll tall\" role=\"region\" tabindex=\"0\" aria-label=\"Requests worth a look\">\
         <table class=\"sortable requests\" id=\"{run}-slowest\"><caption class=\"hidden\">Requests worth a look, slowest first\
         </caption>\n<thead><tr><th scope=\"col\">request</th>"
    ));
    if ids {
        out.push_str("<th scope=\"col\" class=\"id\">id</th>");
    }
    shown.iter().for_each(|(name, _)| out.push_str(&format!("<th scope=\"col\" class=\"n\">{name}</th>")));
    if notes {
        out.push_str("<th scope=\"col\">what happened</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    rows.iter().for_each(|r| out.push_str(&row(a, r, run, (&shown, ids, notes))));
    out.push_str("</tbody></table></div>\n</section>\n");
    out
}

/// What to filter by; of use with the script alone, which shows it.
fn controls(a: &RunAnalysis, run: &str) -> String {
    let option = |(i, b): (usize, &BucketResult)| {
        format!("<option value=\"{i}\">{} prompt tokens</option>", escape(&token_range(b.lo, b.hi)))
    };
    let buckets: String = a.buckets.iter().enumerate().map(option).collect();
    format!(
        "<div class=\"controls\" data-filter=\"{run}-slowest\" hidden>\
         <label>Contains <input type=\"search\" autocomplete=\"off\"></label>\
         <label>Bucket <select data-by=\"bucket\"><option value=\"\">all</option>{buckets}</select></label>\
         <label>Outcome <select data-by=\"outcome\"><option value=\"\">all</option><option>ok</option>\
         <option>failed</option><option>incomplete</option></select></label> \
         <output aria-live=\"polite\"></output></div>\n"
    )
}

fn row(a: &RunAnalysis, r: &ListedRequest, run: &str, (shown, ids, notes): (&[&Column], bool, bool)) -> String {
    let outcome = match r.outcome {
        RequestOutcome::Ok => "ok",
        RequestOutcome::Failed => "failed",
        RequestOutcome::Incomplete => "incomplete",
    };
    let inside = |b: &BucketResult| match (b.lo, r.prompt_tokens) {
        (Some(lo), Some(n)) => lo <= n && b.hi.is_none_or(|hi| n < hi),
        (None, None) => true,
        _ => false,
    };
    let bucket = a.buckets.iter().position(inside).map(|b| format!(" data-bucket=\"{b}\"")).unwrap_or_default();
    let mut out = format!(
        "<tr id=\"{run}-q{0}\" tabindex=\"-1\" data-outcome=\"{outcome}\"{bucket}><th scope=\"row\">{0}</th>",
        r.request
    );
    if ids {
        let id = escape(r.request_id.as_deref().unwrap_or("-"));
        out.push_str(&format!("<td class=\"id\" title=\"{id}\">{id}</td>"));
    }
    for (_, get) in shown {
        match get(r) {
            Some((value, text)) => out.push_str(&format!("<td class=\"n\" data-v=\"{value}\">{}</td>", escape(&text))),
            None => out.push_str("<td class=\"n\">-</td>"),
        }
    }
    if notes {
        out.push_str(&format!("<td>{}</td>", escape(&note(r).unwrap_or_default())));
    }
    out.push_str("</tr>\n");
    out
}

/// How it failed, or what held it up.
fn note(r: &ListedRequest) -> Option<String> {
    if r.outcome != RequestOutcome::Ok {
        let ended = if r.outcome == RequestOutcome::Failed { "failed" } else { "incomplete" };
        let text: String = r.error.as_deref().unwrap_or_default().chars().take(ERROR_CHARS).collect();
        return Some(if text.is_empty() { ended.to_string() } else { format!("{ended}: {text}") });
    }
    let of = |class: StallClass| {
        let n = r.pauses.iter().filter(|p| p.class == class).count();
        (n > 0).then(|| format!("{n}× {}", words(class)))
    };
    let parts: Vec<String> = StallClass::ALL.into_iter().filter_map(of).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
