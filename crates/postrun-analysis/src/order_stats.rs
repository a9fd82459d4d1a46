//! Exact order statistics of a stream that is too long for memory, in two passes.
//!
//! Pass one counts values in fine logarithmic bins; then it is known in which bin each wanted rank lies. Pass two
//! keeps the values of those bins alone. Memory follows the number of bins and the values around the wanted ranks,
//! never the length of the stream; the result is exact, not an estimate.

use crate::percentile::Position;
use crate::summary::Summary;

/// Sums kept side by side.
const LANES: usize = 4;
/// When so many values wait, equal ones are folded together.
const FOLD_AT: usize = 1 << 20;

/// Counts of values in bins: below `2^(BITS+1)` one bin a value, above that `2^BITS` bins an octave.
#[derive(Clone)]
pub(crate) struct Counter<const BITS: u32> {
    bins: Vec<u64>,
    n: u64,
    sum: f64,
    /// Sum of squares around `shift`, which is the first value: keeps precision where the spread is small.
    sum_sq: f64,
    shift: f64,
    min: u64,
    max: u64,
}

impl<const BITS: u32> Counter<BITS> {
    const BINS: usize = ((64 - BITS as usize) << BITS) + (1 << BITS);

    pub(crate) fn new() -> Self {
        Counter { bins: Vec::new(), n: 0, sum: 0.0, sum_sq: 0.0, shift: 0.0, min: u64::MAX, max: 0 }
    }

    #[inline]
    fn bin(value: u64) -> usize {
        let octave = (63 - (value | 1).leading_zeros()).max(BITS) - BITS;
        ((octave as usize) << BITS) + (value >> octave) as usize
    }

    /// Counts `value` `weight` times.
    #[inline]
    pub(crate) fn add(&mut self, value: u64, weight: u64) {
        if self.n == 0 {
            self.bins = vec![0; Self::BINS];
            self.shift = value as f64;
        }
        self.bins[Self::bin(value)] += weight;
        self.n += weight;
        let (off, w) = (value as f64 - self.shift, weight as f64);
        self.sum += off * w;
        self.sum_sq += off * off * w;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts every value once.
    pub(crate) fn add_all(&mut self, values: &[u64]) {
        let Some(first) = values.first() else { return };
        if self.n == 0 {
            self.bins = vec![0; Self::BINS];
            self.shift = *first as f64;
        }
        // Four sums side by side: one alone would wait for the addition before it.
        let (mut sums, mut squares) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (mut min, mut max) = (self.min, self.max);
        let (lanes, rest) = values.as_chunks::<LANES>();
        let mut take = |lane: usize, value: u64| {
            self.bins[Self::bin(value)] += 1;
            let off = value as f64 - self.shift;
            sums[lane] += off;
            squares[lane] += off * off;
            min = min.min(value);
            max = max.max(value);
        };
        for four in lanes {
            four.iter().enumerate().for_each(|(lane, value)| take(lane, *value));
        }
        rest.iter().for_each(|value| take(0, *value));
        let (sum, sum_sq): (f64, f64) = (sums.iter().sum(), squares.iter().sum());
        self.n += values.len() as u64;
        self.sum += sum;
        self.sum_sq += sum_sq;
        (self.min, self.max) = (min, max);
    }

    /// Adds all counts of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = other.clone();
            return;
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(a, b)| *a += b);
        // Around the new shift: Σ(x−s)² = Σ(x−o)² + 2(o−s)Σ(x−o) + n(o−s)².
        let (d, m) = (other.shift - self.shift, other.n as f64);
        self.sum_sq += other.sum_sq + 2.0 * d * other.sum + m * d * d;
        self.sum += other.sum + m * d;
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// What pass two must keep to answer `percentiles`.
    pub(crate) fn plan(self, percentiles: &[f64]) -> Selection<BITS> {
        let positions: Vec<(f64, Position)> = match self.n {
            0 => Vec::new(),
            n => percentiles.iter().map(|p| (*p, Position::new(n, *p))).collect(),
        };
        let mut ranks: Vec<u64> = positions.iter().flat_map(|(_, pos)| pos.ranks()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut wanted = vec![0u64; Self::BINS.div_ceil(64)];
        let mut targets = Vec::new();
        let (mut below, mut next) = (0u64, ranks.iter().copied().peekable());
        for (bin, count) in self.bins.iter().enumerate() {
            while let Some(rank) = next.next_if(|rank| *rank < below + count) {
                wanted[bin / 64] |= 1 << (bin % 64);
                targets.push(Target { rank, bin, offset: rank - below });
            }
            below += count;
        }
        Selection { counter: self, positions, wanted, targets, raw: Vec::new(), folded: Vec::new() }
    }
}

struct Target {
    rank: u64,
    bin: usize,
    /// Rank inside its bin.
    offset: u64,
}

/// Pass two.
pub(crate) struct Selection<const BITS: u32> {
    counter: Counter<BITS>,
    positions: Vec<(f64, Position)>,
    wanted: Vec<u64>,
    targets: Vec<Target>,
    raw: Vec<(u64, u64)>,
    folded: Vec<(u64, u64)>,
}

impl<const BITS: u32> Selection<BITS> {
    /// Sees a value again, in any order, with the weight of pass one.
    #[inline]
    pub(crate) fn see(&mut self, value: u64, weight: u64) {
        let bin = Counter::<BITS>::bin(value);
        if self.wanted[bin / 64] >> (bin % 64) & 1 == 1 {
            self.raw.push((value, weight));
            if self.raw.len() >= FOLD_AT {
                self.fold();
            }
        }
    }

