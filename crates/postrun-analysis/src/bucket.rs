//! Prompt-length buckets: every request in exactly one, so that the buckets add up to the whole.
//!
//! Buckets are half-open: `[edge, next edge)`, the last one open. Automatic edges lie near quantiles of the prompt
//! lengths (at most 8 buckets), rounded to friendly numbers where at least 20 requests stay on each side; equal lengths
//! are never split, so a run of one length has one bucket. `--buckets 0,128,2k` sets the edges; a bucket from 0 is always
//! there, and k is 1024. Requests whose prompt length is not recorded form a bucket of their own. Failed requests are
//! counted in their bucket and enter none of its latencies.

use crate::figure::MetricSummary;
use crate::requests::{Outcome, Requests};
use crate::window::Window;
use serde::Serialize;

/// Smallest automatic bucket.
const MIN_REQUESTS: usize = 20;
/// Most automatic buckets.
const MAX_BUCKETS: usize = 8;
const FRIENDLY: [u32; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];

/// Lower edges of half-open buckets `[edge, next edge)`; the last is open. Rising, the first is 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BucketEdges(pub Vec<u32>);

/// One bucket of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BucketResult {
    /// First prompt length inside; `None`: prompt length not recorded.
    pub lo: Option<u32>,
    /// First prompt length beyond; `None`: no upper end.
    pub hi: Option<u32>,
    /// Measured requests in it.
    pub requests: u64,
    /// Of them ok.
    pub ok: u64,
    /// Of them failed.
    pub failed: u64,
    /// Every metric that has values here.
    pub metrics: Vec<MetricSummary>,
}

impl BucketEdges {
    /// Edges as the user gave them; sorted, without repeats, 0 in front.
    pub fn given(mut edges: Vec<u32>) -> BucketEdges {
        edges.push(0);
        edges.sort_unstable();
        edges.dedup();
        BucketEdges(edges)
    }

    /// Edges near the quantiles of the prompt lengths, rounded to friendly numbers where that keeps at least
    /// 20 requests on each side. Edges lie between lengths, so equal lengths are never split.
    pub fn automatic(lengths: &[u32]) -> BucketEdges {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable();
        let wanted = (sorted.len() / MIN_REQUESTS).min(MAX_BUCKETS);
        let mut edges = vec![0u32];
        let below = |edge: u32| sorted.partition_point(|v| *v < edge);
        for i in 1..wanted {
            let exact = sorted[i * sorted.len() / wanted];
            let last = edges.last().map_or(0, |e| below(*e));
            let fits = |edge: u32| below(edge) >= last + MIN_REQUESTS && below(edge) + MIN_REQUESTS <= sorted.len();
            let two_digits = [two_digits(exact), two_digits(exact).saturating_add(step(exact))];
            let candidates = [friendly(exact)].into_iter().chain(two_digits).chain([exact, exact.saturating_add(1)]);
            if let Some(edge) = candidates.into_iter().find(|e| fits(*e)) {
                edges.push(edge);
            }
        }
        BucketEdges(edges)
    }

    /// Position of the bucket of each measured request; one past the last for unknown lengths, and `None` for
    /// requests outside the measurement.
    pub(crate) fn assign(&self, requests: &Requests) -> Vec<Option<u32>> {
        let unknown = self.0.len() as u32;
        let of = |length: Option<u32>| match length {
            Some(length) => self.0.partition_point(|e| *e <= length) as u32 - 1,
            None => unknown,
        };
        let n = requests.len();
        (0..n).map(|i| requests.measured[i].then(|| of(requests.prompt_tokens[i]))).collect()
    }

    /// Empty results, one a bucket, plus one for unknown lengths if there are any.
    pub(crate) fn results(
        &self,
        requests: &Requests,
        assigned: &[Option<u32>],
        window: Option<Window>,
    ) -> Vec<BucketResult> {
        let mut out: Vec<BucketResult> = (0..=self.0.len())
            .map(|b| BucketResult {
                lo: self.0.get(b).copied(),
                hi: self.0.get(b + 1).copied(),
                requests: 0,
                ok: 0,
                failed: 0,
                metrics: Vec::new(),
            })
            .collect();
        for (i, bucket) in assigned.iter().enumerate().filter(|(i, _)| requests.belongs(*i, window)) {
            let Some(result) = bucket.and_then(|b| out.get_mut(b as usize)) else { continue };
            result.requests += 1;
            match requests.status[i] {
                Outcome::Ok => result.ok += 1,
                Outcome::Failed => result.failed += 1,
                Outcome::Incomplete => {}
            }
        }
        if out.last().is_some_and(|unknown| unknown.requests == 0) {
            out.pop();
        } else if self.0.len() == 1 && out.first().is_some_and(|all| all.requests == 0) {
            out.remove(0);
        }
        out
    }
}

/// The friendly number nearest to `value`: 10, 12, 15, 20 … times a power of ten; below 10 itself.
fn friendly(value: u32) -> u32 {
    if value < 10 {
        return value;
    }
    let mut scale = 1u64;
    while scale * 100 <= u64::from(value) {
        scale *= 10;
    }
    let candidates = FRIENDLY.iter().chain([&100]).map(|f| u64::from(*f) * scale);
    let nearest = candidates.min_by_key(|c| c.abs_diff(u64::from(value)));
    nearest.and_then(|c| u32::try_from(c).ok()).unwrap_or(value)
}

/// One in the second digit of `value`.
fn step(value: u32) -> u32 {
    10u32.pow(value.max(10).ilog10() - 1)
}

/// `value` with all but its first two digits set to zero.
fn two_digits(value: u32) -> u32 {
    value / step(value) * step(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_friendly_and_leave_twenty_each() {
        let lengths: Vec<u32> = (0..200).map(|i| 10 + i * 10).collect();
        let edges = BucketEdges::automatic(&lengths);
        // 2000 would leave 19 above the last edge, so that one keeps two digits of 1760.
        assert_eq!(edges.0, [0, 250, 500, 800, 1000, 1200, 1500, 1700]);
    }

    #[test]
    fn equal_lengths_stay_together() {
        assert_eq!(BucketEdges::automatic(&[512; 500]).0, [0]);
        assert_eq!(BucketEdges::automatic(&[512; 19]).0, [0]);
        let mut mixed = vec![128; 100];
        mixed.extend([2048; 30]);
        let edges = BucketEdges::automatic(&mixed);
        assert!(edges.0.len() == 2 && edges.0[1] > 128 && edges.0[1] <= 2048, "{edges:?}");
    }

    #[test]
    fn friendly_numbers() {
        let got: Vec<u32> = [7, 97, 173, 1024, 2300, 7900, u32::MAX].into_iter().map(friendly).collect();
        assert_eq!(got, [7, 100, 150, 1000, 2500, 8000, 4_000_000_000]);
    }
}
