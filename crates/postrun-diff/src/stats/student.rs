//! Two-sided 95 % of Student's t, and how far a standard deviation of few values may lie above what they show.

/// By degrees of freedom, from 1 on.
const TABLE: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// For so many degrees of freedom; beyond the table its last value, a little too wide. Infinite for none.
pub(crate) fn student(freedom: usize) -> f64 {
    of_freedom(&TABLE, freedom)
}

/// √(n / χ²), where a χ² of n degrees of freedom lies below with 5 %; by degrees of freedom, from 1 on.
const ABOVE: [f64; 30] = [
    15.947, 4.415, 2.920, 2.372, 2.089, 1.915, 1.797, 1.711, 1.645, 1.593, 1.551, 1.515, 1.485, 1.460, 1.437, 1.418,
    1.400, 1.384, 1.370, 1.358, 1.346, 1.335, 1.326, 1.316, 1.308, 1.300, 1.293, 1.286, 1.280, 1.274,
];

/// A standard deviation of so many degrees of freedom times this is its upper 95 % confidence bound; beyond the table its last
/// value, a little too wide. Infinite for none.
pub(crate) fn spread_above(freedom: usize) -> f64 {
    of_freedom(&ABOVE, freedom)
}

fn of_freedom(table: &[f64; 30], freedom: usize) -> f64 {
    let at = freedom.min(table.len());
    at.checked_sub(1).and_then(|i| table.get(i)).copied().unwrap_or(f64::INFINITY)
}
