//! Values of a client's record, judged one by one: what cannot be becomes null and an issue with its place.

use crate::json::{JsonReader, Result, Seconds, Tree, shorten};
use crate::limits::{MOST_GAPS, too_many_gaps};
use postrun_schema::{IssueCode, Issues};
use std::cmp::Ordering;
use std::io::Read;

/// Longest error text kept.
pub(crate) use crate::limits::ERROR_BYTES;
/// Longest text read of any member.
pub(crate) const TEXT_BYTES: usize = 4096;
/// A duration above this (11.6 days) is a point in time or another unit.
pub(crate) const MAX_DURATION_NS: i64 = 1_000_000_000_000_000;

/// The units that clients name, by how many of them make a second.
pub(crate) fn per_second(unit: &str) -> Option<i64> {
    Some(match unit {
        "s" | "sec" | "second" | "seconds" => 1,
        "ms" | "millisecond" | "milliseconds" => 1_000,
        "us" | "µs" | "microseconds" => 1_000_000,
        "ns" | "nanoseconds" => 1_000_000_000,
        _ => return None,
    })
}

/// A number read as if it were seconds, in a unit of which `per_second` make one: nanoseconds, to the nearest.
pub(crate) fn in_unit(as_seconds_ns: i64, per_second: i64) -> i64 {
    let half = per_second / 2;
    match as_seconds_ns {
        n if n < 0 => n.saturating_sub(half) / per_second,
        n => n.saturating_add(half) / per_second,
    }
}

/// One record's values and where its problems go.
pub(crate) struct Judge<'a> {
    pub issues: &'a mut Issues,
    /// File and line, or file and index.
    pub place: &'a dyn Fn() -> String,
}

impl Judge<'_> {
    /// A problem of the whole record.
    pub(crate) fn issue(&mut self, code: IssueCode, example: impl FnOnce() -> String) {
        self.issues.add(code, self.place, example);
    }

    /// A problem of one member.
    pub(crate) fn bad(&mut self, code: IssueCode, key: &str, example: String) {
        self.issues.add(code, || format!("{}: {key}", (self.place)()), || example);
    }

    /// A duration that was read already.
    pub(crate) fn plausible(&mut self, key: &str, ns: i64) -> Option<i64> {
        let code = match ns {
            0..=MAX_DURATION_NS => return Some(ns),
            ns if ns < 0 => IssueCode::NegativeDuration,
            _ => IssueCode::ImplausibleTime,
        };
        self.bad(code, key, format!("{} s", ns as f64 / 1e9));
        None
    }

    /// A duration in a unit of which `per_second` make one. Null and absent are silent.
    pub(crate) fn duration(&mut self, key: &str, value: &Tree, per_second: i64) -> Option<i64> {
        let ns = self.point(key, value)?;
        self.plausible(key, in_unit(ns, per_second))
    }

    /// A point in time in seconds.
    pub(crate) fn point(&mut self, key: &str, value: &Tree) -> Option<i64> {
        match value {
            Tree::Null => None,
            Tree::Number(text) => match (value.seconds_ns(), value.number()) {
                (Some(ns), _) => Some(ns),
                (None, Some(_)) => {
                    self.bad(IssueCode::ImplausibleTime, key, shorten(text.clone(), 40));
                    None
                }
                (None, None) => {
                    self.bad(IssueCode::NonFiniteValue, key, text.clone());
                    None
                }
            },
            _ => {
                self.bad(IssueCode::WrongType, key, "expected a number".to_string());
                None
            }
        }
    }

    /// A point in time in whole nanoseconds; 0 and below are none.
    pub(crate) fn point_ns(&mut self, key: &str, value: &Tree) -> Option<i64> {
        match (value, value.integer()) {
            (Tree::Null, _) => None,
            (_, Some(ns)) if ns > 0 => Some(ns),
            (_, Some(ns)) => {
                self.bad(IssueCode::ImplausibleTime, key, format!("{ns} ns"));
                None
            }
            _ => {
                self.bad(IssueCode::WrongType, key, "expected whole nanoseconds".to_string());
                None
            }
        }
    }

    /// A count of tokens or of anything else.
    pub(crate) fn count(&mut self, key: &str, value: &Tree) -> Option<u32> {
        match (value, value.count()) {
            (Tree::Null, _) => None,
            (_, Some(n)) => Some(n),
            (Tree::Number(text), None) => {
                self.bad(IssueCode::OutOfRange, key, format!("{} is no count", shorten(text.clone(), 40)));
                None
            }
            _ => {
                self.bad(IssueCode::WrongType, key, "expected a count".to_string());
                None
            }
        }
    }

    /// One entry of a list of durations; `None` spoils the list.
    pub(crate) fn gap(&mut self, key: &str, value: Seconds, per_second: i64) -> Option<i64> {
        let (code, example) = match value {
            Seconds::Ns(ns) => return self.plausible(key, in_unit(ns, per_second)),
            Seconds::Null => (IssueCode::WrongType, "null in a list of times"),
            Seconds::NonFinite => (IssueCode::NonFiniteValue, "NaN or infinity"),
            Seconds::TooLarge => (IssueCode::ImplausibleTime, "more than 292 years"),
            Seconds::NotANumber => (IssueCode::WrongType, "expected a number"),
            Seconds::TooMany => {
                self.issue(IssueCode::OutOfRange, || format!("{key}: {}", too_many_gaps()));
                return None;
            }
        };
        self.bad(code, key, example.to_string());
        None
    }
}

