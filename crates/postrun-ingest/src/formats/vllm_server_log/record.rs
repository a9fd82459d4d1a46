//! The prefix of vLLM's log lines: `(EngineCore pid=7) INFO 01-02 03:04:05 [core.py:12] message`.

use crate::text::stamp::CivilStamp;

/// One record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub stamp: CivilStamp,
    pub level: &'static str,
    /// `EngineCore_DP1`, where the process is named.
    pub process: Option<&'a str>,
    /// `core.py`, as written.
    pub source: &'a str,
    pub message: &'a str,
}

const LEVELS: [&str; 5] = ["INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL"];
/// Container runtimes and supervisors put their own labels in front.
const FURTHEST_START: usize = 512;
/// A source name is a file's path and a line number.
const LONGEST_SOURCE: usize = 160;

/// The first record of `text`, and the text behind it where another process wrote into the same line.
pub(super) fn next_record(text: &str) -> Option<(Record<'_>, &str)> {
    let (at, mut record) = find(text, FURTHEST_START)?;
    record.process = process_before(text.get(..at)?).map(|(_, name)| name);
    // These carry a user's text, which may look like anything.
    if record.message.starts_with("Received request") || record.message.starts_with("Generated response") {
        return Some((record, ""));
    }
    let message = record.message;
    let Some((next, _)) = find(message, message.len()) else { return Some((record, "")) };
    let before = message.get(..next)?;
    let cut = process_before(before).map_or(next, |(tag, _)| tag);
    record.message = message.get(..cut)?;
    Some((record, message.get(cut..)?))
}

/// The first place up to byte `furthest` where level, stamp and source stand one after the other.
fn find(text: &str, furthest: usize) -> Option<(usize, Record<'_>)> {
    let found = LEVELS.iter().filter_map(|level| {
        let starts = text.match_indices(level).map(|(at, _)| at).take_while(|at| *at <= furthest);
        starts.filter_map(|at| Some((at, parse(level, text.get(at + level.len()..)?)?))).next()
    });
    found.min_by_key(|(at, _)| *at)
}

fn parse<'a>(level: &'static str, rest: &'a str) -> Option<Record<'a>> {
    let (stamp, rest) = CivilStamp::parse(rest.strip_prefix(' ')?)?;
    let rest = rest.strip_prefix(' ')?;
    let rest = rest.strip_prefix('[').unwrap_or(rest);
    let (place, message) = rest.split_once(']').filter(|(place, _)| place.len() <= LONGEST_SOURCE)?;
    let (source, line) = place.rsplit_once(':')?;
    if source.is_empty() || source.contains(' ') || line.is_empty() || !line.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let message = message.strip_prefix(' ').unwrap_or(message);
    Some(Record { stamp, level, process: None, source, message })
}

/// The process tag that `text` ends with: where it starts, and the name in it.
fn process_before(text: &str) -> Option<(usize, &str)> {
    let inside = text.trim_end().strip_suffix(')')?;
    let open = inside.rfind('(')?;
    let (name, pid) = inside.get(open + 1..)?.split_once(" pid=")?;
    (!pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit())).then_some((open, name))
}

/// True for lines that the server or its processes wrote, although they carry no stamp.
pub(super) fn is_own_line(text: &str) -> bool {
    let tagged = text.strip_prefix('(').and_then(|t| t.split_once(')')).is_some_and(|(tag, _)| tag.contains(" pid="));
    let uvicorn = ["INFO:", "WARNING:", "ERROR:"].iter().any(|level| text.starts_with(level));
    tagged || uvicorn || text.starts_with([' ', '\t', '[']) || text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> (Record<'_>, &str) {
        next_record(text).unwrap()
    }

    #[test]
    fn prefixes_of_all_versions() {
        let (r, rest) = one("(EngineCore_DP1 pid=7) WARNING 01-02 03:04:05 [v1/core.py:12] hello");
        assert_eq!((r.level, r.process, r.source), ("WARNING", Some("EngineCore_DP1"), "v1/core.py"));
        assert_eq!((r.message, rest, r.stamp.month), ("hello", "", 1));
        let (r, _) = one("INFO 01-02 03:04:05 metrics.py:455] Avg");
        assert_eq!((r.process, r.source, r.message), (None, "metrics.py", "Avg"));
        let (r, _) = one("server-1  | 2026-01-02T03:04:05Z (APIServer pid=1) INFO 01-02 03:04:05 [a.py:1] ");
        assert_eq!((r.process, r.message), (Some("APIServer"), ""));
        for none in [
            "INFO:     127.0.0.1:1 - \"GET / HTTP/1.1\" 200 OK",
            "INFO 01-02 03:04:05 no source] x",
            "INFO 01-02 03:04 [a.py:1] x",
            "2026-01-02 03:04:05 INFO a.py: x",
            "",
        ] {
            assert_eq!(next_record(none), None, "{none}");
        }
    }

    #[test]
    fn two_processes_in_one_line() {
        let text = "INFO 01-02 03:04:05 [a.py:1] Running: 3(B pid=2) INFO 01-02 03:04:06 [b.py:2] second";
        let (first, rest) = one(text);
        assert_eq!(first.message, "Running: 3");
        assert_eq!((one(rest).0.message, one(rest).0.process), ("second", Some("B")));
        // What a user wrote is not the server's.
        let text = "INFO 01-02 03:04:05 [a.py:1] Received request r: prompt: 'INFO 01-02 03:04:06 [b.py:2] x'";
        assert_eq!(one(text).1, "");
    }
}
