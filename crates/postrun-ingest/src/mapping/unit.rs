//! Units of time, and numbers in them as nanoseconds.

use crate::json::number;
use crate::text::number::decimal_scaled;

/// 2015 to 2034.
const DATES_NS: std::ops::Range<i64> = 1_420_000_000_000_000_000..2_050_000_000_000_000_000;

/// How a column writes times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
    /// A civil date and time, for points only.
    Iso8601,
}

impl Unit {
    pub(crate) const ALL: [Unit; 5] = [Unit::Seconds, Unit::Millis, Unit::Micros, Unit::Nanos, Unit::Iso8601];
    const NUMERIC: [Unit; 4] = [Unit::Seconds, Unit::Millis, Unit::Micros, Unit::Nanos];

    /// As it is written in a mapping, and at the end of a column's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Millis => "ms",
            Unit::Micros => "us",
            Unit::Nanos => "ns",
            Unit::Iso8601 => "iso8601",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// `latency_ms` is in milliseconds.
    pub(crate) fn of_column(name: &str) -> Option<Unit> {
        Unit::from_name(name.rsplit_once('_')?.1)
    }

    /// Decimal places between this unit and nanoseconds.
    fn places(self) -> u32 {
        match self {
            Unit::Seconds => 9,
            Unit::Millis => 6,
            Unit::Micros => 3,
            Unit::Nanos | Unit::Iso8601 => 0,
        }
    }

    /// A number as nanoseconds, exactly where it is a plain decimal. `None`: no number, not finite, or beyond 292 years.
    pub(crate) fn ns(self, text: &str) -> Option<i64> {
        let text = text.trim();
        decimal_scaled(text, self.places()).or_else(|| {
            let value = number(text.as_bytes())? * 10f64.powi(self.places() as i32);
            (value.abs() < 9.2e18).then_some(value.round() as i64)
        })
    }

    /// The coarser unit in which a point in time that was read in `self` would be a date of these years.
    pub(crate) fn as_date(self, ns: i64) -> Option<Unit> {
        let coarser = |unit: &&Unit| unit.places() > self.places() && self != Unit::Iso8601;
        let is_date = |unit: &&Unit| {
            ns.checked_mul(10i64.pow(unit.places() - self.places())).is_some_and(|ns| DATES_NS.contains(&ns))
        };
        Unit::NUMERIC.iter().filter(coarser).find(is_date).copied()
    }

    /// The unit in which `text` would be a duration that servers have, where it is none in `self`.
    pub(crate) fn instead(self, text: &str) -> Option<(Unit, i64)> {
        let likely = |unit: &Unit| {
            let ns = unit.ns(text).filter(|ns| (1_000..3_600_000_000_000).contains(ns))?;
            Some((*unit, ns))
        };
        Unit::NUMERIC.iter().filter(|unit| **unit != self).find_map(likely)
    }
}
