//! All comparisons of two sides together: how far each may be off so that, with 95 % probability, none is off further.
//!
//! # Circular block bootstrap
//! Requests of one run share queues, so they are no independent values: whole blocks of the run are drawn. Both sides are cut
//! into the same number of stretches, and the same blocks are drawn of both: where both sent the same requests these are
//! pairs, and where both queues grow for the whole run, that growth is no difference between them.
//!
//! # Many comparisons
//! Each draw gives the deviation of every comparison at once; the largest of them, each in units of its own spread, is what
//! nothing must exceed. Its 95 % quantile is the width of all intervals. So comparisons that move together, as the
//! percentiles of one metric do, cost little.
//!
//! # Few blocks
//! A spread that was estimated from few blocks is itself uncertain. Each draw is stretched as Student's t with as many
//! degrees of freedom as there are blocks, which for a single comparison is what the theory of fixed block shares gives.

use super::block::block_length;
use super::rng::{Rng, SEED};

/// Draws of the bootstrap.
const DRAWS: usize = 2000;
/// Lengths found in short series are often too short.
const SAFETY: f64 = 1.4;

/// Deviations of one side in one comparison, on the scale of comparison, by stretch.
pub(crate) type Adds = Vec<f64>;

/// Sum over each block of `length` stretches, circularly, as a spread of the sum over all: the standard error.
pub(crate) fn spread(adds: &[f64], length: usize) -> f64 {
    let n = adds.len();
    let length = length.clamp(1, n.max(1));
    let sums = block_sums(adds, length);
    let mean = sums.iter().sum::<f64>() / n.max(1) as f64;
    let variance = sums.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n.max(1) as f64;
    (variance * n as f64 / length as f64).sqrt()
}

/// Sums of `length` stretches from each on, past the end to the start.
fn block_sums(adds: &[f64], length: usize) -> Vec<f64> {
    let n = adds.len();
    if n == 0 {
        return Vec::new();
    }
    let mut sum: f64 = (0..length).map(|i| adds[i % n]).sum();
    let mut out = Vec::with_capacity(n);
    for start in 0..n {
        out.push(sum);
        sum += adds[(start + length) % n] - adds[start];
    }
    out
}

/// The length of blocks for these series: the longest that one of them needs.
pub(crate) fn common_length<'a>(series: impl Iterator<Item = &'a [f64]>) -> usize {
    let longest = series.map(block_length).fold(1.0, f64::max);
    (longest * SAFETY).round() as usize
}

/// How many spreads no comparison of a family exceeds, with probability `level`, family by family.
pub(crate) fn critical(differences: &[Adds], families: &[usize], levels: &[f64], length: usize) -> Vec<f64> {
    let stretches = differences.first().map_or(0, Vec::len);
    if stretches == 0 {
        return vec![f64::INFINITY; levels.len()];
    }
    let length = length.clamp(1, stretches);
    let blocks = stretches.div_ceil(length);
    let freedom = stretches as f64 / length as f64;
    let sums: Vec<Vec<f64>> = differences.iter().map(|d| standardised(d, length)).collect();
    let mut rng = Rng::new(SEED);
    let mut largest = vec![Vec::with_capacity(DRAWS); levels.len()];
    let mut starts = vec![0; blocks];
    let scale = 1.0 / (blocks as f64).sqrt();
    for _ in 0..DRAWS {
        starts.iter_mut().for_each(|s| *s = rng.below(stretches));
        let stretch = rng.stretch(freedom);
        let mut most = vec![0.0f64; levels.len()];
        for (sums, family) in sums.iter().zip(families) {
            let deviation = starts.iter().map(|s| sums[*s]).sum::<f64>().abs() * scale * stretch;
            if let Some(most) = most.get_mut(*family) {
                *most = most.max(deviation);
            }
        }
        largest.iter_mut().zip(most).for_each(|(all, most)| all.push(most));
    }
    let quantile = |(values, level): (&mut Vec<f64>, &f64)| {
        values.sort_by(f64::total_cmp);
        let at = (level * DRAWS as f64).ceil() as usize;
        values.get(at.min(DRAWS - 1)).copied().unwrap_or(f64::INFINITY)
    };
    largest.iter_mut().zip(levels).map(quantile).collect()
}

/// Sums of blocks, less their mean, in units of their spread; all 0 where nothing varies.
fn standardised(adds: &[f64], length: usize) -> Vec<f64> {
    let mut sums = block_sums(adds, length);
    let n = sums.len().max(1) as f64;
    let mean = sums.iter().sum::<f64>() / n;
    let spread = (sums.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n).sqrt();
    for s in &mut sums {
        *s = if spread > 0.0 { (*s - mean) / spread } else { 0.0 };
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::block::at_least;

    /// Eight comparisons that share what is correlated over time, and whose true change is 0.
    fn equal_pair(rng: &mut Rng, n: usize) -> Vec<Adds> {
        let mut level = 0.0;
        let shared: Vec<f64> = (0..n)
            .map(|_| {
                level = 0.6 * level + rng.normal();
                level
            })
            .collect();
        (0..8).map(|_| shared.iter().map(|s| s + rng.normal()).collect()).collect()
    }

    #[test]
    fn all_intervals_hold_together() {
        let mut rng = Rng::new(SEED);
        let (pairs, n) = (100, 200);
        let mut false_pairs = 0;
        for _ in 0..pairs {
            let differences = equal_pair(&mut rng, n);
            let length = at_least(common_length(differences.iter().map(Vec::as_slice)), n);
            let width = critical(&differences, &[0; 8], &[0.95], length)[0];
            // The blocks vary around the mean of the sample, the sum around 0.
            let beyond = |d: &Adds| d.iter().sum::<f64>().abs() > width * spread(d, length);
            false_pairs += usize::from(differences.iter().any(beyond));
        }
        // 5 are expected; more than 12 come by chance once in 500 times.
        assert!(false_pairs <= 12, "{false_pairs} of {pairs}");
    }

    #[test]
    fn more_comparisons_need_wider_intervals() {
        let mut rng = Rng::new(SEED);
        let many: Vec<Adds> = (0..20).map(|_| (0..200).map(|_| rng.normal()).collect()).collect();
        let all = critical(&many, &[0; 20], &[0.95], 10)[0];
        let one = critical(&many[..1], &[0], &[0.95], 10)[0];
        // Of a single comparison with 20 blocks: Student's t of 20 degrees of freedom is 2.086.
        assert!(one > 1.9 && one < 2.3 && all > one + 0.5, "{one} {all}");
        assert_eq!(critical(&[], &[], &[0.95], 10), [f64::INFINITY]);
    }
}
