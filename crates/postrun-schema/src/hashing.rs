//! SHA-256 of what passes by.

use crate::SchemaError;
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::path::Path;

/// A writer that counts and hashes what goes through it.
pub struct HashingWriter<W> {
    inner: W,
    hash: Option<Sha256>,
    bytes: u64,
}

impl<W: Write> HashingWriter<W> {
    /// Wraps `inner`.
    pub fn new(inner: W) -> Self {
        HashingWriter { inner, hash: Some(Sha256::new()), bytes: 0 }
    }

    /// Wraps `inner` where nobody will ever ask for the hash: only counts.
    pub(crate) fn counting(inner: W) -> Self {
        HashingWriter { inner, hash: None, bytes: 0 }
    }

    /// The inner writer, the number of bytes and their SHA-256 in hex; empty where they were only counted.
    pub fn finish(self) -> (W, u64, String) {
        (self.inner, self.bytes, self.hash.map(|hash| hex(&hash.finalize())).unwrap_or_default())
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let n = self.inner.write(buf)?;
        if let Some(hash) = &mut self.hash {
            hash.update(&buf[..n]);
        }
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// SHA-256 of a whole file in hex, with a buffer of 1 MiB.
pub fn sha256_of_file(path: &Path) -> Result<String, SchemaError> {
    let mut file = std::fs::File::open(path).map_err(SchemaError::io(path))?;
    let mut hash = Sha256::new();
    let mut buf = vec![0u8; 1 << 20];
    loop {
        let n = file.read(&mut buf).map_err(SchemaError::io(path))?;
        if n == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buf[..n]);
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for b in bytes {
        out.push(DIGITS[(b >> 4) as usize] as char);
        out.push(DIGITS[(b & 15) as usize] as char);
    }
    out
}
