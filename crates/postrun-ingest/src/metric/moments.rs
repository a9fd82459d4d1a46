//! Which moments a series was already seen at, so that a scrape that stands in a file twice counts once.

use std::collections::HashMap;

/// Distinct moments told apart; beyond, only a repetition straight after the first is noticed.
const MOST_MOMENTS: usize = 1 << 20;
/// Stretches of moments kept over all series.
const MOST_STRETCHES: usize = 1 << 22;

/// Numbers the moments of a file in the order in which they first come.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    numbers: HashMap<i64, u32>,
    last: Option<(i64, u32)>,
    stretches: usize,
}

/// The moments of one series, as stretches of numbers without a gap: nearly always a single one.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    stretches: Vec<(u32, u32)>,
    last_ns: Option<i64>,
}

impl Moments {
    fn number(&mut self, at_ns: i64) -> Option<u32> {
        if let Some((_, number)) = self.last.filter(|(at, _)| *at == at_ns) {
            return Some(number);
        }
        let number = match self.numbers.get(&at_ns) {
            Some(number) => *number,
            None if self.numbers.len() < MOST_MOMENTS => {
                let number = self.numbers.len() as u32;
                self.numbers.insert(at_ns, number);
                number
            }
            None => return None,
        };
        self.last = Some((at_ns, number));
        Some(number)
    }

    /// Notes that a series has a value at this moment. False: it had one there before.
    pub(crate) fn first_time(&mut self, seen: &mut Seen, at_ns: i64) -> bool {
        if seen.last_ns == Some(at_ns) {
            return false;
        }
        seen.last_ns = Some(at_ns);
        let Some(number) = self.number(at_ns) else { return true };
        match seen.stretches.last_mut() {
            Some((_, end)) if number == *end + 1 => {
                *end = number;
                return true;
            }
            Some((_, end)) if number <= *end => {
                let after = seen.stretches.partition_point(|(start, _)| *start <= number);
                let holding = after.checked_sub(1).and_then(|i| seen.stretches.get(i));
                if holding.is_some_and(|(_, end)| number <= *end) {
                    return false;
                }
                if self.stretches < MOST_STRETCHES {
                    self.stretches += 1;
                    seen.stretches.insert(after, (number, number));
                }
            }
            _ if self.stretches < MOST_STRETCHES => {
                self.stretches += 1;
                seen.stretches.push((number, number));
            }
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_counts_once_for_each_series() {
        let mut moments = Moments::default();
        let (mut a, mut b) = (Seen::default(), Seen::default());
        assert!([10, 20, 30].iter().all(|at| moments.first_time(&mut a, *at)));
        assert!([10, 30].iter().all(|at| moments.first_time(&mut b, *at)));
        assert!([10, 20, 30].iter().all(|at| !moments.first_time(&mut a, *at)));
        assert!(moments.first_time(&mut b, 20));
        assert!([10, 20, 30].iter().all(|at| !moments.first_time(&mut b, *at)));
        assert!(moments.first_time(&mut a, 40));
        assert_eq!(a.stretches, [(0, 3)]);
    }
}
