//! Numbers as benchmark clients write them, seconds as integer nanoseconds above all.

use super::{JsonReader, Result, Scalar};
use std::io::Read;

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
    /// The end of a list of which no more is kept.
    TooMany,
}

impl<R: Read> JsonReader<R> {
    /// Reads a number of seconds. Text, booleans and nested values are consumed and reported as `NotANumber`;
    /// `"inf"` and `"nan"` in quotes as `NonFinite`.
    pub(crate) fn seconds(&mut self) -> Result<Seconds> {
        self.peek()?;
        self.ensure(40)?;
        if let Some((ns, used)) = fast_seconds(&self.buf[self.pos..self.len]) {
            self.pos += used;
            return Ok(Seconds::Ns(ns));
        }
        Ok(match self.scalar(32)? {
            Scalar::Number(v) if !v.is_finite() => Seconds::NonFinite,
            Scalar::Number(v) => match (v * 1e9).round() {
                ns if ns.abs() < 9.2e18 => Seconds::Ns(ns as i64),
                _ => Seconds::TooLarge,
            },
            Scalar::Null => Seconds::Null,
            Scalar::Text(text) => match number(text.as_bytes()) {
                Some(v) if !v.is_finite() => Seconds::NonFinite,
                _ => Seconds::NotANumber,
            },
            Scalar::Bool(_) | Scalar::Nested => Seconds::NotANumber,
        })
    }

    /// Reads on in an array of seconds while its elements are plain and `each` takes them; stops before the comma of the
    /// first that needs a closer look. This loop sees nearly every byte of a large file.
    pub(crate) fn more_seconds(&mut self, mut each: impl FnMut(i64) -> bool) {
        let text = &self.buf[..self.len];
        let mut pos = self.pos;
        // As the first separator so all: where the next number starts must not wait for what a byte is.
        let space = text.get(pos + 1) == Some(&b' ');
        let separator = 1 + usize::from(space);
        while let Some([b',', next, ..]) = text.get(pos..)
            && (*next == b' ') == space
        {
            match text.get(pos + separator..).and_then(fast_seconds) {
                Some((ns, used)) if each(ns) => pos += separator + used,
                _ => break,
            }
        }
        self.pos = pos;
    }
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
#[inline(always)]
pub(crate) fn fast_seconds(s: &[u8]) -> Option<(i64, usize)> {
    match s.first_chunk().and_then(usual_seconds) {
        Some(found) => Some(found),
        None => any_seconds(s),
    }
}

/// Bytes of a number of the usual shape, with the byte behind it.
const USUAL_BYTES: usize = 27;

/// One digit, the point, eight to twenty-three digits, and a comma or bracket: nearly every number of a large file. Looks
/// at three words instead of every byte; the one branch that digits decide is whether there are more than sixteen.
#[inline(always)]
fn usual_seconds(s: &[u8; USUAL_BYTES]) -> Option<(i64, usize)> {
    let whole = i64::from(s[0].wrapping_sub(b'0'));
    if whole > 9 || s[1] != b'.' {
        return None;
    }
    let head = eight_digits(&s[2..10])?;
    let next = values_of(&s[10..18])?;
    let (known, digits) = match no_digits(next) {
        // At most seven, which spares a look at zero; an eighth is no comma.
        0 => (next, 8 + (no_digits(values_of(&s[18..26])?) | 1 << 63).trailing_zeros() / 8),
        others => {
            let digits = others.trailing_zeros() / 8;
            // What is behind the last digit counts as 0.
            (next & ((1 << (8 * digits)) - 1), digits)
        }
    };
    let (ninth, tenth) = (known & 0xff, known >> 8 & 0xff);
    let used = 10 + digits as usize;
    match s.get(used) {
        Some(b',' | b']') => {
            let ns = head * 10 + ninth as i64 + i64::from(tenth >= 5);
            Some((whole * 1_000_000_000 + ns, used))
        }
        _ => None,
    }
}

/// [`fast_seconds`] of any shape.
fn any_seconds(s: &[u8]) -> Option<(i64, usize)> {
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
        let (fraction, used) = match s.get(i..i + 8).and_then(eight_digits) {
            Some(head) => more_digits(&s[i + 8..], head, 8),
            None => more_digits(&s[i..], 0, 0),
        };
        ns += fraction;
        i += used;
        i += leading_digits(&s[i..]);
        if i == first {
            return None;
        }
    }
    match s.get(i) {
        Some(b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t') => Some((if negative { -ns } else { ns }, i)),
        _ => None,
    }
}

/// The number that eight digits spell; `None` if one of them is no digit. All eight at once, in a word.
#[inline(always)]
fn eight_digits(digits: &[u8]) -> Option<i64> {
    let values = values_of(digits)?;
    if no_digits(values) != 0 {
        return None;
    }
    let pairs = (values.wrapping_mul(10) + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let eight = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
    Some(eight as i64)
}

/// Eight bytes, '0' taken from each. A borrow out of a byte that is no digit spoils later bytes only.
#[inline(always)]
fn values_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?).wrapping_sub(0x3030_3030_3030_3030))
}

