//! Rank statistics that a few outliers cannot move.

/// Median of a list that may be reordered; `None` of nothing.
pub(crate) fn median(list: &mut [f64]) -> Option<f64> {
    quantile(list, 0.5)
}

/// Linear quantile, 0 to 1.
pub(crate) fn quantile(list: &mut [f64], q: f64) -> Option<f64> {
    list.sort_by(f64::total_cmp);
    let position = q * list.len().checked_sub(1)? as f64;
    let (low, part) = (position.floor() as usize, position.fract());
    let next = list.get(low + 1).copied().unwrap_or(list[low]);
    Some(list[low] + (next - list[low]) * part)
}

/// Ranks from 1, equal values sharing their mean rank.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut out = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        let mean = (from + 1 + to) as f64 / 2.0;
        order[from..to].iter().for_each(|i| out[*i] = mean);
        from = to;
    }
    out
}

/// Spearman's rank correlation; 0 where one side is constant or there are fewer than three pairs.
pub(crate) fn spearman(x: &[f64], y: &[f64]) -> f64 {
    if x.len() < 3 || x.len() != y.len() {
        return 0.0;
    }
    let (x, y) = (ranks(x), ranks(y));
    let mean = (x.len() + 1) as f64 / 2.0;
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(&y) {
        xy += (a - mean) * (b - mean);
        xx += (a - mean).powi(2);
        yy += (b - mean).powi(2);
    }
    if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

/// A straight line through points by the median of the slopes between pairs (Theil and Sen).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub base: f64,
    pub slope: f64,
}

/// Pairs whose slopes are taken; enough for a stable median, few enough for a million points.
const MOST_PAIRS: usize = 200_000;

/// `None` where x does not vary.
pub(crate) fn line(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len();
    let all = n.saturating_mul(n.saturating_sub(1)) / 2;
    let mut slopes = Vec::new();
    let mut take = |i: usize, j: usize| {
        let dx = points[j].0 - points[i].0;
        if dx != 0.0 {
            slopes.push((points[j].1 - points[i].1) / dx);
        }
    };
    if all <= MOST_PAIRS {
        for i in 0..n {
            (i + 1..n).for_each(|j| take(i, j));
        }
    } else {
        // Every point with others at distances that run through all of them, the same ones every time.
        let per_point = (MOST_PAIRS / n).max(1);
        for i in 0..n {
            (1..=per_point).for_each(|k| take(i, (i + k * (n / (per_point + 1)).max(1)) % n));
        }
    }
    let slope = median(&mut slopes)?;
    let mut rest: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    Some(Line { base: median(&mut rest)?, slope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_moves_nothing() {
        let mut points: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i), 3.0 + 2.0 * f64::from(i))).collect();
        points[7].1 = 1e6;
        assert_eq!(line(&points), Some(Line { base: 3.0, slope: 2.0 }));
        assert_eq!(line(&[(1.0, 1.0), (1.0, 5.0)]), None);
    }

    #[test]
    fn correlation_of_ranks() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0, 4.0], &[1.0, 4.0, 9.0, 16.0]), 1.0);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[5.0, 5.0, 5.0]), 0.0);
        assert_eq!(quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
    }
}
