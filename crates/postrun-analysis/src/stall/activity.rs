//! What went on at each moment: chunks that arrived, requests in decode, requests in a pause, tokens held.
//!
//! Time is cut into bins of at most a quarter of a step (one and more in runs of many hours). All that is asked later
//! are sums over a range of bins, so each array becomes a prefix sum.

use crate::window::Window;

/// Bins of a run.
const MOST_BINS: u64 = 1 << 21;
/// Shortest bin, about 1 ms: finer than any client's clock of chunks.
const SHORTEST: u32 = 20;
/// Longest bin that a long step asks for, about 17 ms.
const LONGEST: u32 = 24;

/// The run's time in bins whose width is a power of two, so that finding one costs a shift.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    start_ns: i64,
    shift: u32,
    bins: usize,
}

impl Axis {
    pub(super) fn new(run: Window, step_ns: f64) -> Axis {
        let quarter = (step_ns / 4.0).clamp(1.0, 1e18) as u64;
        let mut shift = quarter.ilog2().clamp(SHORTEST, LONGEST);
        let length = run.end_ns.saturating_sub(run.start_ns).max(0) as u64;
        while length >> shift > MOST_BINS {
            shift += 1;
        }
        Axis { start_ns: run.start_ns, shift, bins: (length >> shift) as usize + 2 }
    }

    /// The bin of a moment; what lies outside the run is in the first or the last.
    #[inline]
    pub(super) fn bin(&self, at_ns: i64) -> usize {
        let since = at_ns.saturating_sub(self.start_ns).max(0) as u64;
        ((since >> self.shift) as usize).min(self.bins - 1)
    }

    /// Width of a bin.
    pub(super) fn width_ns(&self) -> i64 {
        1 << self.shift
    }
}

/// Filled request by request.
pub(super) struct Activity {
    pub axis: Axis,
    /// Chunks that make a step.
    arrivals: Vec<u32>,
    /// Change in the number of requests between first and last token …
    decoding: Vec<i32>,
    /// … and of those among them that are in a long gap.
    paused: Vec<i32>,
    /// Second difference of the tokens in flight.
    held: Vec<f64>,
}

impl Activity {
    pub(super) fn new(axis: Axis) -> Activity {
        let n = axis.bins + 3;
        let (arrivals, decoding, paused) = (vec![0; n], vec![0; n], vec![0; n]);
        Activity { axis, arrivals, decoding, paused, held: vec![0.0; n] }
    }

    /// A request between its first and last token. Its prompt is there from the first, its answer grows evenly.
    pub(super) fn decode(&mut self, first_ns: i64, last_ns: i64, prompt: f64, output: f64) {
        let (first, last) = (self.axis.bin(first_ns), self.axis.bin(last_ns));
        add(&mut self.decoding, first, 1);
        add(&mut self.decoding, last + 1, -1);
        let bins = last.saturating_sub(first);
        let (at_once, rest) = if bins == 0 { (output, 0.0) } else { (0.0, output) };
        self.level(first, prompt + at_once);
        self.level(last + 1, -(prompt + output));
        if bins > 0 {
            add(&mut self.held, first + 1, rest / bins as f64);
            add(&mut self.held, last + 1, -rest / bins as f64);
        }
    }

    fn level(&mut self, bin: usize, tokens: f64) {
        add(&mut self.held, bin, tokens);
        add(&mut self.held, bin + 1, -tokens);
    }

    /// Counts the chunks after the first that are no catch-up, and notes the gaps beyond `limit_ns`. Absurd times wrap
    /// around and land outside the bins, or in a wrong one: nothing is lost by that, and the loop stays short.
    pub(super) fn arrive(&mut self, sent_ns: i64, at_ns: &[i64], catch_up_ns: i64, limit_ns: i64, long: &mut Vec<u32>) {
        let since = sent_ns.wrapping_sub(self.axis.start_ns);
        let shift = self.axis.shift;
        for (k, (from, to)) in at_ns.iter().zip(at_ns.iter().skip(1)).enumerate() {
            let gap = to.wrapping_sub(*from);
            let bin = (to.wrapping_add(since) as u64 >> shift) as usize;
            if let Some(count) = self.arrivals.get_mut(bin) {
                *count += u32::from(gap >= catch_up_ns);
            }
            if gap > limit_ns {
                long.push(k as u32);
            }
        }
    }

