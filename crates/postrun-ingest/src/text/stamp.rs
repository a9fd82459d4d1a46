//! Time stamps of logs: civil dates to nanoseconds, and stamps without a year in the order they were written.

const DAY_NS: i64 = 86_400_000_000_000;
const HOUR_NS: i64 = 3_600_000_000_000;

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A stamp as it stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CivilStamp {
    /// `None`: the line does not say.
    pub year: Option<i64>,
    pub month: i64,
    pub day: i64,
    /// Since midnight.
    pub of_day_ns: i64,
    /// East of UTC; `None`: the line names no zone.
    pub zone_ns: Option<i64>,
}

impl CivilStamp {
    /// Nanoseconds since 1970 in `year`, in UTC where the zone is known, else as if the local time were UTC.
    pub(crate) fn at_ns(&self, year: i64) -> i64 {
        let midnight = days_from_civil(year, self.month, self.day).saturating_mul(DAY_NS);
        midnight.saturating_add(self.of_day_ns).saturating_sub(self.zone_ns.unwrap_or(0))
    }

    /// `2026-01-02 03:04:05`, `2026-01-02T03:04:05.678Z`, `…+01:00`, `01-02 03:04:05`; also `/` in the date and `,`
    /// before the fraction. Returns the stamp and what follows it. `None`: the text does not start with one.
    pub(crate) fn parse(text: &str) -> Option<(CivilStamp, &str)> {
        let (first, rest) = digits(text)?;
        let separator = rest.chars().next().filter(|c| *c == '-' || *c == '/')?;
        let (second, rest) = digits(&rest[1..])?;
        let (year, month, day, rest) = match rest.strip_prefix(separator) {
            Some(rest) => {
                let (third, rest) = digits(rest)?;
                (Some(first), second, third, rest)
            }
            None => (None, first, second, rest),
        };
        let rest = rest.strip_prefix([' ', 'T', '_'])?;
        let (hour, rest) = digits(rest)?;
        let (minute, rest) = digits(rest.strip_prefix(':')?)?;
        let (second, rest) = digits(rest.strip_prefix(':')?)?;
        let (fraction_ns, rest) = fraction(rest);
        let (zone_ns, rest) = zone(rest);
        let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
        let of_day_ns = (hour * 3600 + minute * 60 + second) * 1_000_000_000 + fraction_ns;
        let credible = year.is_none_or(|y| (1970..2200).contains(&y));
        (fits && credible).then_some((CivilStamp { year, month, day, of_day_ns, zone_ns }, rest))
    }
}

fn digits(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 || end > 4 {
        return None;
    }
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn fraction(text: &str) -> (i64, &str) {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return (0, text) };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let mut ns = 0;
    for place in 0..9 {
        ns = ns * 10 + rest.as_bytes().get(place).filter(|_| place < end).map_or(0, |d| i64::from(d - b'0'));
    }
    if end == 0 { (0, text) } else { (ns, &rest[end..]) }
}

fn zone(text: &str) -> (Option<i64>, &str) {
    if let Some(rest) = text.strip_prefix('Z') {
        return (Some(0), rest);
    }
    let sign = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return (None, text),
    };
    let Some(field) = text.get(1..).filter(|t| t.len() >= 4) else { return (None, text) };
    let (hours, rest) = field.split_at_checked(2).unwrap_or((field, ""));
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = rest.split_at_checked(2).unwrap_or((rest, ""));
    match (hours.parse::<i64>(), minutes.parse::<i64>()) {
        (Ok(h), Ok(m)) if h < 19 && m < 60 => (Some(sign * (h * HOUR_NS + m * 60_000_000_000)), rest),
        _ => (None, text),
    }
}

/// How the times of a file are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StampClock {
    /// Nanoseconds of Unix time.
    Unix,
    /// Local time of an unknown zone, and perhaps of an unknown year, read as if it were UTC.
    Local,
    /// An arbitrary origin.
    Monotonic,
    /// The clock of the client whose files are of this format: nothing has to be aligned.
    Client(&'static str),
}

/// Turns the stamps of one log, in the order of its lines, into times that a person would agree with.
///
/// Stamps without a year count from a leap year chosen once; a jump from December to January starts the next one, and a
/// late line of the old year behind it stays in the old year. A
/// clock that falls back by an hour (the end of summer time) keeps running, so that no duration comes out negative;
/// [`LogClock::hour_steps`] counts it. Lines of several processes may be out of order by seconds: these stay as they are.
#[derive(Debug)]
pub(crate) struct LogClock {
    year: i64,
    last_ns: Option<i64>,
    shift_ns: i64,
    /// How often the clock fell back by an hour.
    pub hour_steps: u64,
    /// Some stamp had no year.
    pub without_year: bool,
    /// Some stamp had no zone.
    pub without_zone: bool,
}

