//! Two-sided 95 % of Student's t.

/// By degrees of freedom, from 1 on.
const TABLE: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// For so many degrees of freedom; beyond the table its last value, a little too wide. Infinite for none.
pub(crate) fn student(freedom: usize) -> f64 {
    let at = freedom.min(TABLE.len());
    at.checked_sub(1).and_then(|i| TABLE.get(i)).copied().unwrap_or(f64::INFINITY)
}
