//! Stretches of time in which something stands still, drawn as far as they are asked for.

use crate::rng::{Rng, Stream};
use crate::scenario::Stalls;

const SECOND: f64 = 1e9;

/// Stalls of one kind; they do not overlap.
#[derive(Debug)]
pub(crate) struct Windows {
    per_s: f64,
    length_ns: f64,
    spread: f64,
    rng: Rng,
    drawn: Vec<(i64, i64)>,
}

impl Windows {
    pub(crate) fn new(stalls: &Stalls, seed: u64, stream: Stream) -> Windows {
        let none = stalls.length_ms == 0.0;
        Windows {
            per_s: if none { 0.0 } else { stalls.per_s },
            length_ns: stalls.length_ms * 1e6,
            spread: stalls.spread,
            rng: Rng::new(seed, stream, 0),
            drawn: Vec::new(),
        }
    }

    fn draw_beyond(&mut self, t: i64) {
        if self.per_s <= 0.0 {
            return;
        }
        while self.drawn.last().is_none_or(|(from, _)| *from <= t) {
            let before = self.drawn.last().map_or(0, |(_, to)| *to);
            let gap = (self.rng.exponential() / self.per_s * SECOND) as i64;
            let length = self.length_ns * (1.0 + self.spread * (2.0 * self.rng.uniform() - 1.0));
            let from = before.saturating_add(gap.max(1));
            self.drawn.push((from, from.saturating_add((length as i64).max(1))));
        }
    }

    /// The window that contains `t`, with its number.
    pub(crate) fn at(&mut self, t: i64) -> Option<(usize, i64)> {
        self.draw_beyond(t);
        let next = self.drawn.partition_point(|(from, _)| *from <= t);
        let i = next.checked_sub(1)?;
        self.drawn.get(i).filter(|(_, to)| *to > t).map(|(_, to)| (i, *to))
    }

    /// `t`, or the end of the window that contains it.
    pub(crate) fn release(&mut self, t: i64) -> i64 {
        self.at(t).map_or(t, |(_, to)| to)
    }

    /// When work of `length` that starts at `from` ends, if it stands still during windows.
    pub(crate) fn end_of(&mut self, from: i64, length: i64) -> i64 {
        let mut end = self.release(from).saturating_add(length);
        if self.per_s <= 0.0 {
            return end;
        }
        let mut i = self.drawn.partition_point(|(start, _)| *start <= from);
        loop {
            self.draw_beyond(end);
            match self.drawn.get(i) {
                Some((start, to)) if *start < end => end = end.saturating_add(to - start),
                _ => return end,
            }
            i += 1;
        }
    }

    /// Windows that touch `from..to`.
    pub(crate) fn between(&self, from: i64, to: i64) -> Vec<(i64, i64)> {
        self.drawn.iter().copied().filter(|(a, b)| *a < to && *b > from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(drawn: Vec<(i64, i64)>) -> Windows {
        let stalls = Stalls { per_s: 1e-6, ..Stalls::default() };
        let mut windows = Windows::new(&stalls, 1, Stream::ServerStall);
        windows.drawn = drawn;
        windows
    }

    #[test]
    fn work_stands_still_during_windows() {
        let mut windows = fixed(vec![(100, 150), (200, 300)]);
        assert_eq!(windows.end_of(0, 50), 50);
        assert_eq!(windows.end_of(0, 100), 100);
        assert_eq!(windows.end_of(50, 100), 200); // 50 before, 50 after the first window
        assert_eq!(windows.end_of(120, 60), 310); // starts at 150, meets the second
        assert_eq!(windows.release(299), 300);
        assert_eq!(windows.release(300), 300);
    }

    #[test]
    fn no_rate_no_windows() {
        let mut none = Windows::new(&Stalls::default(), 1, Stream::ServerStall);
        assert_eq!(none.end_of(5, 7), 12);
        assert!(none.between(0, i64::MAX).is_empty());
    }
}
