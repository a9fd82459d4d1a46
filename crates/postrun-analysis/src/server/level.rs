//! Means and increases of a curve over a part of the run.
//!
//! A sample holds until the next one. The mean is over time, not over samples, so that uneven scrapes weigh what they
//! should; the largest value is that of the samples, and a peak between two of them stays unseen. A mean needs three
//! samples, an increase two: of fewer the figure would rest on chance, and one sample of a counter says nothing of a run.
//!
//! Where a file's clock is not aligned to the client's, figures are over the whole file. One that is shorter than the run
//! cannot have seen all of it: it gives no figure.

use super::tracks::Track;
use crate::window::Window;

/// Samples that a mean needs.
const FEWEST_FOR_A_MEAN: usize = 3;
/// Share of the run that a file must cover whose place in the run is not known: the scrapes around it may be missing.
const COVERS: f64 = 0.9;

/// Whether figures of the run can be made from the track.
pub(crate) fn covers(track: &Track, run: Option<Window>) -> bool {
    let Some(run) = run.filter(|_| !track.aligned) else { return true };
    let length = |(first, last): (&(i64, f64), &(i64, f64))| last.0.saturating_sub(first.0);
    let sampled = track.points.first().zip(track.points.last()).map_or(0, length);
    sampled as f64 >= COVERS * run.end_ns.saturating_sub(run.start_ns) as f64
}

/// The mean where there are samples enough for one.
pub(crate) fn sound_mean(track: &Track, window: Option<Window>) -> Option<f64> {
    if track.points.len() < FEWEST_FOR_A_MEAN { None } else { mean(track, window) }
}

/// The part of the track that belongs to `window`: all of it where its clock is not aligned.
fn inside(track: &Track, window: Option<Window>) -> Vec<(i64, i64, f64)> {
    let (Some(first), Some(last)) = (track.points.first(), track.points.last()) else { return Vec::new() };
    let (from, to) = match window.filter(|_| track.aligned) {
        Some(w) => (w.start_ns, w.end_ns),
        None => (first.0, last.0),
    };
    let ends = track.points.iter().skip(1).map(|p| p.0).chain([i64::MAX]);
    let spans = track.points.iter().zip(ends).map(|((at, value), end)| (*at, end, *value));
    // The last sample says nothing of what came long after it.
    let longest = usual_step(track).saturating_mul(3);
    let held = spans.map(|(at, end, value)| (at.max(from), end.min(at.saturating_add(longest)).min(to), value));
    held.filter(|(at, end, _)| at < end || (*at == *end && *at == to)).collect()
}

/// The median distance between samples.
fn usual_step(track: &Track) -> i64 {
    let mut steps: Vec<i64> = track.points.windows(2).map(|w| w[1].0 - w[0].0).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(1_000_000_000)
}

/// Mean over time; `None` where no sample belongs to the window.
pub(crate) fn mean(track: &Track, window: Option<Window>) -> Option<f64> {
    let spans = inside(track, window);
    let time: f64 = spans.iter().map(|(a, b, _)| (b - a) as f64).sum();
    match time > 0.0 {
        true => Some(spans.iter().map(|(a, b, v)| (b - a) as f64 * v).sum::<f64>() / time),
        false => spans.first().map(|s| s.2),
    }
}

/// Largest sample that was in force inside the window.
pub(crate) fn max(track: &Track, window: Option<Window>) -> Option<f64> {
    inside(track, window).into_iter().map(|s| s.2).reduce(f64::max)
}

/// Share of the sampled time in which the value was at least `limit`; a mean too.
pub(crate) fn share_at_least(track: &Track, window: Option<Window>, limit: f64) -> Option<f64> {
    if track.points.len() < FEWEST_FOR_A_MEAN {
        return None;
    }
    let spans = inside(track, window);
    let time = |keep: &dyn Fn(f64) -> bool| -> f64 {
        spans.iter().filter(|s| keep(s.2)).map(|(a, b, _)| (b - a) as f64).fold(0.0, |sum, part| sum + part)
    };
    let all = time(&|_| true);
    (all > 0.0).then(|| time(&|v| v >= limit) / all)
}

/// Increase of a counter from the last sample before the window to the first one after it, so that what was counted
/// late is not lost. The whole track where its clock is not aligned. `None` of a single sample.
pub(crate) fn increase(track: &Track, window: Option<Window>) -> Option<f64> {
    let points = &track.points;
    if points.len() < 2 {
        return None;
    }
    let (first, last) = (points.first()?, points.last()?);
    let Some(w) = window.filter(|_| track.aligned) else { return Some(last.1 - first.1) };
    if last.0 < w.start_ns || first.0 > w.end_ns {
        return None;
    }
    let before = points.partition_point(|p| p.0 <= w.start_ns).saturating_sub(1);
    let after = points.partition_point(|p| p.0 < w.end_ns).min(points.len() - 1);
    Some(points[after].1 - points[before].1)
}

/// Value in force at a moment, linear between samples for a counter.
pub(crate) fn counter_at(track: &Track, at_ns: i64) -> Option<f64> {
    let next = track.points.partition_point(|p| p.0 <= at_ns);
    let (before, after) = (track.points.get(next.checked_sub(1)?)?, track.points.get(next));
    Some(match after {
        Some(after) => before.1 + (after.1 - before.1) * (at_ns - before.0) as f64 / (after.0 - before.0).max(1) as f64,
        None => before.1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(points: &[(i64, f64)]) -> Track {
        Track { aligned: true, points: points.to_vec() }
    }

    fn window(start_ns: i64, end_ns: i64) -> Option<Window> {
        Some(Window { start_ns, end_ns })
    }

    #[test]
    fn means_are_over_time() {
        // 0.5 for 10, 1.0 for 30: mean 0.875.
        let t = track(&[(0, 0.5), (10, 1.0), (40, 0.0)]);
        assert_eq!(mean(&t, window(0, 40)), Some(0.875));
        assert_eq!(max(&t, window(0, 5)), Some(0.5));
        assert_eq!(share_at_least(&t, window(0, 40), 0.9), Some(0.75));
        // The clock is not aligned: the window means nothing.
        let apart = Track { aligned: false, ..t };
        assert_eq!(mean(&apart, window(0, 5)), Some(0.875));
    }

    #[test]
    fn an_increase_reaches_to_the_samples_around_the_window() {
        let t = track(&[(0, 0.0), (10, 1.0), (20, 4.0), (30, 6.0), (40, 6.0)]);
        assert_eq!(increase(&t, window(12, 28)), Some(5.0));
        assert_eq!(increase(&t, window(-5, 100)), Some(6.0));
        assert_eq!(increase(&t, window(50, 60)), None);
        assert_eq!(counter_at(&t, 15), Some(2.5));
    }

    #[test]
    fn too_few_samples_give_no_figure() {
        let one = track(&[(0, 31.0)]);
        assert_eq!((increase(&one, window(0, 10)), max(&one, window(0, 10))), (None, Some(31.0)));
        let two = track(&[(0, 0.0), (20, 11.0)]);
        assert_eq!((sound_mean(&two, window(0, 30)), share_at_least(&two, window(0, 30), 0.9)), (None, None));
        assert_eq!(increase(&two, window(0, 30)), Some(11.0));
        let three = track(&[(0, 0.0), (20, 11.0), (30, 0.0)]);
        assert!(sound_mean(&three, window(0, 30)).is_some());
        // Where it lies in the run is not known, so it must be as long as the run.
        let apart = Track { aligned: false, ..three };
        assert!(covers(&apart, window(500, 530)) && !covers(&apart, window(500, 550)) && covers(&apart, None));
    }
}
