//! Gaps between chunks, counted in logarithmic bins wide enough to be drawn.

use crate::order_stats::bin_start;
use std::collections::BTreeMap;

/// Gaps of one length, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapBin {
    /// Its place on the scale of all bins: [`GapBin::PER_OCTAVE`] of them double the length.
    pub place: u32,
    /// How many.
    pub count: u64,
}

impl GapBin {
    /// Bins from a length to its double: each is about 2 % wide.
    pub const PER_OCTAVE: u32 = 32;

    /// Where the bin at a place begins, in nanoseconds; it ends where the next begins.
    pub fn start_ns(place: u32) -> f64 {
        2f64.powf(f64::from(place) / f64::from(Self::PER_OCTAVE))
    }

    fn place_of(ns: u64) -> u32 {
        // Gaps of less than a nanosecond are in the first bin.
        ((ns.max(1) as f64).log2() * f64::from(Self::PER_OCTAVE)) as u32
    }
}

/// Bins of `counts`, which are those of `order_stats`: far narrower.
pub(crate) fn of_counts(counts: &[u64]) -> Vec<GapBin> {
    let mut bins: BTreeMap<u32, u64> = BTreeMap::new();
    for (k, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        *bins.entry(GapBin::place_of(bin_start(k))).or_default() += count;
    }
    bins.into_iter().map(|(place, count)| GapBin { place, count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_stats::Counter;

    #[test]
    fn every_gap_is_in_a_bin_near_it() {
        let mut counter = Counter::<0>::new();
        for ns in [0, 1, 20_000_000, 20_000_001, 3_000_000_000] {
            counter.add(ns, 2);
        }
        let bins = of_counts(counter.counts());
        assert_eq!(bins.iter().map(|b| b.count).collect::<Vec<_>>(), [4, 4, 2]);
        let start = GapBin::start_ns(bins[1].place);
        assert!((0.97..=1.0).contains(&(start / 20_000_000.0)), "{start}");
    }
}