/// Not 0 in the high half of bytes that are no digit: subtracting '0' left it set, or adding 6 sets it.
#[inline(always)]
fn no_digits(values: u64) -> u64 {
    (values | values.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0
}

/// How many digits eight bytes start with.
#[inline(always)]
fn leading_digits_of(values: u64) -> u32 {
    no_digits(values).trailing_zeros() / 8
}

/// How many digits `s` starts with, eight at a time.
#[inline(always)]
fn leading_digits(s: &[u8]) -> usize {
    let mut n = 0;
    while let Some(values) = s.get(n..n + 8).and_then(values_of) {
        let digits = leading_digits_of(values) as usize;
        n += digits;
        if digits < 8 {
            return n;
        }
    }
    n + s[n..].iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Goes on after `known` digits of a fraction of a second up to the ninth, rounds by the tenth, and fills up with zeros:
/// nanoseconds and the digits used in all.
#[inline(always)]
fn more_digits(s: &[u8], head: i64, known: usize) -> (i64, usize) {
    let (mut ns, mut used) = (head, known);
    for digit in s.iter().map(|b| b.wrapping_sub(b'0')).take_while(|d| *d < 10) {
        if used == 9 {
            return (ns + i64::from(digit >= 5), used);
        }
        ns = ns * 10 + i64::from(digit);
        used += 1;
    }
    (ns * 10i64.pow(9 - used as u32), used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Seconds {
        let mut reader = JsonReader::new(text.as_bytes());
        reader.seconds().unwrap()
    }

    #[test]
    fn seconds_become_the_nearest_nanosecond() {
        assert_eq!(seconds("0.1,"), Seconds::Ns(100_000_000));
        assert_eq!(seconds("0.0057377590001124,"), Seconds::Ns(5_737_759));
        assert_eq!(seconds("0.0057377595,"), Seconds::Ns(5_737_760));
        assert_eq!(seconds("0.00573775949,"), Seconds::Ns(5_737_759));
        assert_eq!(seconds("0.12345678,"), Seconds::Ns(123_456_780));
        assert_eq!(seconds("0.123456789]"), Seconds::Ns(123_456_789));
        assert_eq!(seconds("12.5 "), Seconds::Ns(12_500_000_000));
        assert_eq!(seconds("0.9999999996,"), Seconds::Ns(1_000_000_000));
        assert_eq!(seconds("  7,"), Seconds::Ns(7_000_000_000));
        assert_eq!(seconds("6.579000000783708e-06 "), Seconds::Ns(6_579));
        assert_eq!(seconds("353399.73]"), Seconds::Ns(353_399_730_000_000));
        assert_eq!(seconds("1764481545.25]"), Seconds::Ns(1_764_481_545_250_000_000));
        assert_eq!(seconds("-0.5]"), Seconds::Ns(-500_000_000));
        assert_eq!(seconds("1e300]"), Seconds::TooLarge);
        // As above, with what follows in a file.
        for digits in 1..=25 {
            let fraction = &"9876543215432109876512340"[..digits];
            let text = format!("7.{fraction}, 0.017447784999603755, 0.5");
            let exact: f64 = format!("7.{fraction}").parse().unwrap();
            assert_eq!(seconds(&text), Seconds::Ns((exact * 1e9).round() as i64), "{text}");
            assert_eq!(any_seconds(text.as_bytes()), fast_seconds(text.as_bytes()), "{text}");
        }
        for text in ["0.01744778e-03, 0.017447784999603755", "0.0174477849996037e1, 0.017447784999603755"] {
            assert_eq!(fast_seconds(text.as_bytes()), None, "{text}");
        }
        for text in ["NaN,", "-nan,", "nan]", "Infinity,", "-Infinity,", "inf,", "\"inf\","] {
            assert_eq!(seconds(text), Seconds::NonFinite, "{text}");
        }
        assert_eq!(seconds("null,"), Seconds::Null);
        assert_eq!(seconds("\"soon\","), Seconds::NotANumber);
        assert_eq!(seconds("[1],"), Seconds::NotANumber);
    }
}
