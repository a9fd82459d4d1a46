//! What charts over time share: the run's windows as points, hover texts, and the shades of ramp and drain.

use super::axis::Axis;
use super::figure::{Mark, Spot};
use crate::quantity::seconds;
use postrun_analysis::{RunAnalysis, Summary, Timeline, TimelineWindow, expected_beyond};

/// From this ratio on an axis is logarithmic: the low values would be one line.
const LOG_FROM: f64 = 20.0;

/// A shade of less than this share of the axis looks like a line.
const THINNEST: f64 = 0.005;

/// The windows of the run.
pub(super) fn timeline(a: &RunAnalysis) -> Result<&Timeline, String> {
    if a.window.is_some() {
        return Err("only a window was analysed; what happened over time is about whole runs".to_string());
    }
    a.timeline.as_ref().ok_or_else(|| "send times are not recorded".to_string())
}

/// A value of each window, at its middle.
pub(super) fn points(t: &Timeline, get: impl Fn(&TimelineWindow) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
    t.windows.iter().map(|w| (w.start_s + t.width_s / 2.0, get(w))).collect()
}

/// The time axis of a run.
pub(super) fn time_axis(t: &Timeline) -> Axis {
    let end = t.windows.last().map_or(0.0, |w| w.start_s + t.width_s);
    Axis::seconds("since the first send", end)
}

/// One hover text a window.
pub(super) fn spots(t: &Timeline, text: impl Fn(&TimelineWindow) -> String) -> Vec<Spot> {
    let spot = |w: &TimelineWindow| Spot {
        panel: None,
        x: (w.start_s, w.start_s + t.width_s),
        y: None,
        text: format!("{} to {}\n{}", seconds(w.start_s), seconds(w.start_s + t.width_s), text(w)),
    };
    t.windows.iter().map(spot).collect()
}

/// Milliseconds of a percentile of a summary.
pub(super) fn percentile_ms(s: Option<&Summary>, p: f64) -> Option<f64> {
    s?.percentile(p).map(|x| x.value / 1e6).filter(|v| v.is_finite())
}

/// True if a percentile of so many values is worth a line: beyond it lies at least one value, else it is the slowest under
/// another name.
pub(super) fn carries(count: u64, p: f64) -> bool {
    p <= 50.0 || expected_beyond(count, p) >= 1.0
}

/// From zero, or logarithmic where values are far apart.
pub(super) fn spread_axis(label: &str, values: impl Iterator<Item = f64> + Clone) -> Axis {
    let positive = values.clone().filter(|v| *v > 0.0);
    let (low, high) = (positive.clone().fold(f64::INFINITY, f64::min), positive.fold(0.0, f64::max));
    if low.is_finite() && high / low >= LOG_FROM { Axis::log(label, values) } else { Axis::from_zero(label, values) }
}

/// All values of several lines.
pub(super) fn values(lines: &[Vec<(f64, Option<f64>)>]) -> impl Iterator<Item = f64> + Clone + '_ {
    lines.iter().flatten().filter_map(|(_, v)| *v)
}

/// Shades before and after the steady state.
pub(super) fn ramp_and_drain(a: &RunAnalysis, end_s: f64, named: bool) -> Vec<Mark> {
    let Ok(steady) = &a.steady else { return Vec::new() };
    let (from, to) = (steady.window.start_ns as f64 / 1e9, steady.window.end_ns as f64 / 1e9);
    let name = |text: &str| if named { text.to_string() } else { String::new() };
    let band = |from: f64, to: f64, text: &str| Mark::Band { from, to, label: name(text) };
    let bands = [(0.0, from, "ramp-up"), (to, end_s, "drain")];
    let seen = bands.into_iter().filter(|(from, to, _)| to - from > THINNEST * end_s);
    seen.map(|(from, to, text)| band(from, to, text)).collect()
}

/// `name value unit`, or nothing.
pub(super) fn said(name: &str, value: Option<f64>, unit: &str) -> Option<String> {
    value.map(|v| format!("{name} {}{unit}", crate::quantity::number(v)))
}
