//! Places the levels of a server (requests running and waiting, rates of a log) on the client's requests in flight.
//!
//! The shift with the smallest mean difference is the estimate, refused where another, far away, fits nearly as well.
//! All shifts that fit about as well as the best make the uncertainty. The work is bounded whatever the length of the
//! recording: a shift looks only at the readings beside the run, at most [`MOST_BESIDE`] of them, and the first search is
//! as fine as [`MOST_WORK`] allows.

use super::align::{Alignment, MS, SECOND};
use super::client_trace::ClientTrace;

/// A reading of a level or rate.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    /// Requests in the server at the moment.
    InFlight(f64),
    /// Output tokens a second over the interval before the moment.
    TokenRate { per_s: f64, interval_ns: i64 },
}

impl Level {
    fn value(&self) -> f64 {
        match self {
            Level::InFlight(n) => *n,
            Level::TokenRate { per_s, .. } => *per_s,
        }
    }
}

/// Levels and rates that differ by more, as a share of their largest, belong to another run.
const MOST_DIFFERENCE: f64 = 0.2;
/// Fewer readings beside the run say nothing.
const FEWEST_BESIDE: usize = 4;
/// Fewer of them busy say nothing.
const FEWEST_BUSY: usize = 3;
/// Readings looked at for one shift.
const MOST_BESIDE: usize = 1000;
/// Readings looked at in the first search.
const MOST_WORK: i64 = 8_000_000;
/// Shifts tried in the first search.
const MOST_SHIFTS: i64 = 200_000;
/// The run may lie before or after the recording by this.
const SLACK_NS: i64 = 30 * SECOND;

/// `points` in time order; `resolution_ns`: what their stamps are cut to; `credible` says whether an origin can be the
/// run's at all.
pub(crate) fn from_levels(
    trace: &ClientTrace,
    points: &[(i64, Level)],
    resolution_ns: i64,
    credible: &dyn Fn(i64) -> bool,
) -> Option<Alignment> {
    let end = trace.end_ns()?;
    let points = thinned(points, end);
    let search = Search::of(trace, &points, end)?;
    let (first, last) = (points.first()?.0, points.last()?.0);
    let from = first.saturating_sub(end).saturating_sub(SLACK_NS);
    let range = last.saturating_add(SLACK_NS).saturating_sub(from);
    let coarse = search.step(range);
    let origins = (0..=range / coarse).map(|i| from.saturating_add(i * coarse));
    let tried: Vec<(i64, f64)> = origins.map(|o| (o, search.difference(o))).collect();
    let least = tried.iter().map(|(_, c)| *c).fold(f64::INFINITY, f64::min);
    let mut best = *tried.iter().filter(|(o, _)| credible(*o)).min_by(|a, b| a.1.total_cmp(&b.1))?;
    // The run would fit much better at a time at which it cannot have been.
    if best.1 > least * 1.25 + 0.01 {
        return None;
    }
    // Another fit, far away and nearly as good: no way to tell.
    let away = |o: i64| o.saturating_sub(best.0).saturating_abs();
    let far = tried.iter().filter(|(o, _)| away(*o) > 5 * SECOND + 20 * coarse && credible(*o));
    let second = far.map(|(_, c)| *c).fold(f64::INFINITY, f64::min);
    if best.1 > MOST_DIFFERENCE || second < best.1 * 1.25 + 0.01 {
        return None;
    }
    // All shifts that fit about as well are as likely.
    let near = best.1 * 1.1 + 0.005;
    let alike: Vec<i64> = tried.iter().filter(|(o, c)| *c <= near && away(*o) <= 5 * SECOND).map(|(o, _)| *o).collect();
    let fine = (coarse / 50).max(2 * MS);
    let around = best.0;
    for i in -(coarse / fine)..=coarse / fine {
        let origin = around.saturating_add(i * fine);
        let c = search.difference(origin);
        if c < best.1 {
            best = (origin, c);
        }
    }
    let lo = alike.iter().copied().min().unwrap_or(best.0).min(best.0);
    let hi = alike.iter().copied().max().unwrap_or(best.0).max(best.0);
    let half = hi.saturating_sub(lo) / 2;
    Some(Alignment {
        // Stamps are cut, not rounded: on average half the resolution is missing.
        origin_ns: lo.saturating_add(half).saturating_add(resolution_ns / 2),
        uncertainty_ns: half.saturating_add(coarse).saturating_add(resolution_ns / 2),
        drift_ppm: None,
        how: format!("{} levels of the server against requests in flight", points.len()),
    })
}

/// At most [`MOST_BESIDE`] readings in any stretch as long as the run: where there are more, the first of each part of it.
fn thinned(points: &[(i64, Level)], end: i64) -> Vec<(i64, Level)> {
    let part = (end / MOST_BESIDE as i64 * 2).max(1);
    let mut out: Vec<(i64, Level)> = Vec::new();
    let mut parts = [None; 2];
    for (at, level) in points.iter().filter(|(_, level)| level.value().is_finite()) {
        let kind = usize::from(matches!(level, Level::TokenRate { .. }));
        let here = Some(at.div_euclid(part));
        if parts[kind] != here {
            parts[kind] = here;
            out.push((*at, *level));
        }
    }
    out
}

