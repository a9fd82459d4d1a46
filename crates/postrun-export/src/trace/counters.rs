//! The counters of a timeline: what the server had running and waiting, how full its KV cache was, its preemptions.

use super::Counter;
use super::clocks::Clocks;
use crate::error::ExportError;
use postrun_analysis::curves;
use postrun_schema::Dataset;

/// Series, unit that is shown, and the factor to it.
const SHOWN: [(&str, &str, f64); 4] = [
    ("running", "requests", 1.0),
    ("waiting", "requests", 1.0),
    ("kv_cache_usage", "%", 100.0),
    ("preemptions_total", "", 1.0),
];

/// The series that are drawn.
pub(crate) fn names() -> Vec<&'static str> {
    SHOWN.iter().map(|(series, _, _)| *series).collect()
}

/// The counters that lie on the timeline's clock.
pub(crate) fn of(dataset: &Dataset, clocks: &Clocks) -> Result<Vec<Counter>, ExportError> {
    let mut curves = curves(dataset)?;
    curves.retain(|c| c.aligned || clocks.lone_series);
    let shown = SHOWN.iter().filter_map(|(series, unit, scale)| {
        let at = curves.iter().position(|c| c.series == *series)?;
        let points = curves.swap_remove(at).points.into_iter().map(|(at, v)| (at, v * scale)).collect();
        Some(Counter { name: series, unit, points })
    });
    Ok(shown.collect())
}