    /// A long gap, open at both ends: the chunk that ends it counts as active.
    pub(super) fn pause(&mut self, from_ns: i64, to_ns: i64) {
        let (from, to) = (self.axis.bin(from_ns), self.axis.bin(to_ns));
        if to > from + 1 {
            add(&mut self.paused, from + 1, 1);
            add(&mut self.paused, to, -1);
        }
    }

    /// The sums over time.
    pub(super) fn finish(self) -> (StepClock, Held) {
        let (mut decoding, mut paused) = (0i64, 0i64);
        let (mut made, mut seconds) = (0.0f64, 0i64);
        let n = self.axis.bins;
        let (mut steps, mut decoders) = (Vec::with_capacity(n + 1), Vec::with_capacity(n + 1));
        steps.push(made);
        decoders.push(seconds);
        let bins = self.arrivals.iter().zip(self.decoding.iter().zip(&self.paused)).take(n);
        for (arrived, (change, pauses)) in bins {
            decoding += i64::from(*change);
            paused += i64::from(*pauses);
            made += f64::from(*arrived) / (decoding - paused).max(1) as f64;
            seconds += decoding;
            steps.push(made);
            decoders.push(seconds);
        }
        (StepClock { axis: self.axis, steps, decoders }, Held { axis: self.axis, tokens: self.held })
    }
}

fn add<T: Copy + std::ops::AddAssign>(values: &mut [T], at: usize, change: T) {
    if let Some(value) = values.get_mut(at) {
        *value += change;
    }
}

/// What others did in a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Progress {
    /// Engine steps.
    pub steps: f64,
    /// How many others were between first and last token.
    pub others: f64,
}

/// Counts the steps that those who made progress made.
pub(super) struct StepClock {
    axis: Axis,
    /// Steps before each bin.
    steps: Vec<f64>,
    /// Sum of the decoding requests of the bins before each.
    decoders: Vec<i64>,
}

impl StepClock {
    /// In a gap from `from_ns` to `to_ns`, `guard_ns` off both ends: chunks of the step that bounds the gap are spread
    /// around it.
    pub(super) fn progress(&self, from_ns: i64, to_ns: i64, guard_ns: i64) -> Progress {
        let low = self.axis.bin(from_ns.saturating_add(guard_ns)) + 1;
        let high = self.axis.bin(to_ns.saturating_sub(guard_ns));
        if high > low {
            let (steps, seconds) = (range(&self.steps, low, high), range(&self.decoders, low, high));
            return Progress { steps, others: seconds as f64 / (high - low) as f64 - 1.0 };
        }
        let low = low.min(self.axis.bins - 1);
        Progress { steps: 0.0, others: range(&self.decoders, low, low + 1) as f64 - 1.0 }
    }
}

fn range<T: Copy + Default + std::ops::Sub<Output = T>>(sums: &[T], low: usize, high: usize) -> T {
    match (sums.get(low), sums.get(high)) {
        (Some(low), Some(high)) => *high - *low,
        _ => T::default(),
    }
}

/// Tokens in flight over time: no size of any cache, but what is high and what is low in this run.
pub(super) struct Held {
    axis: Axis,
    tokens: Vec<f64>,
}

impl Held {
    /// Takes the tokens of a preempted request off for its gap.
    pub(super) fn free(&mut self, from_ns: i64, to_ns: i64, tokens: f64) {
        let (from, to) = (self.axis.bin(from_ns) + 1, self.axis.bin(to_ns));
        if to > from {
            for (bin, tokens) in [(from, -tokens), (to, tokens)] {
                add(&mut self.tokens, bin, tokens);
                add(&mut self.tokens, bin + 1, -tokens);
            }
        }
    }

