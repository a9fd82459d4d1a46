//! Exact order statistics of a stream that is too long for memory, in two passes.
//!
//! Pass one counts values in fine logarithmic bins; then it is known in which bin each wanted rank lies. Pass two
//! keeps the values of those bins alone. Memory follows the number of bins and the values around the wanted ranks,
//! never the length of the stream; the result is exact, not an estimate.

use crate::convention::recipe::Method;
use crate::moments::{Moments, gap};
use crate::percentile::Position;
use crate::summary::Summary;

/// 4096 bins an octave.
const BITS: u32 = 12;
const BINS: usize = ((64 - BITS as usize) << BITS) + (1 << BITS);
/// When so many values wait, equal ones are folded together.
const FOLD_AT: usize = 1 << 20;

/// Below `2^(BITS+1)` one bin a value, above that `2^BITS` bins an octave.
#[inline(always)]
fn bin(value: u64) -> usize {
    let octave = 63 - BITS - (value | 1 << BITS).leading_zeros();
    ((octave as usize) << BITS) + (value >> octave) as usize
}

/// The smallest value of a bin; the largest there is beyond the last.
pub(crate) fn bin_start(bin: usize) -> u64 {
    match bin >> BITS {
        0 => bin as u64,
        // Two octaves share the first scale: there a bin is a value.
        above => {
            let octave = above as u32 - 1;
            let mantissa = bin as u64 - (u64::from(octave) << BITS);
            if octave > 63 - BITS { u64::MAX } else { mantissa.saturating_mul(1 << octave) }
        }
    }
}

/// Counts of values in bins, `2^COARSER` fine ones in each.
#[derive(Clone)]
pub(crate) struct Counter<const COARSER: u32> {
    bins: Vec<u64>,
    moments: Moments,
}

impl<const COARSER: u32> Counter<COARSER> {
    const BINS: usize = (BINS >> COARSER) + 1;

    pub(crate) fn new() -> Self {
        Counter { bins: Vec::new(), moments: Moments::new() }
    }

    /// The bins, once there is something to count.
    fn bins(&mut self) -> &mut [u64] {
        if self.bins.is_empty() {
            self.bins = vec![0; Self::BINS];
        }
        &mut self.bins
    }

    /// Counts `value` `weight` times.
    #[inline]
    pub(crate) fn add(&mut self, value: u64, weight: u64) {
        self.bins()[bin(value) >> COARSER] += weight;
        self.moments.add(value, weight);
    }

    /// Adds all counts of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.moments.n == 0 {
            return;
        }
        let used = (bin(other.moments.min) >> COARSER)..(bin(other.moments.max) >> COARSER) + 1;
        self.bins()[used.clone()].iter_mut().zip(&other.bins[used]).for_each(|(a, b)| *a += b);
        self.moments.merge(&other.moments);
    }

    /// How many values each bin holds; empty before the first value.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.bins
    }

    /// What pass two must keep to answer `percentiles`.
    pub(crate) fn plan(self, percentiles: &[f64], method: Method) -> Selection<COARSER> {
        let positions: Vec<(f64, Position)> = match self.moments.n {
            0 => Vec::new(),
            n => percentiles.iter().map(|p| (*p, Position::new(n, *p, method))).collect(),
        };
        let mut ranks: Vec<u64> = positions.iter().flat_map(|(_, pos)| pos.ranks()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut selection = Selection { moments: self.moments, positions, ..Selection::new() };
        let (mut below, mut next) = (0u64, ranks.iter().copied().peekable());
        let from = bin(self.moments.min) >> COARSER;
        for (bin, count) in self.bins.iter().enumerate().skip(from) {
            while let Some(rank) = next.next_if(|rank| *rank < below + count) {
                selection.wanted[bin / 64] |= 1 << (bin % 64);
                selection.targets.push(Target { rank, bin, offset: rank - below });
            }
            below += count;
            if below == self.moments.n {
                break;
            }
        }
        selection
    }
}

/// Counts the gaps between times in one or two counters.
pub(crate) fn count_gaps<const A: u32, const B: u32>(
    times: &[i64],
    a: Option<&mut Counter<A>>,
    b: Option<&mut Counter<B>>,
) {
    if times.len() < 2 {
        return;
    }
    match (a, b) {
        (Some(a), Some(b)) => {
            let (bins_a, bins_b) = (a.bins(), b.bins());
            let moments = Moments::of_gaps(times, |gap| {
                let bin = bin(gap);
                bins_a[bin >> A] += 1;
                bins_b[bin >> B] += 1;
            });
            a.moments.merge(&moments);
            b.moments.merge(&moments);
        }
        (Some(a), None) => a.count(times),
        (None, Some(b)) => b.count(times),
        (None, None) => {}
    }
}

