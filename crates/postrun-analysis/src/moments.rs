//! Count, sum, sum of squares and extremes of values: what mean and spread need.

/// Sums kept side by side: one alone would wait for the addition before it.
const LANES: usize = 4;

/// Sums are taken around `shift`, one of the values: that keeps precision where the spread is small beside the mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub n: u64,
    pub min: u64,
    pub max: u64,
    shift: f64,
    sum: f64,
    sum_sq: f64,
}

impl Moments {
    pub(crate) fn new() -> Moments {
        Moments { n: 0, min: u64::MAX, max: 0, shift: 0.0, sum: 0.0, sum_sq: 0.0 }
    }

    /// Of the gaps between times, each of which `each` sees too.
    #[inline(always)]
    pub(crate) fn of_gaps(times: &[i64], mut each: impl FnMut(u64)) -> Moments {
        let (Some((_, later)), [first, second, ..]) = (times.split_first(), times) else { return Moments::new() };
        let earlier = &times[..later.len()];
        let shift = gap(*first, *second) as f64;
        let (mut sums, mut squares) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (mut min, mut max) = (u64::MAX, 0);
        let mut take = |lane: usize, from: i64, to: i64| {
            let value = gap(from, to);
            let off = value as i64 as f64 - shift;
            sums[lane] += off;
            squares[lane] += off * off;
            min = min.min(value);
            max = max.max(value);
            each(value);
        };
        let ((earlier, rest_earlier), (later, rest_later)) = (earlier.as_chunks::<LANES>(), later.as_chunks::<LANES>());
        for (from, to) in earlier.iter().zip(later) {
            for lane in 0..LANES {
                take(lane, from[lane], to[lane]);
            }
        }
        rest_earlier.iter().zip(rest_later).for_each(|(from, to)| take(0, *from, *to));
        Moments { n: times.len() as u64 - 1, min, max, shift, sum: sums.iter().sum(), sum_sq: squares.iter().sum() }
    }

    /// Adds `value`, `weight` times.
    #[inline]
    pub(crate) fn add(&mut self, value: u64, weight: u64) {
        if self.n == 0 {
            self.shift = value as f64;
        }
        self.n += weight;
        let (off, w) = (value as f64 - self.shift, weight as f64);
        self.sum += off * w;
        self.sum_sq += off * off * w;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of `other`.
    pub(crate) fn merge(&mut self, other: &Moments) {
        if self.n == 0 {
            *self = *other;
            return;
        }
        // Around the new shift: Σ(x−s)² = Σ(x−o)² + 2(o−s)Σ(x−o) + n(o−s)².
        let (d, m) = (other.shift - self.shift, other.n as f64);
        self.sum_sq += other.sum_sq + 2.0 * d * other.sum + m * d * d;
        self.sum += other.sum + m * d;
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn mean(&self) -> f64 {
        self.shift + self.sum / self.n as f64
    }

    /// Of the population.
    pub(crate) fn std(&self) -> f64 {
        let (n, off) = (self.n as f64, self.sum / self.n as f64);
        (self.sum_sq / n - off * off).max(0.0).sqrt()
    }
}

/// From one chunk to the next; times that fall are no gap.
#[inline(always)]
pub(crate) fn gap(from: i64, to: i64) -> u64 {
    to.saturating_sub(from).max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_values_agree() {
        let times = [5, 15, 15, 45, 40, 1_000_040, 1_000_041];
        let mut seen = Vec::new();
        let of_gaps = Moments::of_gaps(&times, |gap| seen.push(gap));
        assert_eq!(seen, [10, 0, 30, 0, 1_000_000, 1]);
        let mut one_by_one = Moments::new();
        seen.iter().for_each(|gap| one_by_one.add(*gap, 1));
        for m in [of_gaps, one_by_one] {
            assert_eq!((m.n, m.min, m.max), (6, 0, 1_000_000));
            assert!((m.mean() - 1_000_041.0 / 6.0).abs() < 1e-6 && (m.std() - 372_674.940_4).abs() < 1e-3, "{m:?}");
        }
        assert_eq!(Moments::of_gaps(&times[..1], |_| ()).n, 0);
    }

    #[test]
    fn merging_equal_values_keeps_them_without_spread() {
        let mut all = Moments::new();
        for _ in 0..3 {
            all.merge(&Moments::of_gaps(&[0, 7_000_000_001, 14_000_000_002], |_| ()));
            all.merge(&Moments::new());
        }
        assert_eq!((all.n, all.mean(), all.std()), (6, 7_000_000_001.0, 0.0));
    }
}
