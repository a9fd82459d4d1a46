//! Numbers in sentences.

/// Digits that need no grouping.
const SHORT: usize = 4;

/// `9999`, `1 000 000`: thousands apart in long numbers, by a narrow space at which no line breaks.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() <= SHORT {
        return digits;
    }
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `1 request`, `12 requests`, `1 000 000 requests`.
pub fn counted(n: u64, noun: &str) -> String {
    let ending = match noun {
        _ if n == 1 => "",
        noun if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", grouped(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_long_numbers_are_grouped() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "request")), ["0 requests", "1 request", "2 requests"]);
        assert_eq!([1, 2].map(|n| counted(n, "stretch")), ["1 stretch", "2 stretches"]);
        assert_eq!(grouped(9999), "9999");
        assert_eq!(grouped(10_000), "10\u{202f}000");
        assert_eq!(counted(1_234_567, "chart"), "1\u{202f}234\u{202f}567 charts");
    }
}