    /// Sums the differences up.
    pub(super) fn finish(mut self) -> HeldShare {
        let (mut slope, mut level, mut most) = (0.0, 0.0, 1.0f64);
        for value in &mut self.tokens {
            slope += *value;
            level += slope;
            *value = level;
            most = most.max(level);
        }
        HeldShare { axis: self.axis, tokens: self.tokens, most }
    }
}

/// Tokens in flight as a share of the run's highest.
pub(super) struct HeldShare {
    axis: Axis,
    tokens: Vec<f64>,
    most: f64,
}

impl HeldShare {
    /// When a gap began.
    pub(super) fn at(&self, at_ns: i64) -> f64 {
        let bin = self.axis.bin(at_ns);
        let around = self.tokens.get(bin.saturating_sub(1)..=bin).unwrap_or_default();
        around.iter().copied().fold(0.0, f64::max) / self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn axis(end_ns: i64) -> Axis {
        Axis::new(Window { start_ns: 0, end_ns }, 8e6)
    }

    #[test]
    fn bins_are_bounded_whatever_the_times() {
        assert_eq!((axis(0).bins, axis(0).width_ns()), (2, 1 << 20));
        let wide = Axis::new(Window { start_ns: i64::MIN, end_ns: i64::MAX }, 1.0);
        assert!(wide.bins as u64 <= MOST_BINS + 2);
        assert_eq!((wide.bin(i64::MIN), axis(100 * MS).bin(i64::MAX)), (0, axis(100 * MS).bins - 1));
        let mut activity = Activity::new(axis(100 * MS));
        activity.decode(i64::MIN, i64::MAX, 1.0, 1.0);
        activity.arrive(i64::MIN, &[i64::MIN, 0, i64::MAX], 1, 5, &mut Vec::new());
        activity.pause(i64::MIN, i64::MAX);
        let (clock, _) = activity.finish();
        assert!(clock.progress(i64::MIN, i64::MAX, i64::MAX).steps.is_finite());
    }

    #[test]
    fn the_clock_counts_steps_not_chunks() {
        let mut activity = Activity::new(axis(400 * MS));
        let mut long = Vec::new();
        // Three requests in step, 10 ms each; one of them pauses for 100 ms.
        let steady: Vec<i64> = (1..=40).map(|i| i * 10 * MS).collect();
        let broken: Vec<i64> = steady.iter().copied().filter(|at| !(110 * MS..200 * MS).contains(at)).collect();
        for chunks in [&steady, &steady, &broken] {
            activity.decode(10 * MS, 400 * MS, 100.0, 40.0);
            activity.arrive(0, chunks, 4 * MS, 30 * MS, &mut long);
        }
        assert_eq!(long, [9]);
        activity.pause(100 * MS, 200 * MS);
        let (clock, held) = activity.finish();
        let seen = clock.progress(100 * MS, 200 * MS, 5 * MS);
        assert!((seen.steps - 9.0).abs() < 1e-9 && (seen.others - 2.0).abs() < 1e-9, "{seen:?}");
        let share = held.finish();
        assert!((share.at(400 * MS) - 1.0).abs() < 1e-9);
        assert!((share.at(10 * MS) - 300.0 / 420.0).abs() < 0.01, "{}", share.at(10 * MS));
        assert_eq!(share.at(0), 0.0);
    }

    #[test]
    fn a_freed_request_holds_nothing() {
        let mut activity = Activity::new(axis(400 * MS));
        activity.decode(0, 300 * MS, 100.0, 0.0);
        let (_, mut held) = activity.finish();
        held.free(100 * MS, 200 * MS, 100.0);
        let share = held.finish();
        assert_eq!([50, 150, 250, 399].map(|ms| share.at(ms * MS).round()), [1.0, 0.0, 1.0, 0.0]);
    }
}
