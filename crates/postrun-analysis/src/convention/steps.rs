//! Step functions over time: a level that changes at events, and its statistics weighted by time.

use crate::percentile::Percentile;
use crate::summary::Summary;

/// What is left when large numbers cancel: below this share of the largest level, a level is 0.
const RESIDUE: f64 = 1e-9;

/// A level from each point in time on; 0 before the first. Points rise.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Steps(Vec<(f64, f64)>);

impl Steps {
    /// From changes of the level and when they happen, in any order.
    pub(crate) fn of(mut changes: Vec<(f64, f64)>) -> Steps {
        let rises = |change: f64| change > 0.0;
        // At one moment what ends comes before what begins.
        changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(rises(a.1).cmp(&rises(b.1))));
        let (mut level, mut largest) = (0.0, 0.0f64);
        for (_, change) in &mut changes {
            level += *change;
            *change = level;
            largest = largest.max(level.abs());
        }
        for (_, level) in changes.iter_mut().filter(|(_, level)| level.abs() < RESIDUE * largest) {
            *level = 0.0;
        }
        // Of one moment the last level counts.
        changes.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = next.1;
            }
            same
        });
        Steps(changes)
    }

    /// This level by another; 0 where that is 0.
    pub(crate) fn by(&self, divisor: &Steps) -> Steps {
        let mut points = Vec::with_capacity(self.0.len() + divisor.0.len());
        together(self, divisor, |at, level, parts| points.push((at, if parts > 0.0 { level / parts } else { 0.0 })));
        Steps(points)
    }

    /// The levels between two points in time, each with how long it lasted; with `where_any`, only while that is above 0.
    fn lasting(&self, (from, to): (f64, f64), where_any: Option<&Steps>) -> Vec<(f64, f64)> {
        let nothing = Steps::default();
        let mut lasting = Vec::with_capacity(self.0.len());
        let (mut since, mut level, mut counts) = (from, 0.0, where_any.is_none());
        let mut until = |at: f64, level: f64, counts: bool| {
            let end = at.clamp(from, to);
            if counts && end > since {
                lasting.push((level, end - since));
            }
            since = since.max(end);
        };
        together(self, where_any.unwrap_or(&nothing), |at, next, others| {
            until(at, level, counts);
            (level, counts) = (next, where_any.is_none() || others > 0.0);
        });
        until(to, level, counts);
        lasting
    }

    /// Mean, spread, extremes and percentiles over a stretch of time, every level for as long as it lasted: a percentile is
    /// the lowest level below or at which that share of the time was spent. All 0 where no time counts.
    pub(crate) fn summary(&self, stretch: (f64, f64), where_any: Option<&Steps>, percentiles: &[f64]) -> Summary {
        let mut levels = self.lasting(stretch, where_any);
        levels.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = levels.iter().map(|(_, time)| time).sum();
        let over_time = |of: &dyn Fn(f64) -> f64| match levels.is_empty() {
            true => 0.0,
            false => levels.iter().map(|(level, time)| of(*level) * time).sum::<f64>() / total,
        };
        let mean = over_time(&|level| level);
        let variance = over_time(&|level| (level - mean) * (level - mean));
        let (mut spent, mut next) = (0.0, levels.iter().peekable());
        let mut reached = |p: f64| {
            while let Some((level, time)) = next.peek() {
                if (spent + time) / total >= p / 100.0 {
                    return *level;
                }
                spent += time;
                next.next();
            }
            levels.last().map_or(0.0, |(level, _)| *level)
        };
        let percentile = |p: &f64| Percentile { p: *p, value: reached(*p), low: None, high: None, few_samples: false };
        Summary {
            count: levels.len() as u64,
            mean,
            std: variance.sqrt(),
            min: levels.first().map_or(0.0, |(level, _)| *level),
            max: levels.last().map_or(0.0, |(level, _)| *level),
            percentiles: percentiles.iter().map(percentile).collect(),
        }
    }
}

/// Calls `each` at every point of the two with both levels from there on.
fn together(a: &Steps, b: &Steps, mut each: impl FnMut(f64, f64, f64)) {
    let (mut a, mut b) = (a.0.iter().peekable(), b.0.iter().peekable());
    let (mut in_a, mut in_b) = (0.0, 0.0);
    loop {
        let at = match (a.peek(), b.peek()) {
            (Some((x, _)), Some((y, _))) => x.min(*y),
            (Some((x, _)), None) | (None, Some((x, _))) => *x,
            (None, None) => return,
        };
        if let Some((_, level)) = a.next_if(|(x, _)| *x == at) {
            in_a = *level;
        }
        if let Some((_, level)) = b.next_if(|(y, _)| *y == at) {
            in_b = *level;
        }
        each(at, in_a, in_b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One from 10 to 40, two more from 20 to 30.
    fn steps() -> Steps {
        Steps::of(vec![(10.0, 1.0), (40.0, -1.0), (20.0, 2.0), (30.0, -2.0)])
    }

    #[test]
    fn levels_count_for_as_long_as_they_last() {
        let s = steps().summary((0.0, 50.0), None, &[20.0, 40.0, 80.0, 90.0]);
        // 0 for 20, 1 for 20, 3 for 10.
        assert_eq!((s.mean, s.min, s.max), (1.0, 0.0, 3.0));
        assert_eq!(s.std, ((20.0 + 10.0 * 4.0) / 50.0f64).sqrt());
        let found: Vec<f64> = s.percentiles.iter().map(|p| p.value).collect();
        assert_eq!(found, [0.0, 0.0, 1.0, 3.0]);
    }

    #[test]
    fn a_stretch_cuts_and_a_mask_leaves_out() {
        let mask = Steps::of(vec![(15.0, 1.0), (25.0, -1.0)]);
        let s = steps().summary((12.0, 22.0), Some(&mask), &[50.0]);
        // 1 from 15 to 20, 3 from 20 to 22.
        assert_eq!(s.mean, (5.0 + 6.0) / 7.0);
        assert_eq!((s.min, s.max, s.percentiles[0].value), (1.0, 3.0, 1.0));
        let never = steps().summary((0.0, 5.0), Some(&mask), &[50.0]);
        assert_eq!((never.mean, never.std, never.percentiles[0].value), (0.0, 0.0, 0.0));
    }

    #[test]
    fn ends_come_before_starts_and_nothing_is_divided_by_nothing() {
        let relay = Steps::of(vec![(0.0, 1.0), (5.0, 1.0), (5.0, -1.0), (9.0, -1.0)]);
        assert_eq!(relay.summary((0.0, 9.0), None, &[]).max, 1.0);
        let shared = steps().by(&Steps::of(vec![(20.0, 2.0), (40.0, -2.0)]));
        assert_eq!(shared.0, [(10.0, 0.0), (20.0, 1.5), (30.0, 0.5), (40.0, 0.0)]);
    }
}
