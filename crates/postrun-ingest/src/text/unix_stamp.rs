//! Unix times as text: seconds, milliseconds, microseconds or nanoseconds, told apart by their size.

use super::number::decimal_scaled;

/// A moment, and how fine its text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnixStamp {
    pub at_ns: i64,
    pub resolution_ns: i64,
}

/// More digits than this are no time.
const MOST_DIGITS: usize = 30;

impl UnixStamp {
    /// Reads the whole of `text`, `1796022121.946` or `1796022121946` or `1.796022121946e+09`, without a detour through
    /// floats. Whole seconds have ten digits from 2001 to 2286, so ten, thirteen, sixteen and nineteen digits before
    /// the point tell the unit; any other number is no moment.
    pub(crate) fn parse(text: &str) -> Option<UnixStamp> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok().filter(|e| (-30..=30).contains(e))?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || whole.len() + fraction.len() > MOST_DIGITS || !all_digits(whole) || !all_digits(fraction)
        {
            return None;
        }
        let places = i32::try_from(fraction.len()).ok()?;
        let whole_digits = i32::try_from(whole.trim_start_matches('0').len()).ok()? + exponent;
        let unit_power = match whole_digits {
            10 => 9,
            13 => 6,
            16 => 3,
            19 => 0,
            _ => return None,
        };
        let at_ns = decimal_scaled(mantissa, u32::try_from(unit_power + exponent).ok()?)?;
        let power = unit_power + exponent - places;
        let resolution_ns = if exponent == 0 { 10i64.checked_pow(power.max(0).unsigned_abs())? } else { 1 };
        Some(UnixStamp { at_ns, resolution_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_tells_the_unit() {
        let ns = |text| UnixStamp::parse(text).map(|s| s.at_ns);
        assert_eq!(ns("1796022121.946"), Some(1_796_022_121_946_000_000));
        assert_eq!(ns("1796022121946"), Some(1_796_022_121_946_000_000));
        assert_eq!(ns("1796022121946123"), Some(1_796_022_121_946_123_000));
        assert_eq!(ns("1796022121946123456"), Some(1_796_022_121_946_123_456));
        assert_eq!(ns("1796022121.9461234565"), Some(1_796_022_121_946_123_457));
        assert_eq!(ns("1.796022121946e+09"), Some(1_796_022_121_946_000_000));
        assert_eq!(ns("1796022121"), Some(1_796_022_121_000_000_000));
        for text in ["", "0", "12", "-1796022121", "17960221210", "9999999999999999999", "1796022121.9x", "1e99", "."] {
            assert_eq!(ns(text), None, "{text}");
        }
    }

    #[test]
    fn the_text_tells_the_grain() {
        let grain = |text| UnixStamp::parse(text).map(|s| s.resolution_ns);
        assert_eq!(grain("1796022121"), Some(1_000_000_000));
        assert_eq!(grain("1796022121.946"), Some(1_000_000));
        assert_eq!(grain("1796022121946"), Some(1_000_000));
        assert_eq!(grain("1796022121.9461234565"), Some(1));
    }
}
