//! Numbers as people read them: four significant digits, the unit said once.

/// A unit of time for one row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Micro,
    Milli,
    Second,
}

impl TimeUnit {
    /// The unit in which `ns` is easiest to read.
    pub(crate) fn fitting(ns: f64) -> TimeUnit {
        match ns {
            ns if ns >= 10e9 => TimeUnit::Second,
            ns if ns >= 0.1e6 => TimeUnit::Milli,
            _ => TimeUnit::Micro,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            TimeUnit::Micro => "µs",
            TimeUnit::Milli => "ms",
            TimeUnit::Second => "s",
        }
    }

    pub(crate) fn of(self, ns: f64) -> f64 {
        match self {
            TimeUnit::Micro => ns / 1e3,
            TimeUnit::Milli => ns / 1e6,
            TimeUnit::Second => ns / 1e9,
        }
    }
}

/// Four significant digits, never an exponent; at least the whole part.
pub(crate) fn number(v: f64) -> String {
    let size = v.abs();
    let digits = match size {
        s if s >= 999.95 => 0,
        s if s >= 99.995 => 1,
        0.0 => 0,
        s if s >= 9.9995 => 2,
        _ => 3,
    };
    format!("{v:.digits$}")
}

/// A count or a setting: whole numbers without decimals.
pub(crate) fn plain(v: f64) -> String {
    if v.fract() == 0.0 { format!("{v:.0}") } else { number(v) }
}

/// A time that someone chose, with its unit: `300 ms`, `5 s`.
pub(crate) fn chosen_time(ns: f64) -> String {
    let unit = if ns >= 1e9 { TimeUnit::Second } else { TimeUnit::fitting(ns) };
    format!("{} {}", plain(unit.of(ns)), unit.name())
}

/// A time with its unit.
pub(crate) fn time(ns: f64) -> String {
    let unit = TimeUnit::fitting(ns);
    format!("{} {}", number(unit.of(ns)), unit.name())
}

/// Seconds as `850 ms`, `61.1 s`, `12 min 5 s` or `3 h 20 min`.
pub fn seconds(s: f64) -> String {
    if s >= 3600.0 {
        return format!("{} h {} min", (s / 3600.0).floor(), ((s % 3600.0) / 60.0).floor());
    }
    if s >= 120.0 {
        return format!("{} min {:.0} s", (s / 60.0).floor(), (s % 60.0).floor());
    }
    match s {
        s if s.fract() == 0.0 => format!("{s} s"),
        s if s >= 1.0 => format!("{} s", number(s)),
        s => time(s * 1e9),
    }
}

/// Bytes in binary units.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{} {}", number(value), UNITS[unit]) }
}

/// A count with thin groups: `12 345`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let p = share * 100.0;
    let digits = if p == 0.0 || p >= 9.95 { 0 } else { 1 };
    format!("{p:.digits$} %")
}

/// `50` as `P50`, `99.9` as `P99.9`.
pub(crate) fn percentile_name(p: f64) -> String {
    format!("P{p}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits() {
        let got: Vec<String> = [0.0, 0.0123, 1.23456, 12.3456, 123.456, 1234.56].into_iter().map(number).collect();
        assert_eq!(got, ["0", "0.012", "1.235", "12.35", "123.5", "1235"]);
        assert_eq!(time(92_400_000.0), "92.40 ms");
        assert_eq!(time(9_999_999_999.0), "10000 ms");
        assert_eq!(time(12_345_000_000.0), "12.35 s");
        assert_eq!(seconds(61.09), "61.09 s");
        assert_eq!(seconds(125.0), "2 min 5 s");
        assert_eq!(bytes(464_400), "453.5 KiB");
        assert_eq!(percent(0.2), "20 %");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