impl<const COARSER: u32> Counter<COARSER> {
    fn count(&mut self, times: &[i64]) {
        let bins = self.bins();
        let moments = Moments::of_gaps(times, |gap| bins[bin(gap) >> COARSER] += 1);
        self.moments.merge(&moments);
    }
}

struct Target {
    rank: u64,
    bin: usize,
    /// Rank inside its bin.
    offset: u64,
}

/// Pass two.
pub(crate) struct Selection<const COARSER: u32> {
    moments: Moments,
    positions: Vec<(f64, Position)>,
    wanted: Vec<u64>,
    targets: Vec<Target>,
    raw: Vec<(u64, u64)>,
    folded: Vec<(u64, u64)>,
}

impl<const COARSER: u32> Selection<COARSER> {
    /// One that wants nothing yet.
    pub(crate) fn new() -> Self {
        let wanted = vec![0; Counter::<COARSER>::BINS.div_ceil(64)];
        let moments = Moments::new();
        Selection { moments, positions: Vec::new(), wanted, targets: Vec::new(), raw: Vec::new(), folded: Vec::new() }
    }

    /// Sees a value again, in any order, with the weight of pass one.
    #[inline]
    pub(crate) fn see(&mut self, value: u64, weight: u64) {
        if self.wants(bin(value)) {
            self.raw.push((value, weight));
            if self.raw.len() >= FOLD_AT {
                self.fold();
            }
        }
    }

    /// Whether it wants the values of a fine bin.
    #[inline(always)]
    fn wants(&self, bin: usize) -> bool {
        let bin = bin >> COARSER;
        self.wanted[bin / 64] >> (bin % 64) & 1 == 1
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
        if self.moments.n == 0 {
            return None;
        }
        self.fold();
        let mut found: Vec<(u64, f64)> = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            let start = self.folded.partition_point(|(v, _)| bin(*v) >> COARSER < target.bin);
            let mut left = target.offset;
            let value = self.folded[start..].iter().find(|(_, weight)| {
                let here = left < *weight;
                left = left.saturating_sub(*weight);
                here
            });
            found.push((target.rank, value.map_or(f64::NAN, |(v, _)| *v as f64 * scale)));
        }
        let at = |rank: u64| found.binary_search_by_key(&rank, |(r, _)| *r).map_or(f64::NAN, |i| found[i].1);
        let m = &self.moments;
        Some(Summary {
            count: m.n,
            mean: m.mean() * scale,
            std: m.std() * scale,
            min: m.min as f64 * scale,
            max: m.max as f64 * scale,
            percentiles: self.positions.iter().map(|(p, pos)| pos.resolve(m.n, *p, at)).collect(),
        })
    }
}

/// Sees the gaps between times again, for one or two selections.
pub(crate) fn see_gaps<const A: u32, const B: u32>(
    times: &[i64],
    a: Option<&mut Selection<A>>,
    b: Option<&mut Selection<B>>,
) {
    let gaps = times.windows(2).map(|w| gap(w[0], w[1]));
    match (a, b) {
        (Some(a), Some(b)) => gaps.for_each(|gap| {
            let bin = bin(gap);
            if a.wants(bin) {
                a.see(gap, 1);
            }
            if b.wants(bin) {
                b.see(gap, 1);
            }
        }),
        (Some(a), None) => gaps.for_each(|gap| a.see(gap, 1)),
        (None, Some(b)) => gaps.for_each(|gap| b.see(gap, 1)),
        (None, None) => {}
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
        let mut selection = a.plan(&PERCENTILES, Method::Linear);
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
        let mut s = c.plan(&[50.0, 100.0], Method::Linear);
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
        for v in (0..10_000u64).chain((14..63).map(|e| 1 << e)).chain([u64::MAX]) {
            let bin = bin(v);
            assert!(bin >= last && bin < BINS, "{v}");
            assert!(bin_start(bin) <= v && v <= bin_start(bin + 1), "{v}");
            last = bin;
        }
    }
}
