//! JSON strings: read up to a limit, skipped beyond it, repaired where they are not UTF-8.

use super::{JsonError, JsonReader, Result};
use std::io::Read;

impl<R: Read> JsonReader<R> {
    pub(super) fn skip_string(&mut self) -> Result<()> {
        self.pos += 1;
        loop {
            match memchr::memchr3(b'"', b'\\', b'\n', &self.buf[self.pos..self.len]) {
                Some(i) => {
                    self.pos += i;
                    match self.buf[self.pos] {
                        b'"' => {
                            self.pos += 1;
                            return Ok(());
                        }
                        b'\\' => {
                            self.ensure(2)?;
                            if self.len - self.pos < 2 {
                                return Err(JsonError::Cut { at: self.base + self.len as u64 });
                            }
                            self.pos += 2;
                        }
                        _ if self.newline_ends_record => return self.unexpected("the end of a string"),
                        _ => self.pos += 1,
                    }
                }
                None => {
                    self.pos = self.len;
                    if !self.fill()? {
                        return Err(JsonError::Cut { at: self.offset() });
                    }
                }
            }
        }
    }

    /// Reads a string whose opening quote is next, keeping at most `keep` bytes of it (whole characters).
    pub(crate) fn string(&mut self, keep: usize) -> Result<String> {
        self.require(b'"', "a string")?;
        let mut out: Vec<u8> = Vec::new();
        loop {
            match self.byte()? {
                None => return Err(JsonError::Cut { at: self.offset() }),
                Some(b'"') => {
                    self.pos += 1;
                    break;
                }
                Some(b'\n') if self.newline_ends_record => return self.unexpected("the end of a string"),
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => {
                    let rest = &self.buf[self.pos..self.len];
                    let n = memchr::memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len()).max(1);
                    if out.len() < keep {
                        out.extend_from_slice(&rest[..n.min(keep + 4)]);
                    }
                    self.pos += n;
                }
            }
        }
        let text = match String::from_utf8(out) {
            Ok(text) => text,
            Err(e) => {
                // A cut in the middle of a character is ours, anything earlier is the file's.
                let cut_by_us = e.as_bytes().len() >= keep && e.utf8_error().error_len().is_none();
                self.not_utf8 += u64::from(!cut_by_us);
                String::from_utf8_lossy(e.as_bytes()).into_owned()
            }
        };
        Ok(shorten(text, keep))
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.ensure(12)?;
        let rest = &self.buf[self.pos..self.len];
        let Some(&kind) = rest.get(1) else { return Err(JsonError::Cut { at: self.base + self.len as u64 }) };
        let hex = |from: usize| {
            let digits = rest.get(from..from + 4)?;
            u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let mut used = 2;
        let c = match kind {
            b'"' | b'\\' | b'/' => kind as char,
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let Some(high) = hex(2) else { return self.unexpected("four hex digits after \\u") };
                used = 6;
                let low = match (0xD800..0xDC00).contains(&high) && rest.get(6..8) == Some(b"\\u") {
                    true => hex(8).filter(|low| (0xDC00..0xE000).contains(low)),
                    false => None,
                };
                let code = match low {
                    Some(low) => {
                        used = 12;
                        0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                    }
                    None => high,
                };
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return self.unexpected("an escape that JSON knows"),
        };
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.pos += used;
        Ok(())
    }
}

/// `text` cut to at most `keep` bytes at a character boundary.
pub(crate) fn shorten(mut text: String, keep: usize) -> String {
    if text.len() > keep {
        let mut end = keep;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_cut_at_whole_characters() {
        let mut reader = JsonReader::new("\"a\\u00e9\\n\\ud83d\\ude00é\"".as_bytes());
        assert_eq!(reader.string(100).unwrap(), "aé\n😀é");
        let long = format!("\"{}\"", "é".repeat(1_000_000));
        let mut reader = JsonReader::new(long.as_bytes());
        assert_eq!(reader.string(5).unwrap(), "éé");
        assert_eq!(reader.not_utf8, 0);
        let mut reader = JsonReader::new(&b"\"a\xff\""[..]);
        assert_eq!(reader.string(100).unwrap(), "a\u{fffd}");
        assert_eq!(reader.not_utf8, 1);
    }
}