/// What a shift is judged by.
struct Search<'a> {
    trace: &'a ClientTrace,
    points: &'a [(i64, Level)],
    end: i64,
    /// A difference of 1 is that of the largest level or rate of the server.
    level: f64,
    rate: f64,
    /// Before each reading: the sum of what all before it show, and how many of them are busy.
    before: Vec<(f64, usize)>,
    /// The longest interval of a rate.
    interval_ns: i64,
}

impl<'a> Search<'a> {
    fn of(trace: &'a ClientTrace, points: &'a [(i64, Level)], end: i64) -> Option<Search<'a>> {
        let busy = points.iter().filter(|(_, level)| level.value() > 0.0).count();
        if busy < FEWEST_BUSY || points.len() < FEWEST_BESIDE {
            return None;
        }
        let (mut level, mut rate, mut interval_ns) = (1.0f64, 1.0f64, 0);
        for (_, reading) in points {
            match reading {
                Level::InFlight(n) => level = level.max(*n),
                Level::TokenRate { per_s, interval_ns: own } => {
                    rate = rate.max(*per_s);
                    interval_ns = interval_ns.max(*own);
                }
            }
        }
        let of_client = trace.total_tokens() / (end as f64 / 1e9).max(1e-3);
        // Servers that did several times the client's work served others too.
        if rate > 1.0 && of_client <= 0.05 * rate {
            return None;
        }
        let mut search = Search { trace, points, end, level, rate, before: vec![(0.0, 0)], interval_ns };
        let (mut sum, mut count) = (0.0, 0);
        for (_, reading) in points {
            sum += search.of_reading(reading, 0.0, 0.0);
            count += usize::from(reading.value() > 0.0);
            search.before.push((sum, count));
        }
        Some(search)
    }

    /// Distance between the shifts of the first search.
    fn step(&self, range: i64) -> i64 {
        let longest = self.end.saturating_add(self.interval_ns);
        let mut most = 1;
        for (i, (at, _)) in self.points.iter().enumerate() {
            let until = at.saturating_add(longest);
            most = most.max(self.points.partition_point(|(other, _)| *other <= until) - i);
        }
        let shifts = (MOST_WORK / most as i64).clamp(1000, MOST_SHIFTS);
        (range / shifts).max(SECOND / 10)
    }

    fn of_reading(&self, reading: &Level, in_flight: f64, per_s: f64) -> f64 {
        match reading {
            Level::InFlight(n) => (in_flight - n).abs() / self.level,
            Level::TokenRate { per_s: n, .. } => (per_s - n).abs() / self.rate,
        }
    }

    /// Mean difference over the readings at which either side is busy.
    fn difference(&self, origin: i64) -> f64 {
        let until = origin.saturating_add(self.end).saturating_add(self.interval_ns);
        let from = self.points.partition_point(|(at, _)| *at < origin);
        let to = self.points.partition_point(|(at, _)| *at <= until);
        let all = self.before[self.points.len()];
        let (mut sum, mut busy) =
            (self.before[from].0 + all.0 - self.before[to].0, self.before[from].1 + all.1 - self.before[to].1);
        for (at, reading) in &self.points[from..to] {
            let t = at.saturating_sub(origin);
            let in_flight = f64::from(self.trace.in_flight(t));
            let per_s = match reading {
                Level::TokenRate { interval_ns, .. } => {
                    let before = self.trace.tokens_until(t.saturating_sub(*interval_ns));
                    (self.trace.tokens_until(t) - before) / (*interval_ns as f64 / 1e9)
                }
                Level::InFlight(_) => 0.0,
            };
            sum += self.of_reading(reading, in_flight, per_s);
            busy += usize::from(reading.value() > 0.0 || in_flight > 0.0);
        }
        sum / busy.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::client_trace::ClientRequest;

    #[test]
    fn a_long_dense_log_costs_no_more_than_the_work_allowed() {
        let second = |s: i64| s * SECOND;
        let one = |i: i64| ClientRequest {
            sent_ns: Some(second(i + i * i % 7)),
            e2e_ns: Some(second(2)),
            end_ns: Some(second(i + i * i % 7 + 2)),
            ..ClientRequest::default()
        };
        let trace = ClientTrace::of((0..20).map(one).collect());
        let end = trace.end_ns().unwrap();
        // A hundred readings a millisecond, from five seconds before the run on.
        let dense = (0..3_000_000).map(|i| i * 10_000 - second(5));
        let points: Vec<_> = dense.map(|at| (at, Level::InFlight(f64::from(trace.in_flight(at))))).collect();
        let few = thinned(&points, end);
        let search = Search::of(&trace, &few, end).unwrap();
        let range = second(30);
        let beside = few.partition_point(|p| p.0 < end) - few.partition_point(|p| p.0 < 0);
        assert!(beside <= MOST_BESIDE && range / search.step(range) * beside as i64 <= MOST_WORK);
        let found = from_levels(&trace, &points, 0, &|_| true).unwrap();
        assert!(found.origin_ns.abs() <= found.uncertainty_ns, "{found:?}");
    }
}
