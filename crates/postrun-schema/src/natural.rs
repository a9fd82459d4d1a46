//! The order in which people count: `c2` before `c16`.

use std::cmp::Ordering;
use std::path::Path;

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

/// The same for paths, folder by folder: `r5/` before `r5.5/`.
pub fn natural_path_order(a: &Path, b: &Path) -> Ordering {
    let mut others = b.components();
    for part in a.components() {
        let Some(other) = others.next() else { return Ordering::Greater };
        match natural_order(&part.as_os_str().to_string_lossy(), &other.as_os_str().to_string_lossy()) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    if others.next().is_some() { Ordering::Less } else { a.cmp(b) }
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

    #[test]
    fn folders_before_their_longer_names() {
        let mut paths = ["r5.5/x", "r10/x", "r5/x", "r5", "r5/a"].map(Path::new);
        paths.sort_by(|a, b| natural_path_order(a, b));
        assert_eq!(paths, ["r5", "r5/a", "r5/x", "r5.5/x", "r10/x"].map(Path::new));
    }
}