/// A list of times, read as if they were seconds; `None` where it is no list. What goes beyond [`MOST_GAPS`] gaps is
/// [`Seconds::TooMany`], once.
pub(crate) fn seconds<R: Read>(reader: &mut JsonReader<R>) -> Result<Option<Vec<Seconds>>> {
    let mut out = Vec::new();
    let is_array = reader.array(|reader| {
        let time = reader.seconds()?;
        match out.len().cmp(&(MOST_GAPS + 1)) {
            Ordering::Less => out.push(time),
            Ordering::Equal => out.push(Seconds::TooMany),
            Ordering::Greater => {}
        }
        Ok(())
    })?;
    Ok(is_array.then_some(out))
}

/// An id, which can be a number.
pub(crate) fn id(value: &Tree) -> Option<String> {
    match value {
        Tree::Number(number) => Some(number.clone()),
        value => text(value),
    }
}

/// A text member, shortened as texts of rows are.
pub(crate) fn text(value: &Tree) -> Option<String> {
    value.text().filter(|t| !t.is_empty()).map(|t| shorten(t.to_string(), ERROR_BYTES))
}

/// The count that a client divided, found again by multiplying; `None` where that is no whole number.
pub(crate) fn undivided(product: f64) -> Option<u32> {
    let whole = product.round();
    let is_count = (0.0..f64::from(u32::MAX)).contains(&whole) && (product - whole).abs() <= 1e-6 * whole.max(1.0);
    is_count.then_some(whole as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_rounded_once() {
        assert_eq!(in_unit(10_456_018_000, 1_000), 10_456_018);
        assert_eq!(in_unit(4_001_260_999, 1_000), 4_001_261);
        assert_eq!(in_unit(-1_500, 1_000), -2);
        assert_eq!(in_unit(7, 1), 7);
        assert_eq!(in_unit(i64::MAX, 1_000), i64::MAX / 1_000);
        assert_eq!(per_second("furlong"), None);
    }

    #[test]
    fn what_cannot_be_is_null_and_counted() {
        let mut issues = Issues::default();
        let place = || "f: line 1".to_string();
        let mut judge = Judge { issues: &mut issues, place: &place };
        let number = |text: &str| Tree::Number(text.to_string());
        assert_eq!(judge.duration("ttft", &number("16.242192"), 1_000), Some(16_242_192));
        assert_eq!(judge.duration("ttft", &Tree::Null, 1_000), None);
        assert_eq!(judge.duration("ttft", &number("-1"), 1_000), None);
        assert_eq!(judge.duration("ttft", &number("1e12"), 1_000), None);
        assert_eq!(judge.duration("ttft", &number("NaN"), 1_000), None);
        assert_eq!(judge.duration("ttft", &Tree::Bool(true), 1_000), None);
        assert_eq!(judge.count("osl", &number("-3")), None);
        assert_eq!(judge.point_ns("sent", &number("0")), None);
        let counted: Vec<(IssueCode, u64)> =
            issues.into_sorted(100).into_iter().map(|issue| (issue.code, issue.count)).collect();
        use IssueCode::{ImplausibleTime, NegativeDuration, NonFiniteValue, OutOfRange, WrongType};
        for expected in
            [(NegativeDuration, 1), (ImplausibleTime, 2), (NonFiniteValue, 1), (WrongType, 1), (OutOfRange, 1)]
        {
            assert!(counted.contains(&expected), "{expected:?} in {counted:?}");
        }
    }
}
