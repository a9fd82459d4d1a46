//! The statistics: what one run says of a figure, how sure two runs are of its change, all comparisons together.

pub(crate) mod block;
pub(crate) mod compare;
pub(crate) mod curve;
pub(crate) mod figure;
pub(crate) mod joint;
pub(crate) mod rng;
pub(crate) mod student;

/// Squares of the distances from the mean, summed.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|v| (v - mean) * (v - mean)).sum()
}
