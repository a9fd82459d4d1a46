//! Values of a record, checked: what cannot be is counted with its place and taken as not recorded.

use crate::json::{Tree, number};
use postrun_schema::{IssueCode, Issues};

/// A duration above this (11.6 days) is a point in time or another unit.
pub(crate) const MAX_DURATION_NS: i64 = 1_000_000_000_000_000;
/// 292 years.
const LARGEST: f64 = 9.2e18;

/// Unit of a time in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Seconds,
    Millis,
    Nanos,
}

impl Scale {
    /// Decimal places between this unit and a nanosecond.
    fn places(self) -> usize {
        match self {
            Scale::Seconds => 9,
            Scale::Millis => 6,
            Scale::Nanos => 0,
        }
    }

    /// Nanoseconds in one.
    pub(crate) fn ns(self) -> f64 {
        10f64.powi(self.places() as i32)
    }
}

/// A number in a text as nanoseconds: the decimal point is moved, so that nineteen digits stay exact. `None`: no number,
/// none that is finite, or beyond 292 years.
pub(crate) fn scaled_ns(text: &str, scale: Scale) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) || whole.len() > 20 {
        let ns = (number(text.as_bytes())? * scale.ns()).round();
        return (ns.abs() < LARGEST).then_some(ns as i64);
    }
    let mut ns: i128 = whole.parse().ok()?;
    let mut places = fraction.bytes().map(|b| i128::from(b - b'0'));
    for _ in 0..scale.places() {
        ns = ns * 10 + places.next().unwrap_or(0);
    }
    ns += i128::from(places.next().unwrap_or(0) >= 5);
    i64::try_from(if negative { -ns } else { ns }).ok()
}

/// Reads values of one record and counts what is wrong with them.
pub(crate) struct Values<'a> {
    pub issues: &'a mut Issues,
    /// File, line and byte of the record.
    pub place: &'a dyn Fn() -> String,
}

impl Values<'_> {
    /// Counts a problem of `key`.
    pub(crate) fn issue(&mut self, code: IssueCode, key: &str, example: impl FnOnce() -> String) {
        let place = self.place;
        self.issues.add(code, || format!("{}: {key}", place()), example);
    }

    /// A duration: not negative, not more than 11 days.
    pub(crate) fn duration(&mut self, key: &str, value: &Tree, scale: Scale) -> Option<i64> {
        let ns = self.point(key, value, scale)?;
        self.plausible(key, ns)
    }

    /// `ns` where it can be a duration.
    pub(crate) fn plausible(&mut self, key: &str, ns: i64) -> Option<i64> {
        let code = match ns {
            ns if ns < 0 => IssueCode::NegativeDuration,
            ns if ns > MAX_DURATION_NS => IssueCode::ImplausibleTime,
            ns => return Some(ns),
        };
        self.issue(code, key, || format!("{} s", ns as f64 / 1e9));
        None
    }

    /// A duration in a float.
    pub(crate) fn float_duration(&mut self, key: &str, value: f64, scale: Scale) -> Option<i64> {
        let ns = self.float_point(key, value, scale)?;
        self.plausible(key, ns)
    }

    /// A point in time in a float.
    pub(crate) fn float_point(&mut self, key: &str, value: f64, scale: Scale) -> Option<i64> {
        let ns = (value * scale.ns()).round();
        let code = match ns {
            ns if !ns.is_finite() => IssueCode::NonFiniteValue,
            ns if ns.abs() >= LARGEST => IssueCode::ImplausibleTime,
            ns => return Some(ns as i64),
        };
        self.issue(code, key, || format!("{value:e}"));
        None
    }

    /// A point in time.
    pub(crate) fn point(&mut self, key: &str, value: &Tree, scale: Scale) -> Option<i64> {
        let text = match value {
            Tree::Null => return None,
            Tree::Number(text) | Tree::Text(text) => text,
            _ => {
                self.issue(IssueCode::WrongType, key, || "expected a number".to_string());
                return None;
            }
        };
        let found = scaled_ns(text, scale);
        if found.is_none() {
            let code = match number(text.trim().as_bytes()) {
                None => IssueCode::WrongType,
                Some(v) if !v.is_finite() => IssueCode::NonFiniteValue,
                Some(_) => IssueCode::ImplausibleTime,
            };
            self.issue(code, key, || crate::json::shorten(text.clone(), 40));
        }
        found
    }

    /// A count that fits its column.
    pub(crate) fn count(&mut self, key: &str, value: &Tree) -> Option<u32> {
        if matches!(value, Tree::Null) {
            return None;
        }
        let found = value.count();
        if found.is_none() {
            let code = match value.number() {
                Some(_) => IssueCode::OutOfRange,
                None => match value {
                    Tree::Number(_) => IssueCode::NonFiniteValue,
                    _ => IssueCode::WrongType,
                },
            };
            self.issue(code, key, || format!("{value:?}").chars().take(60).collect());
        }
        found
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &str, value: &Tree) -> Option<String> {
        match value {
            Tree::Null => None,
            Tree::Text(text) => Some(text.clone()),
            // Ids are often numbers.
            Tree::Number(text) => Some(text.clone()),
            _ => {
                self.issue(IssueCode::WrongType, key, || "expected a text".to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_move_the_point() {
        assert_eq!(scaled_ns("1700000000.123456789", Scale::Seconds), Some(1_700_000_000_123_456_789));
        assert_eq!(scaled_ns("1700000000123.4567", Scale::Millis), Some(1_700_000_000_123_456_700));
        assert_eq!(scaled_ns("12.0000006", Scale::Millis), Some(12_000_001));
        assert_eq!(scaled_ns("1700000000123456789", Scale::Nanos), Some(1_700_000_000_123_456_789));
        assert_eq!(scaled_ns("-1.5", Scale::Millis), Some(-1_500_000));
        assert_eq!(scaled_ns("2e-3", Scale::Seconds), Some(2_000_000));
        assert_eq!(scaled_ns("0.12345678951", Scale::Seconds), Some(123_456_790));
        for bad in ["", ".", "abc", "1e300", "99999999999999999999", "NaN"] {
            assert_eq!(scaled_ns(bad, Scale::Seconds), None, "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_is_counted() {
        let mut issues = Issues::default();
        let place = || "f".to_string();
        let mut values = Values { issues: &mut issues, place: &place };
        let number = |text: &str| Tree::Number(text.to_string());
        assert_eq!(values.duration("a", &number("-1"), Scale::Seconds), None);
        assert_eq!(values.duration("a", &number("1e9"), Scale::Seconds), None);
        assert_eq!(values.duration("a", &number("NaN"), Scale::Seconds), None);
        assert_eq!(values.duration("a", &Tree::Bool(true), Scale::Seconds), None);
        assert_eq!(values.duration("a", &Tree::Null, Scale::Seconds), None);
        assert_eq!(values.count("n", &number("4294967296")), None);
        assert_eq!(values.count("n", &number("7")), Some(7));
        use IssueCode::{ImplausibleTime, NegativeDuration, NonFiniteValue, OutOfRange, WrongType};
        for code in [ImplausibleTime, NegativeDuration, NonFiniteValue, OutOfRange, WrongType] {
            assert_eq!(issues.count(code), 1, "{code:?}");
        }
    }
}
