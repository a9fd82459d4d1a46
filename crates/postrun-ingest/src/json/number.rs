//! Numbers as benchmark clients write them, seconds as integer nanoseconds above all.

/// Beyond it, nanoseconds do not fit 64 bits.
const MAX_WHOLE_SECONDS: i64 = 9_223_372_035;

/// A number of seconds, as integer nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seconds {
    Ns(i64),
    Null,
    NonFinite,
    TooLarge,
    NotANumber,
}

/// A JSON number, or one of the words that languages write for non-finite ones.
pub(crate) fn number(token: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(token).ok()?;
    match text {
        "NaN" | "nan" | "-nan" | "-NaN" | "+nan" => Some(f64::NAN),
        "Infinity" | "inf" | "Inf" | "+inf" | "+Infinity" => Some(f64::INFINITY),
        "-Infinity" | "-inf" | "-Inf" => Some(f64::NEG_INFINITY),
        _ if text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().all(is_number_byte) => text.parse().ok(),
        _ => None,
    }
}

fn is_number_byte(b: u8) -> bool {
    b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Plain decimal seconds at the start of `s` as nanoseconds (rounded to nearest), with the bytes used.
/// `None` for anything else: exponents, words, more than 292 years, or a number that touches the end of `s`.
#[inline]
pub(crate) fn fast_seconds(s: &[u8]) -> Option<(i64, usize)> {
    let mut i = 0;
    let negative = s.first() == Some(&b'-');
    i += usize::from(negative);
    let start = i;
    let mut whole: i64 = 0;
    while let Some(d) = s.get(i).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        whole = whole * 10 + i64::from(d);
        i += 1;
        if i - start > 10 {
            return None;
        }
    }
    if i == start {
        return None;
    }
    if whole > MAX_WHOLE_SECONDS {
        return None;
    }
    let mut ns = whole * 1_000_000_000;
    if s.get(i) == Some(&b'.') {
        i += 1;
        let first = i;
        let mut unit: i64 = 1_000_000_000;
        while let Some(d) = s.get(i).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
            if unit > 1 {
                unit /= 10;
                ns += i64::from(d) * unit;
            } else if unit == 1 {
                unit = 0;
                ns += i64::from(d >= 5);
            }
            i += 1;
        }
        if i == first {
            return None;
        }
    }
    match s.get(i) {
        Some(b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t') => Some((if negative { -ns } else { ns }, i)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonReader;

    fn seconds(text: &str) -> Seconds {
        let mut reader = JsonReader::new(text.as_bytes());
        reader.seconds().unwrap()
    }

    #[test]
    fn seconds_become_the_nearest_nanosecond() {
        assert_eq!(seconds("0.1,"), Seconds::Ns(100_000_000));
        assert_eq!(seconds("0.0057377590001124,"), Seconds::Ns(5_737_759));
        assert_eq!(seconds("0.0057377595,"), Seconds::Ns(5_737_760));
        assert_eq!(seconds("6.579000000783708e-06 "), Seconds::Ns(6_579));
        assert_eq!(seconds("353399.73]"), Seconds::Ns(353_399_730_000_000));
        assert_eq!(seconds("1764481545.25]"), Seconds::Ns(1_764_481_545_250_000_000));
        assert_eq!(seconds("-0.5]"), Seconds::Ns(-500_000_000));
        assert_eq!(seconds("1e300]"), Seconds::TooLarge);
        for text in ["NaN,", "-nan,", "nan]", "Infinity,", "-Infinity,", "inf,", "\"inf\","] {
            assert_eq!(seconds(text), Seconds::NonFinite, "{text}");
        }
        assert_eq!(seconds("null,"), Seconds::Null);
        assert_eq!(seconds("\"soon\","), Seconds::NotANumber);
        assert_eq!(seconds("[1],"), Seconds::NotANumber);
    }
}
