//! How long a request may pause by itself without having been taken off the batch: what the run's own unevenness explains.
//!
//! Where deliveries are uneven, a few of a hundred thousand gaps are long though nothing happened. Of such pauses the
//! shortest that are looked at are the most frequent, and from one band of lengths to the next (each half as long again)
//! their number falls: in the tails of normal, exponential and lognormal gaps ever faster, in that of a power law by the
//! same factor. Preemptions last long (victims wait for room, and have prompt and answer computed again), so their
//! number rises there. Where the pauses of single requests fall from the first band to the second, that factor is
//! carried on, and what is shorter than the length beyond which less than one pause of the whole run is expected is
//! explained by unevenness.

use super::candidate::{MOST, Pause, limit_ns};

/// From the start of a band of lengths to its end.
const BAND: f64 = 1.5;
/// What falls no faster is no unevenness: a power law whose number falls so from band to band has no mean.
const SLOWEST_FALL: f64 = 1.0 / BAND;
/// So many pauses of a run may be expected beyond the bound.
const EXPECTED: f64 = 1.0;

/// What the unevenness of a run explains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    /// Width of a bin in nanoseconds, which the shortest pause that is looked at depends on.
    bin_ns: i64,
    /// Longest pause that is explained, over the shortest that is looked at.
    most: f64,
}

impl Noise {
    pub(super) fn of(pauses: &[Pause], bin_ns: i64) -> Noise {
        let excess = |p: &Pause| excess(p, bin_ns);
        // Where only the longest were kept, the first band begins with the shortest of those.
        let from = match pauses.len() < MOST {
            true => 1.0,
            false => pauses.iter().map(excess).fold(f64::INFINITY, f64::min).max(1.0),
        };
        let mut bands = [0usize; 2];
        for pause in pauses.iter().filter(|p| p.others_went_on()) {
            let band = (excess(pause) / from).max(1.0).log(BAND);
            if let Some(count) = bands.get_mut(band as usize) {
                *count += 1;
            }
        }
        Noise { bin_ns, most: from * longest(bands) }
    }

    /// True if pauses as long as this one are to be expected of this run.
    pub(super) fn explains(&self, pause: &Pause) -> bool {
        excess(pause, self.bin_ns) < self.most
    }
}

/// Length of a pause over the shortest of its request that is looked at.
fn excess(pause: &Pause, bin_ns: i64) -> f64 {
    pause.gap.length_ns() as f64 / limit_ns(pause.step_ns, bin_ns).max(1) as f64
}

/// Where less than [`EXPECTED`] pauses are left, over the start of the first band, from the numbers in the first two; 0
/// where these are no tail of anything.
fn longest([first, second]: [usize; 2]) -> f64 {
    if first == 0 {
        return 0.0;
    }
    // One more in each: with few pauses an empty second band shows little.
    let fall = (second as f64 + 1.0) / (first as f64 + 1.0);
    if fall >= SLOWEST_FALL {
        return 0.0;
    }
    // All bands from number k on hold first × fallᵏ / (1 − fall).
    let bands = (first as f64 / (EXPECTED * (1.0 - fall))).ln() / -fall.ln();
    BAND.powf(bands.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_follows_the_first_two_bands() {
        assert_eq!(longest([0, 7]), 0.0, "nothing near: pauses are no unevenness");
        assert_eq!(longest([1, 0]), BAND);
        // Lognormal gaps (sigma 0.5) a hundred thousand times: 812, 165, 12 and none.
        let bands = longest([812, 165]).log(BAND);
        assert!((3.0..6.0).contains(&bands), "{bands}");
        // A tail that falls fast ends early, however many there are.
        assert!(longest([10_000, 10]) < BAND.powi(2));
        // Preemptions grow more frequent with length: the first band of a simulated storm, and its second.
        assert_eq!((longest([81, 140]), longest([1, 90]), longest([8, 8])), (0.0, 0.0, 0.0));
        for bands in [[usize::MAX, 0], [usize::MAX, usize::MAX], [1, usize::MAX]] {
            assert!(longest(bands).is_finite(), "{bands:?}");
        }
    }
}
