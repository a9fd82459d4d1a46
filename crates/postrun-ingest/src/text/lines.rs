//! Text by lines, with their places: for logs and exposition files, whose lines may be cut, coloured, endless or not text.

use crate::limits::LONGEST_LINE_BYTES;
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};

/// A carriage return and a line feed, which are no part of the line.
const LINE_END_BYTES: usize = 2;

/// One line, without its end, colour codes and carriage return.
pub(crate) struct Line<'a> {
    /// From 1.
    pub number: u64,
    /// Of its first byte in the (decompressed) text.
    pub offset: u64,
    pub text: Cow<'a, str>,
    /// The text ends inside this line: whatever stands here may be cut.
    pub unfinished: bool,
    /// It was longer than [`LONGEST_LINE_BYTES`] without its end; the rest is passed over.
    pub shortened: bool,
}

impl Line<'_> {
    /// `line 12, byte 3400`.
    pub(crate) fn place(&self) -> String {
        format!("line {}, byte {}", self.number, self.offset)
    }
}

/// Reads lines from front to back; memory is one line.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    buffer: Vec<u8>,
    number: u64,
    offset: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R) -> Lines<R> {
        Lines { reader: BufReader::with_capacity(1 << 16, reader), buffer: Vec::new(), number: 0, offset: 0 }
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let start = self.offset;
        let (mut read, mut ended) = (0u64, false);
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', available);
            let take = end.map_or(available.len(), |at| at + 1);
            let room = (LONGEST_LINE_BYTES + LINE_END_BYTES).saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&available[..take.min(room)]);
            self.reader.consume(take);
            read += take as u64;
            if end.is_some() {
                ended = true;
                break;
            }
        }
        if read == 0 {
            return Ok(None);
        }
        self.offset += read;
        self.number += 1;
        let bytes = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        // Where more was read than kept, no line feed was kept, and this is longer by a byte at least.
        let shortened = bytes.len() > LONGEST_LINE_BYTES;
        let bytes = &bytes[..bytes.len().min(LONGEST_LINE_BYTES)];
        // The plain check is several times faster than the lossy reading, and nearly every line passes it.
        let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        let text = without_colour(text);
        Ok(Some(Line { number: self.number, offset: start, text, unfinished: !ended, shortened }))
    }
}

/// The text without terminal escape sequences (`ESC [ … letter`).
pub(crate) fn without_colour(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        rest = match tail.strip_prefix('[') {
            Some(sequence) => match sequence.find(|c: char| ('@'..='~').contains(&c)) {
                Some(end) => &sequence[end + 1..],
                None => "",
            },
            None => tail,
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_long_as_the_limit_is_whole() {
        for (bytes, end, shortened) in [
            (0, "\n", false),
            (0, "\r\n", false),
            (0, "", false),
            (1, "\n", true),
            (1, "\r\n", true),
            (1, "", true),
            (2, "\n", true),
            (3, "\r\n", true),
            (1 << 17, "\n", true),
        ] {
            let text = format!("{}{end}next", "x".repeat(LONGEST_LINE_BYTES + bytes));
            let text = if end.is_empty() { text.trim_end_matches("next") } else { &text };
            let mut lines = Lines::new(text.as_bytes());
            let line = lines.next().unwrap().unwrap();
            assert_eq!((line.text.len(), line.shortened), (LONGEST_LINE_BYTES, shortened), "{bytes} {end:?}");
            assert!(line.text.bytes().all(|byte| byte == b'x'));
            let next = lines.next().unwrap().map(|line| (line.offset as usize, line.text.to_string()));
            let expected = (LONGEST_LINE_BYTES + bytes + end.len(), "next".to_string());
            assert_eq!(next, (!end.is_empty()).then_some(expected));
        }
    }

    #[test]
    fn lines_keep_their_places() {
        let text: &[u8] = b"a\r\n\x1b[32mgreen\x1b[0m\n\xff\nlast";
        let mut lines = Lines::new(text);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.number, line.offset, line.text.to_string(), line.unfinished));
        }
        let expected = [(1, 0, "a", false), (2, 3, "green", false), (3, 18, "\u{fffd}", false), (4, 20, "last", true)];
        assert_eq!(seen.len(), expected.len());
        for (got, want) in seen.iter().zip(expected) {
            assert_eq!((got.0, got.1, got.2.as_str(), got.3), want);
        }
    }
}
