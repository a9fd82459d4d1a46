//! Numbers as people read them: four significant digits, latencies always in milliseconds.

/// Four significant digits (two below 0.1), at least the whole part; an exponent only from 10¹² on and below a millionth.
pub(crate) fn number(v: f64) -> String {
    let size = v.abs();
    if size >= 1e12 {
        return format!("{v:.3e}");
    }
    if size > 0.0 && size < 1e-6 {
        return format!("{v:.1e}");
    }
    let digits = match size {
        s if s >= 999.95 => 0,
        s if s >= 99.995 => 1,
        0.0 => 0,
        s if s >= 9.9995 => 2,
        s if s >= 0.09995 => 3,
        // Small rates keep two digits that say something.
        s => (1 - s.log10().floor() as i32).clamp(3, 9) as usize,
    };
    format!("{v:.digits$}")
}

/// A count or a setting: whole numbers without decimals.
pub(crate) fn plain(v: f64) -> String {
    if v.fract() == 0.0 && v.abs() < 1e12 { format!("{v:.0}") } else { number(v) }
}

/// A number as someone wrote it.
pub(crate) fn setting(v: f64) -> String {
    if v.abs() < 1e12 { v.to_string() } else { format!("{v:e}") }
}

/// Milliseconds of a latency in nanoseconds, without unit.
pub(crate) fn ms(ns: f64) -> String {
    number(ns / 1e6)
}

/// A time that someone chose, with its unit: `300 ms`, `5 s`.
pub(crate) fn chosen_time(ns: f64) -> String {
    if ns >= 1e9 { format!("{} s", plain(ns / 1e9)) } else { format!("{} ms", plain(ns / 1e6)) }
}

/// Seconds as `850 ms`, `61.1 s`, `12 min 5 s` or `3 h 20 min`.
pub fn seconds(s: f64) -> String {
    match s {
        s if s >= 3600.0 => format!("{} h {} min", (s / 3600.0).floor(), ((s % 3600.0) / 60.0).floor()),
        s if s >= 120.0 => format!("{} min {:.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s if s.fract() == 0.0 => format!("{s} s"),
        s if s >= 1.0 => format!("{} s", number(s)),
        s => format!("{} ms", number(s * 1e3)),
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

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        0.0 | 100.0 => format!("{p} %"),
        p if p < 0.05 => "<0.1 %".to_string(),
        p if p > 99.95 => ">99.9 %".to_string(),
        p => format!("{p:.1} %"),
    }
}

/// A relative difference as a signed percentage: `+11.0 %`, `-0.0006 %`.
pub(crate) fn signed_percent(share: f64) -> String {
    let p = share * 100.0;
    let digits =
        if p.abs() >= 0.95 || p == 0.0 { 1 } else { (1 - p.abs().log10().floor() as i32).clamp(1, 9) as usize };
    format!("{p:+.digits$} %")
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
        assert_eq!((number(0.0000833), ms(4_321.0)), ("0.000083".into(), "0.0043".into()));
        assert_eq!((number(3.14e-12), number(0.000_004)), ("3.1e-12".into(), "0.0000040".into()));
        assert_eq!(ms(92_400_000.0), "92.40");
        assert_eq!(seconds(61.09), "61.09 s");
        assert_eq!(seconds(125.0), "2 min 5 s");
        assert_eq!(seconds(7200.0), "2 h 0 min");
        assert_eq!((seconds(0.0), seconds(1.0), seconds(0.85)), ("0 s".into(), "1 s".into(), "850.0 ms".into()));
        assert_eq!(bytes(464_400), "453.5 KiB");
        assert_eq!((percent(0.2), percent(0.0056), percent(1.0)), ("20.0 %".into(), "0.6 %".into(), "100 %".into()));
        assert_eq!((signed_percent(0.11), signed_percent(-0.000006)), ("+11.0 %".into(), "-0.00060 %".into()));
        assert_eq!((chosen_time(3e8), chosen_time(1.5e9)), ("300 ms".into(), "1.500 s".into()));
    }
}