    /// Sees every value once.
    pub(crate) fn see_all(&mut self, values: &[u64]) {
        for value in values {
            let bin = Counter::<BITS>::bin(*value);
            if self.wanted[bin / 64] >> (bin % 64) & 1 == 1 {
                self.raw.push((*value, 1));
            }
        }
        if self.raw.len() >= FOLD_AT {
            self.fold();
        }
    }

    /// Keeps what `other` wants too, so that its values can be taken from here.
    pub(crate) fn keep_also(&mut self, other: &Self) {
        self.wanted.iter_mut().zip(&other.wanted).for_each(|(a, b)| *a |= b);
    }

    /// Takes what it wants from a selection that kept it.
    pub(crate) fn take_from(&mut self, other: &mut Self) {
        other.fold();
        for (value, weight) in &other.folded {
            self.see(*value, *weight);
        }
    }

    fn fold(&mut self) {
        self.folded.append(&mut self.raw);
        self.folded.sort_unstable();
        self.folded.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }

    /// The summary, every value multiplied by `scale`. `None` if there was no value.
    pub(crate) fn finish(mut self, scale: f64) -> Option<Summary> {
        if self.counter.n == 0 {
            return None;
        }
        self.fold();
        let mut found: Vec<(u64, f64)> = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            let start = self.folded.partition_point(|(v, _)| Counter::<BITS>::bin(*v) < target.bin);
            let mut left = target.offset;
            let value = self.folded[start..].iter().find(|(_, weight)| {
                let here = left < *weight;
                left = left.saturating_sub(*weight);
                here
            });
            found.push((target.rank, value.map_or(f64::NAN, |(v, _)| *v as f64 * scale)));
        }
        let at = |rank: u64| found.binary_search_by_key(&rank, |(r, _)| *r).map_or(f64::NAN, |i| found[i].1);
        let c = &self.counter;
        let n = c.n as f64;
        let off = c.sum / n;
        Some(Summary {
            count: c.n,
            mean: (c.shift + off) * scale,
            std: (c.sum_sq / n - off * off).max(0.0).sqrt() * scale,
            min: c.min as f64 * scale,
            max: c.max as f64 * scale,
            percentiles: self.positions.iter().map(|(p, pos)| pos.resolve(c.n, *p, at)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::PERCENTILES;

    fn streamed(values: &[u64]) -> Option<Summary> {
        let (mut a, mut b) = (Counter::<6>::new(), Counter::<6>::new());
        for (i, v) in values.iter().enumerate() {
            if i % 3 == 0 { a.add(*v, 1) } else { b.add(*v, 1) }
        }
        a.merge(&b);
        let mut selection = a.plan(&PERCENTILES);
        values.iter().for_each(|v| selection.see(*v, 1));
        selection.finish(1.0)
    }

    #[test]
    fn equals_sorting() {
        let mut x = 88172645463325252u64;
        for n in [1usize, 2, 3, 10, 1000, 20_000] {
            let values: Vec<u64> = (0..n)
                .map(|i| {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                    if i % 7 == 0 { x } else { x % 30_000_000 }
                })
                .map(|v| v >> 12)
                .collect();
            let streamed = streamed(&values).unwrap();
            let sorted = Summary::of(&mut values.iter().map(|v| *v as f64).collect::<Vec<_>>(), &PERCENTILES).unwrap();
            assert_eq!(streamed.percentiles, sorted.percentiles, "n = {n}");
            assert_eq!((streamed.count, streamed.min, streamed.max), (sorted.count, sorted.min, sorted.max));
            assert!((streamed.mean / sorted.mean - 1.0).abs() < 1e-12);
            assert!(n == 1 || (streamed.std / sorted.std - 1.0).abs() < 1e-9);
        }
        assert!(streamed(&[]).is_none());
    }

    #[test]
    fn weights_count_as_repeats() {
        let mut c = Counter::<6>::new();
        c.add(10, 3);
        c.add(20, 1);
        let mut s = c.plan(&[50.0, 100.0]);
        s.see(20, 1);
        s.see(10, 3);
        let summary = s.finish(0.5).unwrap();
        assert_eq!(
            (summary.count, summary.mean, summary.stat("p50"), summary.stat("p100")),
            (4, 6.25, Some(5.0), Some(10.0))
        );
    }

    #[test]
    fn bins_rise_with_values() {
        let mut last = 0;
        for v in (0..5000u64).chain((13..63).map(|e| 1 << e)).chain([u64::MAX]) {
            let bin = Counter::<6>::bin(v);
            assert!(bin >= last && bin < Counter::<6>::BINS, "{v}");
            last = bin;
        }
    }
}
