//! Random numbers: splitmix64, started anew for each use.
//!
//! Every drawing has an address (seed, stream, index): the prompt length of request 17 is the same number whatever else
//! happened before. The state is the address mixed once; each step adds the golden ratio and mixes (Steele, Lea and
//! Flood, 2014). No platform, thread or hash order comes in; `ln`, `exp`, `cos` are those of the platform's libm, whose
//! last bit is rounded away when times become whole nanoseconds.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a sequence of random numbers is used for; streams are independent of each other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    Arrivals = 1,
    Prompt,
    Output,
    Prefix,
    Fate,
    Break,
    StepNoise,
    Acceptance,
    ServerStall,
    ClientStall,
    NetworkHold,
    HoldShare,
    Jitter,
    FlushPhase,
    Ids,
}

/// One sequence.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    pub(crate) fn new(seed: u64, stream: Stream, index: u64) -> Rng {
        let address = mix(seed.wrapping_add(GOLDEN)) ^ mix((stream as u64) << 40 ^ index.wrapping_mul(GOLDEN));
        Rng(mix(address))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in (0, 1].
    fn open(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.open().ln()
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.open().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Lognormal with mean 1 and the given spread of its logarithm.
    pub(crate) fn lognormal_mean_one(&mut self, sigma: f64) -> f64 {
        if sigma == 0.0 { 1.0 } else { (sigma * self.normal() - sigma * sigma / 2.0).exp() }
    }

    /// Gamma with the given shape and mean 1 (Marsaglia and Tsang).
    pub(crate) fn gamma_mean_one(&mut self, shape: f64) -> f64 {
        let boosted = if shape < 1.0 { shape + 1.0 } else { shape };
        let d = boosted - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        let mut value = d;
        // 95 % of tries succeed: a thousand failures in a row do not happen.
        for _ in 0..1000 {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.open().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                value = d * v;
                break;
            }
        }
        let boost = if shape < 1.0 { self.open().powf(1.0 / shape) } else { 1.0 };
        value * boost / shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_independent_and_repeatable() {
        let first = |seed, index| Rng::new(seed, Stream::Prompt, index).next_u64();
        assert_eq!(first(1, 7), first(1, 7));
        assert_ne!(first(1, 7), first(1, 8));
        assert_ne!(first(1, 7), first(2, 7));
        assert_ne!(first(1, 7), Rng::new(1, Stream::Output, 7).next_u64());
    }

    #[test]
    fn distributions_have_their_means() {
        let mut rng = Rng::new(3, Stream::Arrivals, 0);
        let n = 40_000;
        let mean = |f: &mut dyn FnMut(&mut Rng) -> f64, rng: &mut Rng| (0..n).map(|_| f(rng)).sum::<f64>() / n as f64;
        assert!((mean(&mut |r| r.uniform(), &mut rng) - 0.5).abs() < 0.01);
        assert!((mean(&mut |r| r.exponential(), &mut rng) - 1.0).abs() < 0.03);
        assert!(mean(&mut |r| r.normal(), &mut rng).abs() < 0.02);
        assert!((mean(&mut |r| r.lognormal_mean_one(0.5), &mut rng) - 1.0).abs() < 0.03);
        for shape in [0.25, 1.0, 4.0] {
            assert!((mean(&mut |r| r.gamma_mean_one(shape), &mut rng) - 1.0).abs() < 0.05, "{shape}");
        }
    }
}
