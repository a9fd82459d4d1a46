//! The run over time as a table, from which the script draws curves that can be zoomed.

use crate::markup::escape;
use crate::quantity::{ms, number, seconds};
use postrun_analysis::{RunAnalysis, Timeline, TimelineWindow};
use postrun_schema::counted;

/// A column: its heading with the unit, and a window's value.
type Column = (&'static str, fn(&TimelineWindow, f64) -> Option<f64>);

const COLUMNS: [Column; 12] = [
    ("in flight", |w, _| w.mean_concurrency),
    ("sent, req/s", |w, s| Some(w.sent as f64 / s)),
    ("ended, req/s", |w, s| Some(w.ended? as f64 / s)),
    ("output, tok/s", |w, _| w.output_tokens_per_s),
    ("TTFT P50, ms", |w, _| w.ttft.as_ref()?.stat("p50").map(|v| v / 1e6)),
    ("TTFT P95, ms", |w, _| w.ttft.as_ref()?.stat("p95").map(|v| v / 1e6)),
    ("ITL P50, ms", |w, _| w.itl.as_ref()?.stat("p50").map(|v| v / 1e6)),
    ("ITL P95, ms", |w, _| w.itl.as_ref()?.stat("p95").map(|v| v / 1e6)),
    ("running", |w, _| w.server.running),
    ("waiting", |w, _| w.server.waiting),
    ("KV cache, %", |w, _| w.server.kv_cache_usage.map(|s| s * 100.0)),
    ("preemptions", |w, _| w.server.preemptions),
];

/// The windows; nothing without send times or where a window alone was analysed.
pub(super) fn section(a: &RunAnalysis, run: &str) -> String {
    let Some(t) = a.timeline.as_ref().filter(|t| a.window.is_none() && t.windows.len() > 1) else {
        return String::new();
    };
    let known = |(_, get): &&Column| t.windows.iter().any(|w| get(w, t.width_s).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(known).collect();
    let heads: String =
        columns.iter().map(|(name, _)| format!("<th scope=\"col\" class=\"n\">{}</th>", escape(name))).collect();
    let rows: String = t.windows.iter().map(|w| row(t, w, &columns)).collect();
    format!(
        "<section id=\"{run}-timeline\">\n<h2>Over time</h2>\n\
         <div class=\"zoom\" data-table=\"{run}-windows\" data-width=\"{}\" hidden></div>\n\
         <details><summary>{} of {} as a table</summary>\n\
         <div class=\"scroll tall\" role=\"region\" tabindex=\"0\" aria-label=\"Windows of the run\">\
         <table class=\"sortable\" id=\"{run}-windows\"><caption class=\"hidden\">Windows of the run</caption>\n\
         <thead><tr><th scope=\"col\" class=\"n\">from, s</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n\
         </details>\n</section>\n",
        t.width_s,
        counted(t.windows.len() as u64, "window"),
        escape(&seconds(t.width_s))
    )
}

fn row(t: &Timeline, w: &TimelineWindow, columns: &[&Column]) -> String {
    let cell = |(name, get): &&Column| match get(w, t.width_s).filter(|v| v.is_finite()) {
        Some(v) => {
            let text = if name.ends_with("ms") { ms(v * 1e6) } else { number(v) };
            format!("<td class=\"n\">{text}</td>")
        }
        None => "<td class=\"n\">-</td>".to_string(),
    };
    let cells: String = columns.iter().map(cell).collect();
    format!("<tr><th scope=\"row\" class=\"n\">{}</th>{cells}</tr>\n", w.start_s)
}