/// A leap year, so that 29 February exists.
const YEAR_OF_YEARLESS: i64 = 2024;
/// No log goes on for longer; nanoseconds since 1970 end in 2262.
const LAST_YEAR: i64 = 2199;
/// What a jump of a year's end is told by.
const HALF_A_YEAR_NS: i64 = 180 * DAY_NS;

impl Default for LogClock {
    fn default() -> Self {
        LogClock {
            year: YEAR_OF_YEARLESS,
            last_ns: None,
            shift_ns: 0,
            hour_steps: 0,
            without_year: false,
            without_zone: false,
        }
    }
}

impl LogClock {
    /// The time of the next stamp.
    pub(crate) fn at_ns(&mut self, stamp: &CivilStamp) -> i64 {
        self.without_year |= stamp.year.is_none();
        self.without_zone |= stamp.zone_ns.is_none();
        let in_year = |year: i64| stamp.at_ns(year).saturating_add(self.shift_ns);
        let mut at = in_year(stamp.year.unwrap_or(self.year));
        if let Some(last) = self.last_ns {
            if stamp.year.is_none() {
                let late = in_year(self.year - 1);
                if last.saturating_sub(at) > HALF_A_YEAR_NS && self.year < LAST_YEAR {
                    self.year += 1;
                    at = in_year(self.year);
                } else if (0..DAY_NS).contains(&last.saturating_sub(late)) && at.saturating_sub(last) > HALF_A_YEAR_NS {
                    at = late;
                }
            }
            let back = last.saturating_sub(at);
            if stamp.zone_ns.is_none() && (HOUR_NS - 600_000_000_000..=HOUR_NS).contains(&back) {
                self.shift_ns = self.shift_ns.saturating_add(HOUR_NS);
                self.hour_steps += 1;
                at = at.saturating_add(HOUR_NS);
            }
        }
        self.last_ns = Some(self.last_ns.map_or(at, |last| last.max(at)));
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(clock: &mut LogClock, text: &str) -> i64 {
        clock.at_ns(&CivilStamp::parse(text).unwrap().0)
    }

    #[test]
    fn stamps_with_everything() {
        let mut clock = LogClock::default();
        assert_eq!(ns(&mut clock, "1970-01-01T00:00:01.5Z"), 1_500_000_000);
        assert_eq!(ns(&mut clock, "2026-11-30 10:59:02+01:00"), 1_796_032_742_000_000_000);
        assert!(!clock.without_zone);
        let (stamp, rest) = CivilStamp::parse("11-30 07:37:56 [api.py:3] hello").unwrap();
        assert_eq!((stamp.month, stamp.day, rest), (11, 30, " [api.py:3] hello"));
        assert!(CivilStamp::parse("13-30 07:37:56").is_none());
        assert!(CivilStamp::parse("11-30 07:37").is_none());
    }

    #[test]
    fn new_year_and_the_end_of_summer_time() {
        let mut clock = LogClock::default();
        let before = ns(&mut clock, "12-31 23:59:59");
        assert_eq!(ns(&mut clock, "01-01 00:00:01") - before, 2_000_000_000);
        // Three processes write around midnight, a second out of order: one new year, however often.
        let mut clock = LogClock::default();
        let before = ns(&mut clock, "12-31 23:59:59");
        for _ in 0..1000 {
            assert_eq!(ns(&mut clock, "01-01 00:00:00") - before, 1_000_000_000);
            assert_eq!(ns(&mut clock, "12-31 23:59:59"), before);
        }
        assert_eq!(ns(&mut clock, "12-31 23:59:58") - before, -1_000_000_000);
        // Nonsense that leaps through the years ends at the last one.
        let mut clock = LogClock::default();
        for _ in 0..1000 {
            ns(&mut clock, "12-01 00:00:00");
            ns(&mut clock, "01-01 00:00:00");
        }
        assert!(ns(&mut clock, "12-01 00:00:00") > 0);
        let mut clock = LogClock::default();
        let before = ns(&mut clock, "10-25 02:59:58");
        assert_eq!(ns(&mut clock, "10-25 02:00:03") - before, 5_000_000_000);
        assert_eq!(clock.hour_steps, 1);
        // Two processes that write a second out of order are no step.
        let mut clock = LogClock::default();
        let first = ns(&mut clock, "10-25 02:59:58");
        assert_eq!(ns(&mut clock, "10-25 02:59:57") - first, -1_000_000_000);
    }
}
