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

/// A file of the server may cover hours around the run. Samples are drawn this part of the requests' span before and after it.
const BESIDE: i64 = 10;

/// The counters that lie on the timeline's clock, and how many samples lie too far from the requests (`span_ns`) to be drawn.
pub(crate) fn of(
    dataset: &Dataset,
    clocks: &Clocks,
    span_ns: Option<(i64, i64)>,
) -> Result<(Vec<Counter>, u64), ExportError> {
    let mut far = 0;
    let mut curves = curves(dataset)?;
    curves.retain(|c| c.aligned || clocks.lone_series);
    let shown = SHOWN.iter().filter_map(|(series, unit, scale)| {
        let at = curves.iter().position(|c| c.series == *series)?;
        let mut points = curves.swap_remove(at).points;
        far += near(&mut points, span_ns);
        let points: Vec<(i64, f64)> = points.into_iter().map(|(at, v)| (at, v * scale)).collect();
        (!points.is_empty()).then_some(Counter { name: series, unit, points })
    });
    Ok((shown.collect(), far))
}

/// Keeps the points near the requests, and counts the others. Without requests all are kept.
fn near(points: &mut Vec<(i64, f64)>, span_ns: Option<(i64, i64)>) -> u64 {
    let Some((first, last)) = span_ns else { return 0 };
    let beside = last.saturating_sub(first) / BESIDE;
    let drawn = first.saturating_sub(beside)..=last.saturating_add(beside);
    let all = points.len();
    points.retain(|(at, _)| drawn.contains(at));
    (all - points.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_drawn_a_tenth_of_the_run_before_and_after_it() {
        let points = [-101, -100, 0, 500, 1000, 1100, 1101].map(|at| (at, 1.0));
        let mut near_ones = points.to_vec();
        assert_eq!(near(&mut near_ones, Some((0, 1000))), 2);
        assert_eq!(near_ones, points[1..6]);
        let mut all = points.to_vec();
        assert_eq!(near(&mut all, None), 0);
        assert_eq!(all, points);
        assert_eq!(near(&mut all, Some((i64::MIN, i64::MAX))), 0);
    }
}
