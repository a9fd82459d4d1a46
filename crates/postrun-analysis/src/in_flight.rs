//! Requests in flight over time, from the send and end of each ok request.

use crate::requests::Requests;

/// The second is only counted out up to a run this long (about four months); beyond it, points in time are not credible.
const MAX_SECONDS: i64 = 10_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// A step function: from `at_ns` on, `level` requests are in flight.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    pub steps: Vec<(i64, u64)>,
}

impl InFlight {
    pub(crate) fn of(requests: &Requests) -> InFlight {
        // Ends sort before starts at the same instant, so that a request that follows another does not overlap it.
        let mut changes: Vec<(i64, bool)> = Vec::new();
        for i in (0..requests.len()).filter(|i| requests.counts(*i)) {
            if let (Some(sent), Some(end)) = (requests.sent_ns[i], requests.end_ns(i)) {
                changes.push((sent, true));
                changes.push((end.max(sent), false));
            }
        }
        changes.sort_unstable();
        let mut steps: Vec<(i64, u64)> = Vec::new();
        let mut level = 0u64;
        for (at, starts) in changes {
            level = if starts { level + 1 } else { level.saturating_sub(1) };
            match steps.last_mut() {
                Some(last) if last.0 == at => last.1 = level,
                _ => steps.push((at, level)),
            }
        }
        InFlight { steps }
    }

    /// Requests in flight at an instant, those that start at it included.
    pub(crate) fn level(&self, at_ns: i64) -> u64 {
        match self.steps.partition_point(|(at, _)| *at <= at_ns) {
            0 => 0,
            n => self.steps[n - 1].1,
        }
    }

    pub(crate) fn peak(&self) -> Option<u64> {
        self.steps.iter().map(|(_, level)| *level).max()
    }

    /// Spans of constant level as `(from, to, level)`.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (i64, i64, u64)> + '_ {
        self.steps.windows(2).map(|w| (w[0].0, w[1].0, w[0].1))
    }

    /// The level exceeded during half of the time between `from` and `to`.
    pub(crate) fn median_level(&self, from: i64, to: i64) -> Option<u64> {
        let mut spans: Vec<(u64, i64)> = self
            .spans()
            .map(|(a, b, level)| (level, b.min(to) - a.max(from)))
            .filter(|(_, length)| *length > 0)
            .collect();
        spans.sort_unstable();
        let half = spans.iter().map(|(_, length)| length).sum::<i64>() / 2;
        let mut seen = 0;
        spans
            .into_iter()
            .find(|(_, length)| {
                seen += length;
                seen >= half
            })
            .map(|(level, _)| level)
    }

    /// Level times nanoseconds between `from` and `to`.
    pub(crate) fn area(&self, from: i64, to: i64) -> f64 {
        let part = |(a, b, level): (i64, i64, u64)| (b.min(to) - a.max(from)).max(0) as f64 * level as f64;
        self.spans().map(part).sum()
    }

    /// Mean level in each of `n` windows of `width_ns` from `origin_ns` on.
    pub(crate) fn mean_levels(&self, origin_ns: i64, width_ns: i64, n: usize) -> Vec<f64> {
        let mut area = vec![0.0; n];
        for (from, to, level) in self.spans() {
            let (mut at, to) = ((from - origin_ns).max(0), (to - origin_ns).min(width_ns * n as i64));
            while at < to {
                let window = at / width_ns;
                let end = ((window + 1) * width_ns).min(to);
                if let Some(sum) = area.get_mut(window as usize) {
                    *sum += (end - at) as f64 * level as f64;
                }
                at = end;
            }
        }
        area.into_iter().map(|a| a / width_ns as f64).collect()
    }
}

/// Seconds since the first send of an ok request: its origin and their number.
pub(crate) fn seconds_axis(requests: &Requests) -> Option<(i64, usize)> {
    let span = requests.span()?;
    let n = (span.end_ns - span.start_ns) / SECOND_NS + 1;
    (n <= MAX_SECONDS).then_some((span.start_ns, n as usize))
}

/// Second in which `at_ns` lies.
pub(crate) fn second(at_ns: i64, origin_ns: i64) -> Option<usize> {
    usize::try_from((at_ns - origin_ns).div_euclid(SECOND_NS)).ok()
}

/// Most requests that touch one second.
pub(crate) fn peak_in_1s(requests: &Requests) -> Option<u64> {
    let (origin, n) = seconds_axis(requests)?;
    let mut change = vec![0i64; n + 2];
    for i in (0..requests.len()).filter(|i| requests.counts(*i)) {
        if let (Some(sent), Some(end)) = (requests.sent_ns[i], requests.end_ns(i)) {
            let (first, last) = (second(sent, origin)?, second(end, origin)?);
            *change.get_mut(first)? += 1;
            *change.get_mut(last + 1)? -= 1;
        }
    }
    let mut level = 0;
    let peak = change.iter().map(|c| {
        level += c;
        level
    });
    peak.max().and_then(|p| u64::try_from(p).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_medians() {
        let f = InFlight { steps: vec![(0, 1), (10, 3), (30, 0)] };
        assert_eq!(f.peak(), Some(3));
        assert_eq!(f.median_level(0, 30), Some(3));
        assert_eq!(f.mean_levels(0, 10, 4), [1.0, 3.0, 3.0, 0.0]);
    }
}
