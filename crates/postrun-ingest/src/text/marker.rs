//! A line that says when what follows was recorded: `# scrape_time 1796022121.946`, `# date: 2026-01-02T03:04:05Z`, or
//! the time alone.

use super::stamp::{CivilStamp, LogClock, StampClock};
use super::unix_stamp::UnixStamp;

/// The moment that such a line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker {
    pub at_ns: i64,
    pub clock: StampClock,
    pub resolution_ns: i64,
    /// The line speaks of a scrape.
    pub names_a_scrape: bool,
}

/// Reads the markers of one file, in their order.
#[derive(Debug, Default)]
pub(crate) struct MarkerReader {
    log_clock: LogClock,
    clock: Option<StampClock>,
    resolution_ns: Option<i64>,
}

/// Longer lines are something else.
const LONGEST_MARKER: usize = 120;
const WORDS: &[&str] = &["time", "date", "stamp", "scrape", "sample"];

impl MarkerReader {
    /// The moment that `line` names. `None`: it is no marker.
    pub(crate) fn read(&mut self, line: &str) -> Option<Marker> {
        let frame = |c: char| matches!(c, '#' | '-' | '=' | '*' | ' ' | '\t' | '[' | ']' | '"');
        if line.len() > LONGEST_MARKER {
            return None;
        }
        let body = line.trim_matches(frame);
        let from = body.find(|c: char| c.is_ascii_digit())?;
        let (words, stamp) = body.split_at_checked(from)?;
        let words = words.to_ascii_lowercase();
        let speaks_of_time = words.is_empty() || words.starts_with("ts") || WORDS.iter().any(|w| words.contains(w));
        if !speaks_of_time || words.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '+' | '.')) {
            return None;
        }
        let (at_ns, clock, resolution_ns) = self.stamp(stamp.trim())?;
        Some(Marker { at_ns, clock, resolution_ns, names_a_scrape: words.contains("scrape") })
    }

    fn stamp(&mut self, text: &str) -> Option<(i64, StampClock, i64)> {
        if let Some(unix) = UnixStamp::parse(text) {
            return Some((unix.at_ns, StampClock::Unix, unix.resolution_ns));
        }
        let (mut stamp, rest) = CivilStamp::parse(text)?;
        stamp.year?;
        match rest.trim() {
            "" => {}
            "UTC" | "GMT" if stamp.zone_ns.is_none() => stamp.zone_ns = Some(0),
            _ => return None,
        }
        let clock = if stamp.zone_ns.is_some() { StampClock::Unix } else { StampClock::Local };
        Some((self.log_clock.at_ns(&stamp), clock, grain(text)))
    }

    /// The moment of a marker, where it is on the clock of those before: a file has one, and its first time settles it.
    pub(crate) fn moment(&mut self, marker: &Marker) -> Option<i64> {
        if !self.is_clock(marker.clock) {
            return None;
        }
        self.refine(marker.resolution_ns);
        Some(marker.at_ns)
    }

    /// The same for a Unix time that stands elsewhere than in a marker.
    pub(crate) fn unix_moment(&mut self, text: &str) -> Option<i64> {
        let stamp = UnixStamp::parse(text).filter(|_| self.is_clock(StampClock::Unix))?;
        self.refine(stamp.resolution_ns);
        Some(stamp.at_ns)
    }

    /// The file is on local time.
    pub(crate) fn is_local(&self) -> bool {
        self.clock == Some(StampClock::Local)
    }

    fn is_clock(&mut self, clock: StampClock) -> bool {
        *self.clock.get_or_insert(clock) == clock
    }

    fn refine(&mut self, resolution_ns: i64) {
        self.resolution_ns = Some(self.resolution_ns.map_or(resolution_ns, |finest| finest.min(resolution_ns)));
    }

    /// The clock of the file, and the finest resolution seen; `None` before any moment.
    pub(crate) fn clock(&self) -> Option<(StampClock, i64)> {
        self.clock.zip(self.resolution_ns)
    }

    /// How often a clock without a zone fell back by an hour.
    pub(crate) fn hour_steps(&self) -> u64 {
        self.log_clock.hour_steps
    }
}

/// How fine the seconds of a date and time are written.
fn grain(text: &str) -> i64 {
    let digits = text.split_once(['.', ',']).map_or(0, |(_, f)| f.bytes().take_while(u8::is_ascii_digit).count());
    10i64.pow(9 - digits.min(9) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(i64, StampClock)> {
        MarkerReader::default().read(line).map(|m| (m.at_ns, m.clock))
    }

    #[test]
    fn markers_in_every_dress() {
        let second = 1_700_000_000_000_000_000;
        for line in [
            "# scrape_time 1700000000",
            "# scrape_unix_time 1700000000.000",
            "# timestamp: 1700000000000",
            "#ts=1700000000",
            "1700000000",
            "--- 2023-11-14T22:13:20Z ---",
            "# date = 2023-11-14 23:13:20+01:00",
            "# Scraped at 2023-11-14 22:13:20 UTC",
        ] {
            assert_eq!(read(line), Some((second, StampClock::Unix)), "{line}");
        }
        assert_eq!(read("# time 2023-11-14T22:13:20"), Some((second, StampClock::Local)));
        assert_eq!(read("# time 2023-11-14T22:13:20.25"), Some((second + 250_000_000, StampClock::Local)));
    }

    #[test]
    fn other_comments_are_none() {
        for line in [
            "# scrape_error TimeoutError",
            "# HELP a b",
            "# note 1700000000",
            "# time 12",
            "# time1700000000",
            "# time 1700000000 and more",
            "# time -1700000000.5",
            "# time 11-14 22:13:20",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
