//! What was asked of the server: lengths and arrivals. For a trace of a workload, all there is.

use crate::distributions::{self, Columns, Distribution};
use crate::quantity::{number, seconds};
use crate::section::Section;
use crate::wording::metric_label;
use postrun_analysis::RunAnalysis;
use postrun_schema::counted;

/// Per-run figures that stand here and in no other table.
pub(crate) const RATES: [&str; 3] = ["arrivals_per_s", "peak_arrivals_per_s", "interarrival_cv"];

/// Lengths and times between sends, and how evenly requests came; of a run with answers in short.
pub(crate) fn of_run(a: &RunAnalysis) -> Option<Section> {
    let of_the_load = a.metrics.iter().filter(|m| m.is_of_the_load());
    let rows: Vec<Distribution<'_>> = of_the_load
        .map(|m| Distribution { id: m.metric, label: metric_label(m.metric), summary: &m.summary })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let columns = Columns { units: true, intervals: a.is_workload() };
    let mut section = distributions::section("Workload", &rows, a, columns);
    section.lines.extend(arrivals(a));
    if a.is_workload() && a.value("interarrival_cv").is_some() {
        section.notes.push(
            "Burstiness is std over mean of the inter-arrival times: 0 is evenly spaced, 1 as random as Poisson arrivals, more is in bursts."
                .to_string(),
        );
    }
    if a.metric("interarrival_ms").is_some_and(|s| s.mean > 0.0 && s.stat("p50") == Some(0.0)) {
        section.notes.push(
            "Half of the requests share their send time with the one before. Where a recording rounds its times, burstiness says how, \
             more than how requests came."
                .to_string(),
        );
    }
    Some(section)
}

/// `8819 requests sent at 2.566 req/s on average, …`; nothing without a rate.
fn arrivals(a: &RunAnalysis) -> Option<String> {
    let mean = a.value("arrivals_per_s")?;
    let mut text = format!("{} sent at {} req/s on average", counted(a.facts.arrivals?, "request"), number(mean));
    let fullest = a.timeline.as_ref().and_then(|t| Some((t, t.fullest().filter(|_| t.windows.len() > 1)?)));
    if let (Some(peak), Some((t, w))) = (a.value("peak_arrivals_per_s"), fullest) {
        let (width, at) = (seconds(t.width_s), seconds(w.start_s));
        text.push_str(&format!(", at most {} req/s (in {width} from {at} on)", number(peak)));
    }
    if let Some(cv) = a.value("interarrival_cv") {
        let what = if a.is_workload() { "" } else { " (1: random arrivals)" };
        text.push_str(&format!("; burstiness {}{what}", number(cv)));
    }
    Some(text + ".")
}
