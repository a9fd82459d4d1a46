//! Calendar and decimal forms of whole nanoseconds.

const SECOND: i64 = 1_000_000_000;

/// Date and time of day, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

/// From unix nanoseconds (the proleptic Gregorian calendar, by Hinnant's method).
pub(super) fn civil(unix_ns: i64) -> Civil {
    let seconds = unix_ns.div_euclid(SECOND);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60 }
}

/// `YYYYmmdd-HHMMSS`, as the client writes the date of a result.
pub(super) fn result_date(unix_ns: i64) -> String {
    let c = civil(unix_ns);
    format!("{:04}{:02}{:02}-{:02}{:02}{:02}", c.year, c.month, c.day, c.hour, c.minute, c.second)
}

/// `MM-DD HH:MM:SS`, as a server's log has it.
pub(super) fn log_stamp(unix_ns: i64) -> String {
    let c = civil(unix_ns);
    format!("{:02}-{:02} {:02}:{:02}:{:02}", c.month, c.day, c.hour, c.minute, c.second)
}

/// `YYYY-MM-DDTHH:MM:SS.ffffff`.
pub(super) fn iso(unix_ns: i64) -> String {
    let c = civil(unix_ns);
    let micros = unix_ns.rem_euclid(SECOND) / 1000;
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{micros:06}", c.year, c.month, c.day, c.hour, c.minute, c.second)
}

/// Nanoseconds as seconds, exactly: `0.0125`, `12.0`.
pub(super) fn seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, rest) = (ns.unsigned_abs() / SECOND as u64, ns.unsigned_abs() % SECOND as u64);
    let digits = format!("{rest:09}");
    let digits = digits.trim_end_matches('0');
    format!("{sign}{whole}.{}", if digits.is_empty() { "0" } else { digits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_decimals() {
        assert_eq!(result_date(1_767_323_045 * SECOND), "20260102-030405");
        assert_eq!(log_stamp(951_782_400 * SECOND), "02-29 00:00:00");
        assert_eq!(iso(1_767_323_045 * SECOND + 250_000_000), "2026-01-02T03:04:05.250000");
        assert_eq!(seconds(12_500_000), "0.0125");
        assert_eq!(seconds(12 * SECOND), "12.0");
        assert_eq!(seconds(-1), "-0.000000001");
    }
}
