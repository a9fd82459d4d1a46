//! Numbers as logs print them: thousands separators, decimal durations with a unit, sizes.

use std::borrow::Cow;

/// The decimal number that `text` starts with, without thousands separators, and what follows it. `nan` and `inf` count
/// as numbers, so that they can be told from text.
pub(crate) fn number(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let mut at = sign;
    let mut separated = false;
    loop {
        if digit(at) {
            at += 1;
        } else if at > sign && bytes.get(at) == Some(&b',') && (1..4).all(|n| digit(at + n)) && !digit(at + 4) {
            separated = true;
            at += 1;
        } else {
            break;
        }
    }
    if at == sign {
        let word = bytes.get(sign..sign + 3)?;
        let odd = word.eq_ignore_ascii_case(b"nan") || word.eq_ignore_ascii_case(b"inf");
        return odd.then(|| text.split_at(sign + 3)).map(|(number, rest)| (Cow::Borrowed(number), rest));
    }
    if bytes.get(at) == Some(&b'.') && digit(at + 1) {
        at += 1;
        while digit(at) {
            at += 1;
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let exponent = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        if digit(exponent) {
            at = exponent;
            while digit(at) {
                at += 1;
            }
        }
    }
    let (number, rest) = text.split_at(at);
    Some((if separated { Cow::Owned(number.replace(',', "")) } else { Cow::Borrowed(number) }, rest))
}

/// The number that stands between `before` and `after`, wherever `before` first occurs.
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<Cow<'a, str>> {
    let start = text.find(before)? + before.len();
    let (number, rest) = number(text.get(start..)?.trim_start())?;
    rest.starts_with(after).then_some(number)
}

/// `12.5` with 6 places is 12,500,000; rounded where there are more digits. `None`: no plain decimal, or too large.
pub(crate) fn decimal_scaled(number: &str, places: u32) -> Option<i64> {
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 19 || !plain(whole) || !plain(fraction) {
        return None;
    }
    let mut value: i128 = whole.parse().ok()?;
    for place in 0..places as usize {
        value = value * 10 + i128::from(fraction.as_bytes().get(place).map_or(0, |d| d - b'0'));
    }
    if fraction.as_bytes().get(places as usize).is_some_and(|d| *d >= b'5') {
        value += 1;
    }
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Units of durations and their decimal places in nanoseconds; both code points of micro.
const UNITS: [(&str, u32); 6] = [("ns", 0), ("µs", 3), ("μs", 3), ("us", 3), ("ms", 6), ("s", 9)];

/// `1.5s`, `12.5ms`, `850µs`, `90ns` in nanoseconds: the whole of `text`.
pub(crate) fn duration_ns(text: &str) -> Option<i64> {
    let (number, rest) = number(text)?;
    let (_, places) = UNITS.iter().find(|(unit, _)| rest.trim_start() == *unit)?;
    decimal_scaled(&number, *places)
}

/// A size in gibibytes as bytes, in digits.
pub(crate) fn gib_as_bytes(number: &str) -> Option<String> {
    let value: f64 = number.parse().ok()?;
    let bytes = (value * (1u64 << 30) as f64).round();
    (0.0..1e18).contains(&bytes).then(|| format!("{}", bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let read = |text| number(text).map(|(n, rest)| (n.into_owned(), rest.to_string()));
        let some = |n: &str, rest: &str| Some((n.to_string(), rest.to_string()));
        assert_eq!(read("6,131,120 tokens"), some("6131120", " tokens"));
        assert_eq!(read("0.757, 0.622"), some("0.757", ", 0.622"));
        assert_eq!(read("3,14 x"), some("3", ",14 x"));
        assert_eq!(read("1.5e-3s"), some("1.5e-3", "s"));
        assert_eq!(read("nan tokens/s"), some("nan", " tokens/s"));
        assert_eq!(read("-inf%"), some("-inf", "%"));
        assert_eq!(read("4."), some("4", "."));
        assert_eq!(read("x"), None);
        assert_eq!(read(""), None);
        assert_eq!(between("took 0.96 GiB and 1,234 s", "and ", " s").as_deref(), Some("1234"));
        assert_eq!(between("took 0.96 GiB", "took ", " s"), None);
    }

    #[test]
    fn durations_are_exact() {
        assert_eq!(duration_ns("2.520979735s"), Some(2_520_979_735));
        assert_eq!(duration_ns("12.5ms"), Some(12_500_000));
        assert_eq!(duration_ns("308.477µs"), Some(308_477));
        assert_eq!(duration_ns("70\u{3bc}s"), Some(70_000));
        assert_eq!(duration_ns("90ns"), Some(90));
        assert_eq!(duration_ns("1.0000000006s"), Some(1_000_000_001));
        assert_eq!(duration_ns("-1ms"), Some(-1_000_000));
        assert_eq!(duration_ns("12.5m"), None);
        assert_eq!(duration_ns("12.5"), None);
        assert_eq!(duration_ns("99999999999999999999s"), None);
        assert_eq!(duration_ns("9999999999999s"), None);
        assert_eq!(gib_as_bytes("1.0").as_deref(), Some("1073741824"));
        assert_eq!(gib_as_bytes("-1"), None);
        assert_eq!(gib_as_bytes("nan"), None);
    }
}
