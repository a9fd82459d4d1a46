//! Random numbers for resampling: the same ones every time, on every machine (splitmix64).

/// Where every comparison starts: the same input gives the same bytes.
pub(crate) const SEED: u64 = 0x5E_ED0F_D1FF;

/// A stream of random numbers.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to `n`, which must not be 0; `n` is small beside 2⁶⁴, so that the remainder is even enough.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.word() % n.max(1) as u64) as usize
    }

    /// Uniform, above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let (r, angle) = ((-2.0 * self.uniform().ln()).sqrt(), std::f64::consts::TAU * self.uniform());
        r * angle.cos()
    }

    /// Gamma with this shape and scale 1 (Marsaglia and Tsang).
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.uniform().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// What a deviation is stretched by where its spread was estimated with so many degrees of freedom: a normal value
    /// times it is Student's t.
    pub(crate) fn stretch(&mut self, freedom: f64) -> f64 {
        (freedom / (2.0 * self.gamma(freedom / 2.0))).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretched_normals_are_students_t() {
        let mut rng = Rng::new(SEED);
        let mut values: Vec<f64> = (0..200_000).map(|_| (rng.normal() * rng.stretch(5.0)).abs()).collect();
        values.sort_by(f64::total_cmp);
        // The table says 2.571 for 5 degrees of freedom.
        assert!((values[190_000] - 2.571).abs() < 0.04, "{}", values[190_000]);
    }
}
