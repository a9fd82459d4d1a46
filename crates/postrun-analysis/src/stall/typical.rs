//! Pass one: how long a step usually takes, for each request and for the run.
//!
//! At most 64 gaps of a request are looked at, spread evenly over it. That says what is typical; it says nothing of what
//! is rare, which is what pass two is for.

use super::smoothed::{chunk_end, starts_chunk};
use crate::requests::Requests;

/// Gaps looked at in one request.
const SAMPLE: usize = 64;
/// Chunks closer together than this were read in one go: their distance is no step.
const READ_AT_ONCE_NS: i64 = 300_000;
/// That many real gaps are enough to leave the others out.
const ENOUGH: usize = 3;
/// A gap below this share of a typical one delivers what came late.
pub(super) const CATCH_UP: f64 = 0.35;
/// Shorter prompts say little of the speed of a prefill.
const MIN_PROMPT: u32 = 16;
const MIN_PREFILLS: usize = 5;
/// A step that is shorter than this was not measured.
const SHORTEST_STEP_NS: f64 = 1_000.0;

/// What is typical of the run.
#[derive(Debug, Default)]
pub(super) struct Usual {
    /// A step, over the whole run.
    pub step_ns: f64,
    /// A step of each request; 0 where nothing was seen.
    pub by_request: Vec<f32>,
    /// Late chunks to a step.
    pub catch_up: f64,
    /// Share of a request's tokens that come in one chunk with another token.
    pub merged: f64,
    /// Nanoseconds for a token of the prompt, on a good day.
    pub prefill_ns: f64,
}

impl Usual {
    /// A step near this request, kept near that of the run: a short request may have seen nothing but prefills.
    pub(super) fn step(&self, request: usize) -> f64 {
        let own = self.by_request.get(request).map_or(0.0, |s| f64::from(*s));
        let (low, high) = (self.step_ns / 2.0, self.step_ns * 2.0);
        if own > 0.0 { own.clamp(low, high) } else { self.step_ns }
    }
}

/// Collects what [`Usual`] says.
pub(super) struct Sampler {
    smoothed: bool,
    sample: Vec<i64>,
    by_request: Vec<f32>,
    all: Histogram,
    real: Histogram,
    catch_up: [u64; SAMPLE + 1],
}

impl Sampler {
    pub(super) fn new(requests: usize, smoothed: bool) -> Sampler {
        Sampler {
            smoothed,
            sample: Vec::with_capacity(SAMPLE),
            by_request: vec![0.0; requests],
            all: Histogram::new(),
            real: Histogram::new(),
            catch_up: [0; SAMPLE + 1],
        }
    }

    /// Looks at a request with at least two chunks.
    pub(super) fn add(&mut self, request: usize, at_ns: &[i64]) {
        self.fill(at_ns);
        // Each value stands for as many gaps.
        let weight = at_ns.len().saturating_sub(1) as f64 / self.sample.len().max(1) as f64;
        for gap in &self.sample {
            let real = if *gap > READ_AT_ONCE_NS { &mut self.real } else { &mut self.all };
            real.add(*gap as f64, weight);
        }
        let n = self.sample.len();
        let Some(step) = typical(&mut self.sample) else { return };
        let fast = (CATCH_UP * step) as i64;
        let late = self.sample.iter().filter(|gap| **gap < fast).count();
        if let Some(count) = self.catch_up.get_mut(late * SAMPLE / n.max(1)) {
            *count += 1;
        }
        if let Some(own) = self.by_request.get_mut(request) {
            *own = step as f32;
        }
    }

    /// Gaps at places spread evenly. In a smoothed recording only the first entry of a chunk speaks for it, so that a
    /// chunk of many tokens is not taken more often.
    fn fill(&mut self, at_ns: &[i64]) {
        self.sample.clear();
        let gaps = at_ns.len().saturating_sub(1);
        let taken = gaps.min(SAMPLE);
        for place in 0..taken {
            let k = if gaps <= SAMPLE { place } else { spread(place, gaps) };
            let end = match self.smoothed {
                true if k > 0 && !starts_chunk(at_ns, k + 1) => continue,
                true => chunk_end(at_ns, k + 1),
                false => k + 1,
            };
            if let (Some(from), Some(to)) = (at_ns.get(k), at_ns.get(end)) {
                self.sample.push(to.saturating_sub(*from).max(0));
            }
        }
    }

    pub(super) fn finish(mut self, requests: &Requests) -> Usual {
        // The small ones count only where there is hardly anything else.
        if self.real.total < ENOUGH as f64 {
            self.real.merge(&self.all);
        }
        let step_ns = guarded(self.real.quantile(0.5), self.real.quantile(0.75)).max(SHORTEST_STEP_NS);
        let half = self.catch_up.iter().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let median = self.catch_up.iter().position(|count| {
            seen += count;
            seen >= half
        });
        let share = median.unwrap_or(0) as f64 / SAMPLE as f64;
        Usual {
            step_ns,
            by_request: self.by_request,
            catch_up: share / (1.0 - share).max(0.01),
            merged: merged_share(requests, self.smoothed),
            prefill_ns: prefill_ns(requests, MIN_PROMPT, 0.05).unwrap_or(0.0),
        }
    }
}

/// One place in each of [`SAMPLE`] equal parts, not the same in all: a regular pattern of gaps must not meet a regular
/// pattern of places.
fn spread(place: usize, gaps: usize) -> usize {
    let part = (place as f64 * 0.618_033_988_749_894_9).fract();
    (((place as f64 + part) / SAMPLE as f64 * gaps as f64) as usize).min(gaps - 1)
}

