//! A distribution as a curve of its quantiles, small enough to keep for every metric and bucket.

/// Below this many values all are kept.
const KEPT: usize = 2048;

/// Quantiles at rising positions, linear between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Positions 0 to 1 with the value there; both rise.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// Of values that may be reordered; `None` of nothing.
    pub fn of(values: &mut [f64]) -> Option<Curve> {
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len();
        let last = n.checked_sub(1)?;
        if n <= KEPT {
            let at = |i: usize| if last == 0 { 0.5 } else { i as f64 / last as f64 };
            return Some(Curve { points: values.iter().enumerate().map(|(i, v)| (at(i), *v)).collect() });
        }
        // Denser towards the ends, where percentiles of the tail are looked up.
        let position = |i: usize| {
            let u = i as f64 / KEPT as f64;
            (1.0 - (std::f64::consts::PI * u).cos()) / 2.0
        };
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(KEPT + 1);
        for i in 0..=KEPT {
            let rank = (position(i) * last as f64).round() as usize;
            let at = rank as f64 / last as f64;
            if points.last().is_none_or(|(before, _)| *before < at) {
                points.push((at, values[rank.min(last)]));
            }
        }
        Some(Curve { points })
    }

    /// From points that rise in both.
    pub fn from_points(points: Vec<(f64, f64)>) -> Option<Curve> {
        (!points.is_empty()).then_some(Curve { points })
    }

    /// The quantile at `q`, which is taken into 0 to 1.
    pub fn at(&self, q: f64) -> f64 {
        let above = self.points.partition_point(|(at, _)| *at < q);
        match (above.checked_sub(1).and_then(|i| self.points.get(i)), self.points.get(above)) {
            (Some((p0, v0)), Some((p1, v1))) if p1 > p0 => v0 + (v1 - v0) * (q - p0) / (p1 - p0),
            (_, Some((_, v))) | (Some((_, v)), None) => *v,
            (None, None) => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few_and_of_many() {
        let few = Curve::of(&mut [3.0, 1.0, 2.0]).unwrap();
        assert_eq!((few.at(0.0), few.at(0.25), few.at(1.0), few.at(7.0)), (1.0, 1.5, 3.0, 3.0));
        let mut values: Vec<f64> = (0..100_001).map(f64::from).collect();
        let many = Curve::of(&mut values).unwrap();
        for q in [0.001, 0.5, 0.9, 0.99, 0.999] {
            assert!((many.at(q) - q * 1e5).abs() < 1.0, "{q}: {}", many.at(q));
        }
        assert_eq!(Curve::of(&mut []), None);
    }
}
