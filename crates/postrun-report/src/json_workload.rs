//! Arrivals as keys of the JSON report; the distributions are among its metrics.

use postrun_analysis::RunAnalysis;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Workload {
    /// Nothing but a workload: no answer is recorded.
    only: bool,
    sent: u64,
    arrivals_per_s: Option<f64>,
    peak_arrivals_per_s: Option<f64>,
    peak_window_s: Option<f64>,
    peak_at_s: Option<f64>,
    interarrival_cv: Option<f64>,
}

/// `None` without send times.
pub(crate) fn of_run(a: &RunAnalysis) -> Option<Workload> {
    let peak = a.value("peak_arrivals_per_s");
    let timeline = a.timeline.as_ref().filter(|_| peak.is_some());
    Some(Workload {
        only: a.is_workload(),
        sent: a.facts.arrivals?,
        arrivals_per_s: a.value("arrivals_per_s"),
        peak_arrivals_per_s: peak,
        peak_window_s: timeline.map(|t| t.width_s),
        peak_at_s: timeline.and_then(|t| t.fullest()).map(|w| w.start_s),
        interarrival_cv: a.value("interarrival_cv"),
    })
}