/// The typical gap: the median, unless half of the gaps are next to nothing.
fn typical(gaps: &mut [i64]) -> Option<f64> {
    let mut real = 0;
    for i in 0..gaps.len() {
        if gaps[i] > READ_AT_ONCE_NS {
            gaps.swap(i, real);
            real += 1;
        }
    }
    let gaps = if real >= ENOUGH { gaps.split_at_mut(real).0 } else { gaps };
    gaps.sort_unstable();
    let at = |share: f64| {
        let h = gaps.len().checked_sub(1)? as f64 * share;
        let (below, fraction) = (h as usize, h.fract());
        let (low, high) = (*gaps.get(below)? as f64, gaps.get(below + 1).map(|next| *next as f64));
        Some(low + (high.unwrap_or(low) - low) * fraction)
    };
    Some(guarded(at(0.5)?, at(0.75)?))
}

fn guarded(median: f64, p75: f64) -> f64 {
    median.max(0.5 * p75)
}

/// Linear between order statistics, as everywhere. Changes the order.
pub(super) fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    let h = values.len().checked_sub(1)? as f64 * share;
    let below = h.floor() as usize;
    let (_, at, above) = values.select_nth_unstable_by(below.min(values.len() - 1), f64::total_cmp);
    let next = above.iter().copied().fold(f64::INFINITY, f64::min);
    let fraction = h - below as f64;
    Some(if fraction > 0.0 && next.is_finite() { *at + (next - *at) * fraction } else { *at })
}

/// A low quantile of TTFT over prompt length; `None` with few requests that tell.
pub(super) fn prefill_ns(requests: &Requests, min_prompt: u32, share: f64) -> Option<f64> {
    let per_token = |i: usize| {
        let (ttft, prompt) = (requests.ttft_ns[i]?, requests.prompt_tokens[i]?);
        (ttft > 0 && prompt >= min_prompt).then(|| ttft as f64 / f64::from(prompt))
    };
    let ok = (0..requests.len()).filter(|i| requests.counts(*i));
    let mut all: Vec<f64> = ok.filter_map(per_token).collect();
    if all.len() < MIN_PREFILLS { None } else { quantile(&mut all, share) }
}

/// Tokens beyond one a chunk that a request got; 0 where it is not known.
pub(super) fn merged_tokens(requests: &Requests, i: usize) -> f64 {
    let known = requests.chunks.get(i).copied().flatten().zip(requests.output_tokens.get(i).copied().flatten());
    known.map_or(0.0, |(chunks, output)| f64::from(output.saturating_sub(chunks)))
}

fn merged_share(requests: &Requests, smoothed: bool) -> f64 {
    let share = |i: usize| {
        let output = requests.output_tokens[i].filter(|n| *n > 0)?;
        Some(merged_tokens(requests, i) / f64::from(output))
    };
    let several = |i: &usize| requests.counts(*i) && requests.chunks[*i].is_some_and(|n| n > 1);
    let mut all: Vec<f64> = (0..requests.len()).filter(several).filter_map(share).collect();
    if smoothed { 0.0 } else { quantile(&mut all, 0.5).unwrap_or(0.0) }
}

/// Weighted counts in 64 bins an octave: quantiles to one percent, of any number of values.
pub(super) struct Histogram {
    bins: Vec<f64>,
    pub total: f64,
}

/// log2 of the bins in an octave.
const BITS: u32 = 6;

impl Histogram {
    pub(super) fn new() -> Histogram {
        Histogram { bins: vec![0.0; 64 << BITS], total: 0.0 }
    }

    #[inline]
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        let value = value as u64;
        let octave = (63 - (value | 1).leading_zeros()).max(BITS) - BITS;
        let bin = ((octave as usize) << BITS) + (value >> octave) as usize;
        if let Some(count) = self.bins.get_mut(bin) {
            *count += weight;
            self.total += weight;
        }
    }

    fn merge(&mut self, other: &Histogram) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(a, b)| *a += b);
        self.total += other.total;
    }

    /// The middle of the bin in which the quantile lies; 0 if nothing was counted.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        let found = self.bins.iter().position(|count| {
            below += count;
            below > 0.0 && below >= share * self.total
        });
        let Some(bin) = found else { return 0.0 };
        let octave = (bin >> BITS).saturating_sub(1);
        let low = (bin - (octave << BITS)) as f64 * (octave as f64).exp2();
        low + ((octave as f64).exp2() - 1.0) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_read_in_one_go_does_not_halve_the_step() {
        assert_eq!(typical(&mut [1_000_000, 2_000_000, 3_000_000]), Some(2e6));
        assert_eq!(typical(&mut [0, 0, 0, 8_000_000, 9_000_000, 9_000_000]), Some(9e6));
        // No three real ones: all count, and the upper quartile guards.
        assert_eq!(typical(&mut [0, 0, 8_000_000, 8_000_000]), Some(4e6));
        assert_eq!(typical(&mut []), None);
    }

    #[test]
    fn places_are_spread_and_meet_no_pattern() {
        let places: Vec<usize> = (0..SAMPLE).map(|i| spread(i, 1000)).collect();
        assert!(places.windows(2).all(|w| w[0] < w[1]) && places[0] < 16 && places[63] > 983);
        let odd = (0..SAMPLE).filter(|i| spread(*i, 128) % 2 == 1).count();
        assert!((16..=48).contains(&odd), "{odd}");
    }

    #[test]
    fn a_histogram_is_close() {
        let mut h = Histogram::new();
        (1..=1001).for_each(|i| h.add(f64::from(i) * 1e6, 2.0));
        assert!((h.quantile(0.5) / 501e6 - 1.0).abs() < 0.01 && (h.quantile(0.95) / 951e6 - 1.0).abs() < 0.01);
        assert_eq!(Histogram::new().quantile(0.5), 0.0);
        h.add(f64::MAX, 1.0);
        h.add(f64::NAN, 1.0);
    }
}
