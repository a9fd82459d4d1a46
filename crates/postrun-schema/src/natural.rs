//! The order in which people count: `c2` before `c16`.

use std::cmp::Ordering;

/// Compares runs of digits by their value and everything else byte by byte.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    loop {
        let (Some(p), Some(q)) = (x.first(), y.first()) else { return x.len().cmp(&y.len()).then_with(|| a.cmp(b)) };
        let order = match (p.is_ascii_digit(), q.is_ascii_digit()) {
            (true, true) => {
                let (m, n) = (digits(x), digits(y));
                let (left, right) = (trimmed(&x[..m]), trimmed(&y[..n]));
                (x, y) = (&x[m..], &y[n..]);
                left.len().cmp(&right.len()).then_with(|| left.cmp(right))
            }
            _ => {
                let order = p.cmp(q);
                (x, y) = (&x[1..], &y[1..]);
                order
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn trimmed(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_value() {
        let mut names = vec!["c16", "c2", "c1", "c02", "b9", "c2-x"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["b9", "c1", "c02", "c2", "c2-x", "c16"]);
    }
}
