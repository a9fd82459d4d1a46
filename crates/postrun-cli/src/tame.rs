//! Data on a terminal: what was recorded shows there, and does not steer it. Files and pipes get the data as they are.

use std::io::{self, Write};

/// First byte of the control characters beyond ASCII, in UTF-8.
const C1: u8 = 0xc2;

/// Passes UTF-8 text on with every control character but tab and line break as `?`.
pub struct Tame<W> {
    inner: W,
    after_c1: bool,
}

impl<W: Write> Tame<W> {
    pub fn new(inner: W) -> Tame<W> {
        Tame { inner, after_c1: false }
    }
}

impl<W: Write> Write for Tame<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut out = Vec::with_capacity(text.len());
        for &byte in text {
            if std::mem::take(&mut self.after_c1) {
                if (0x80..=0x9f).contains(&byte) {
                    out.push(b'?');
                    continue;
                }
                out.push(C1);
            }
            match byte {
                C1 => self.after_c1 = true,
                b'\n' | b'\t' => out.push(byte),
                0..=0x1f | 0x7f => out.push(b'?'),
                _ => out.push(byte),
            }
        }
        self.inner.write_all(&out)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_text_stays() {
        let mut out = Vec::new();
        let mut tame = Tame::new(&mut out);
        // Also where a character is cut between two writes.
        for part in "a\u{1b}[31m\u{9b}2J\u{a0}é\tb\r\n".as_bytes().chunks(1) {
            tame.write_all(part).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), "a?[31m?2J\u{a0}é\tb?\n");
    }
}
