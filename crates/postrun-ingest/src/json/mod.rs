//! A streaming JSON reader for result files: one pass, fixed memory, tolerant where benchmark clients are.
//!
//! A detailed result is one object of gigabytes on one line. General parsers need it in memory or refuse what Python
//! writes into it (`NaN`, `Infinity`, several objects without a separator), and turn every time into a float.
//! This reader pulls values on demand, knows the byte offset of everything, and turns seconds straight into integer
//! nanoseconds. Strings longer than a limit are cut, nesting is skipped without recursion.

mod number;
pub(crate) mod records;
mod string;
mod tree;

pub(crate) use number::{Seconds, number};
pub(crate) use string::shorten;
pub(crate) use tree::Tree;

use crate::limits::{DEEPEST_SKIPPED, TOKEN_BYTES};
use std::io::Read;

const BUFFER_BYTES: usize = 1 << 18;
/// Some editors put it before the text.
const BOM: &[u8] = b"\xef\xbb\xbf";
const KEPT_KEY_BYTES: usize = 256;

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum JsonError {
    /// The reader below failed.
    Io(std::io::Error),
    /// The text ends inside a value.
    Cut { at: u64 },
    /// The text is not what it should be at this place.
    Unexpected { at: u64, expected: &'static str, found: String },
}

impl From<std::io::Error> for JsonError {
    fn from(e: std::io::Error) -> Self {
        JsonError::Io(e)
    }
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JsonError::Io(e) => write!(f, "{e}"),
            JsonError::Cut { at } => write!(f, "byte {at}: the file ends inside a record"),
            JsonError::Unexpected { at, expected, found } => write!(f, "byte {at}: expected {expected}, found {found}"),
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, JsonError>;

/// Any value; nested ones are skipped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Nested,
}

pub(crate) struct JsonReader<R> {
    src: R,
    buf: Vec<u8>,
    pos: usize,
    len: usize,
    base: u64,
    eof: bool,
    lines: u64,
    /// While set, a line break is no white space: a record that spans one is torn.
    pub(crate) newline_ends_record: bool,
    /// Strings with bytes that are not UTF-8.
    pub(crate) not_utf8: u64,
}

impl<R: Read> JsonReader<R> {
    pub(crate) fn new(src: R) -> Self {
        JsonReader {
            src,
            buf: vec![0; BUFFER_BYTES],
            pos: 0,
            len: 0,
            base: 0,
            eof: false,
            lines: 0,
            newline_ends_record: false,
            not_utf8: 0,
        }
    }

    /// Offset of the next byte in the (decompressed) text.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.pos as u64
    }

    /// Line breaks skipped between records so far.
    pub(crate) fn line(&self) -> u64 {
        self.lines + 1
    }

    /// Moves what is left to the front and reads more. False at the end of the text.
    fn fill(&mut self) -> Result<bool> {
        if self.eof {
            return Ok(false);
        }
        self.buf.copy_within(self.pos..self.len, 0);
        self.base += self.pos as u64;
        self.len -= self.pos;
        self.pos = 0;
        if self.len == self.buf.len() {
            self.buf.resize(self.buf.len() * 2, 0);
        }
        loop {
            match self.src.read(&mut self.buf[self.len..]) {
                Ok(0) => {
                    self.eof = true;
                    return Ok(false);
                }
                Ok(n) => {
                    self.len += n;
                    return Ok(true);
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Makes `n` bytes available unless the text ends before.
    fn ensure(&mut self, n: usize) -> Result<()> {
        while self.len - self.pos < n && self.fill()? {}
        Ok(())
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        if self.pos == self.len && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buf[self.pos]))
    }

    /// The next byte that is not white space, not consumed.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            match self.byte()? {
                Some(b'\n') if !self.newline_ends_record => {
                    self.lines += 1;
                    self.pos += 1;
                }
                Some(b' ' | b'\t' | b'\r') => self.pos += 1,
                Some(0xef) if self.offset() == 0 => {
                    self.ensure(BOM.len())?;
                    if !self.buf[self.pos..self.len].starts_with(BOM) {
                        return Ok(Some(0xef));
                    }
                    self.pos += BOM.len();
                }
                other => return Ok(other),
            }
        }
    }

    /// Consumes the byte that `peek` returned.
    pub(crate) fn bump(&mut self) {
        self.pos += 1;
    }

    fn unexpected<T>(&mut self, expected: &'static str) -> Result<T> {
        let at = self.offset();
        match self.byte()? {
            None => Err(JsonError::Cut { at }),
            Some(b'\n') => Err(JsonError::Unexpected { at, expected, found: "the end of the line".to_string() }),
            Some(_) => {
                self.ensure(16)?;
                let shown = &self.buf[self.pos..self.len.min(self.pos + 16)];
                let found = format!("{:?}", String::from_utf8_lossy(shown));
                Err(JsonError::Unexpected { at, expected, found })
            }
        }
    }

    fn require(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        match self.peek()? {
            Some(b) if b == byte => {
                self.pos += 1;
                Ok(())
            }
            _ => self.unexpected(expected),
        }
    }

    /// Goes to the byte after the next line break. False at the end of the text.
    pub(crate) fn skip_line(&mut self) -> Result<bool> {
        loop {
            match memchr::memchr(b'\n', &self.buf[self.pos..self.len]) {
                Some(i) => {
                    self.pos += i + 1;
                    self.lines += 1;
                    return Ok(true);
                }
                None => {
                    self.pos = self.len;
                    if !self.fill()? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Reads an object; `member` is called with each key and must consume its value.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.require(b'{', "an object")?;
        if self.peek()? == Some(b'}') {
            self.pos += 1;
            return Ok(());
        }
        loop {
            if self.peek()? != Some(b'"') {
                return self.unexpected("a key in double quotes");
            }
            let key = self.string(KEPT_KEY_BYTES)?;
            self.require(b':', "':' after a key")?;
            member(self, &key)?;
            match self.peek()? {
                Some(b',') => self.pos += 1,
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return self.unexpected("',' or '}' in an object"),
            }
        }
    }

    /// Reads an array; `element` is called for each element and must consume it. False: the value is no array
    /// (it was skipped).
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<()>) -> Result<bool> {
        if self.peek()? != Some(b'[') {
            self.skip_value()?;
            return Ok(false);
        }
        self.pos += 1;
        if self.peek()? == Some(b']') {
            self.pos += 1;
            return Ok(true);
        }
        loop {
            element(self)?;
            match self.peek()? {
                Some(b',') => self.pos += 1,
                Some(b']') => {
                    self.pos += 1;
                    return Ok(true);
                }
                _ => return self.unexpected("',' or ']' in an array"),
            }
        }
    }

    /// Reads any value; objects and arrays are skipped, strings cut at `keep` bytes.
    pub(crate) fn scalar(&mut self, keep: usize) -> Result<Scalar> {
        match self.peek()? {
            Some(b'"') => Ok(Scalar::Text(self.string(keep)?)),
            Some(b'{' | b'[') => {
                self.skip_value()?;
                Ok(Scalar::Nested)
            }
            _ => {
                let at = self.offset();
                let token = self.bare_token()?;
                let value = match token {
                    b"null" => Some(Scalar::Null),
                    b"true" => Some(Scalar::Bool(true)),
                    b"false" => Some(Scalar::Bool(false)),
                    _ => number(token).map(Scalar::Number),
                };
                value.ok_or_else(|| JsonError::Unexpected { at, expected: "a value", found: shown(token) })
            }
        }
    }

    /// Skips one value of any kind.
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek()? {
                Some(b'"') => self.skip_string()?,
                Some(b @ (b'{' | b'[')) => {
                    if open.len() >= DEEPEST_SKIPPED {
                        return self.unexpected("less nesting");
                    }
                    self.pos += 1;
                    open.push(b + 2); // '{' + 2 == '}', '[' + 2 == ']'
                    continue;
                }
                Some(b) if open.last() == Some(&b) => {
                    self.pos += 1;
                    open.pop();
                }
                Some(b',' | b':') if !open.is_empty() => {
                    self.pos += 1;
                    continue;
                }
                Some(b'}' | b']' | b',' | b':' | b'\n') | None => return self.unexpected("a value"),
                Some(_) => {
                    let at = self.offset();
                    let token = self.bare_token()?;
                    if !matches!(token, b"null" | b"true" | b"false") && number(token).is_none() {
                        return Err(JsonError::Unexpected { at, expected: "a value", found: shown(token) });
                    }
                }
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    /// A number or a bare word; not empty.
    fn bare_token(&mut self) -> Result<&[u8]> {
        let mut n = 0;
        loop {
            while self.pos + n < self.len && is_token_byte(self.buf[self.pos + n]) {
                n += 1;
            }
            if self.pos + n < self.len || n > TOKEN_BYTES || !self.fill()? {
                break;
            }
        }
        if n == 0 {
            return self.unexpected("a value");
        }
        if n > TOKEN_BYTES {
            return self.unexpected("a number or word of at most 4096 bytes");
        }
        if self.pos + n == self.len && self.eof {
            // A number at the very end of the text may have lost digits, and no record ends with one.
            self.pos += n;
            return Err(JsonError::Cut { at: self.offset() });
        }
        let start = self.pos;
        self.pos += n;
        Ok(&self.buf[start..start + n])
    }
}

fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.' | b'_')
}

fn shown(token: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&token[..token.len().min(32)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_at_the_end_of_the_text_is_cut() {
        let mut reader = JsonReader::new("[0.1".as_bytes());
        assert!(matches!(reader.array(|r| r.seconds().map(drop)), Err(JsonError::Cut { at: 4 })));
    }

    #[test]
    fn nesting_is_skipped_without_recursion() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut reader = JsonReader::new(deep.as_bytes());
        reader.skip_value().unwrap();
        assert_eq!(reader.peek().unwrap(), None);
        let mut reader = JsonReader::new("[}".as_bytes());
        assert!(reader.skip_value().is_err());
    }

    #[test]
    fn a_torn_line_does_not_swallow_the_next() {
        let mut reader = JsonReader::new("{\"a\":[1,2\n{\"b\":3}\n".as_bytes());
        reader.newline_ends_record = true;
        assert!(reader.object(|r, _| r.skip_value()).is_err());
        assert!(reader.skip_line().unwrap());
        let mut keys = Vec::new();
        reader
            .object(|r, k| {
                keys.push(k.to_string());
                r.skip_value()
            })
            .unwrap();
        assert_eq!(keys, ["b"]);
    }
}
