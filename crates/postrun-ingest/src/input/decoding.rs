//! Decompression that ends at the damage: what stood before it is text like any other, and where it lies is said. A text
//! that is far too long for its compressed bytes is an error.

use crate::limits::{FREE_TEXT_BYTES as FREE_BYTES, ZSTD_WINDOW_LOG};
use flate2::bufread::GzDecoder;
use std::io::{BufRead, BufReader, Read, sink};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What a decoder hands out at once. A decoder that meets damage gives nothing of the piece it was at, so pieces are
/// small.
const PIECE_BYTES: usize = 16 << 10;
/// How many compressed bytes are fetched at once.
const BUFFER_BYTES: usize = 32 << 10;

/// How many bytes of a longer text one compressed byte may stand for, unless the user allows more. Metrics of an idle
/// server, scraped again and again, reach a hundred.
pub const MOST_TIMES: u64 = 250;

/// How much compressed files may grow, and how much was read of this one.
#[derive(Debug)]
pub(super) struct Expansion {
    most_times: AtomicU64,
    compressed: AtomicU64,
}

impl Default for Expansion {
    fn default() -> Expansion {
        Expansion { most_times: AtomicU64::new(MOST_TIMES), compressed: AtomicU64::new(0) }
    }
}

impl Expansion {
    pub(super) fn allow(&self, times: u64) {
        self.most_times.store(times, Ordering::Relaxed);
    }

    pub(super) fn most_times(&self) -> u64 {
        self.most_times.load(Ordering::Relaxed)
    }

    fn check(&self, text_bytes: u64) -> std::io::Result<()> {
        let (times, compressed) = (self.most_times(), self.compressed.load(Ordering::Relaxed));
        if text_bytes <= FREE_BYTES || text_bytes <= compressed.saturating_mul(times) {
            return Ok(());
        }
        Err(std::io::Error::other(format!(
            "{text_bytes} bytes of text came out of {compressed} compressed ones, more than {times} for each: \
             a decompression bomb? If not, raise the limit with --max-expansion"
        )))
    }
}

/// Counts the compressed bytes on their way to a decoder.
pub(super) struct Counted<R> {
    pub(super) inner: R,
    pub(super) expansion: Arc<Expansion>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(out)?;
        self.expansion.compressed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Where a compressed file is cut or damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Bytes of text that could be read before it.
    pub text_bytes: u64,
    /// What the decoder said.
    pub what: String,
}

impl Damage {
    /// The place, as places in files are written.
    pub(crate) fn place(&self) -> String {
        format!("byte {} of the decompressed text", self.text_bytes)
    }
}

/// Set by a [`Decoding`] reader that met damage.
pub(super) type DamageSlot = Arc<OnceLock<Damage>>;

/// A decoder whose text ends where the compressed bytes are damaged. An error of the file below it stays an error.
pub(super) struct Decoding<D> {
    decoder: D,
    /// Reads the compressed bytes that are left, so that size and hash are those of the whole file.
    drain: fn(&mut D) -> std::io::Result<u64>,
    read: u64,
    damage: DamageSlot,
    expansion: Arc<Expansion>,
}

/// Text of gzip members.
pub(super) fn gzip<R: Read>(compressed: R, damage: DamageSlot, expansion: Arc<Expansion>) -> impl Read {
    let decoder = Members { member: Some(GzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, compressed))) };
    let drain = |d: &mut Members<_>| match &mut d.member {
        Some(member) => std::io::copy(member.get_mut(), &mut sink()),
        None => Ok(0),
    };
    Decoding { decoder, drain, read: 0, damage, expansion }
}

/// Members of gzip one behind another, as one text. Zeros behind a member are padding, of a tape or of blocks on a disk, and
/// gzip passes over them too; anything else that is no member is damage.
struct Members<R: BufRead> {
    /// Always there, but for the moment in which the next one begins.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.member {
            let n = member.read(out)?;
            if n > 0 || out.is_empty() || !pass_over_zeros(member.get_mut())? {
                return Ok(n);
            }
            self.member = self.member.take().map(|ended| GzDecoder::new(ended.into_inner()));
        }
        Ok(0)
    }
}

/// True when something else follows.
fn pass_over_zeros(reader: &mut impl BufRead) -> std::io::Result<bool> {
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(false);
        }
        let zeros = available.iter().take_while(|byte| **byte == 0).count();
        let is_all = zeros == available.len();
        reader.consume(zeros);
        if !is_all {
            return Ok(true);
        }
    }
}

/// The first bytes of a gzip file.
pub(super) fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

/// The first bytes of a zstd file: of a frame, or of a skippable one, whose first byte has sixteen values. Parallel
/// compressors begin with one.
pub(super) fn is_zstd(start: &[u8]) -> bool {
    let is_skippable = matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    is_skippable || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

/// How the decoder says that a window is beyond [`ZSTD_WINDOW_LOG`].
const TOO_LARGE_A_WINDOW: &str = "Frame requires too much memory for decoding";

/// The file is whole, but takes more memory than a file may.
fn window_error() -> std::io::Error {
    std::io::Error::other(format!(
        "compressed by zstd with a window of more than {} bytes, which takes as much memory to read; unpack it first \
         (`zstd -d --long=31`), or compress it again without --long",
        1u64 << ZSTD_WINDOW_LOG
    ))
}

/// Text of zstd frames.
pub(super) fn zstd<R: BufRead>(
    compressed: R,
    damage: DamageSlot,
    expansion: Arc<Expansion>,
) -> std::io::Result<impl Read> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(compressed)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(Decoding { decoder, drain: |d| std::io::copy(d.get_mut(), &mut sink()), read: 0, damage, expansion })
}

impl<D: Read> Read for Decoding<D> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.damage.get().is_some() {
            return Ok(0);
        }
        self.expansion.check(self.read)?;
        let piece = out.len().min(PIECE_BYTES);
        match self.decoder.read(&mut out[..piece]) {
            Ok(n) => {
                self.read += n as u64;
                Ok(n)
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Err(e),
            Err(e) if e.to_string() == TOO_LARGE_A_WINDOW => Err(window_error()),
            Err(e) => {
                // Fails again where the file itself cannot be read.
                (self.drain)(&mut self.decoder)?;
                let what = e.to_string();
                let _ = self.damage.set(Damage { text_bytes: self.read, what });
                Ok(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text() -> Vec<u8> {
        (0..20_000u32).flat_map(|i| format!("{} {}\n", i, i.wrapping_mul(2_654_435_761)).into_bytes()).collect()
    }

    fn gzipped() -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&text()).unwrap();
        encoder.finish().unwrap()
    }

    fn try_read(compressed: &[u8]) -> std::io::Result<(Vec<u8>, Option<Damage>)> {
        let damage = DamageSlot::default();
        let mut out = Vec::new();
        match (is_gzip(compressed), is_zstd(compressed)) {
            (true, _) => gzip(compressed, Arc::clone(&damage), Arc::default()).read_to_end(&mut out)?,
            (_, true) => zstd(compressed, Arc::clone(&damage), Arc::default())?.read_to_end(&mut out)?,
            _ => panic!("not compressed"),
        };
        Ok((out, damage.get().cloned()))
    }

    fn read(compressed: &[u8]) -> (Vec<u8>, Option<Damage>) {
        try_read(compressed).unwrap()
    }

    #[test]
    fn skippable_frames_of_zstd_are_passed_over() {
        let frame = zstd::encode_all(text().as_slice(), 1).unwrap();
        let twice = [text(), text()].concat();
        for kind in [0x50, 0x5f] {
            // As pzstd writes it: the length of the frame behind it.
            let length = (frame.len() as u32).to_le_bytes();
            let skippable = [&[kind, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], &length].concat();
            let whole = [&skippable[..], &frame, &skippable, &frame, &skippable].concat();
            assert!(read(&whole) == (twice.clone(), None), "{kind:x}");
        }
        assert!(!is_zstd(&[0x60, 0x2a, 0x4d, 0x18, 4, 0, 0, 0]) && !is_zstd(&[0x50, 0x2a]));
    }

    #[test]
    fn a_window_beyond_the_limit_is_no_damage() {
        // A frame of one block of plain text, which says how large its window is: 2^(10 + exponent), and eighths of that.
        let frame = |exponent: u8, eighths: u8| {
            let window = exponent << 3 | eighths;
            [&[0x28, 0xb5, 0x2f, 0xfd, 0, window, 5 << 3 | 1, 0, 0][..], b"plain"].concat()
        };
        let limit = ZSTD_WINDOW_LOG as u8 - 10;
        assert_eq!(read(&frame(limit, 0)), (b"plain".to_vec(), None));
        for (exponent, eighths) in [(limit, 1), (limit + 1, 0), (21, 0)] {
            let behind = [frame(limit, 0), frame(exponent, eighths)].concat();
            for whole in [frame(exponent, eighths), behind] {
                let said = try_read(&whole).unwrap_err().to_string();
                assert!(said.contains("more than 134217728 bytes") && said.contains("--long=31"), "{said}");
            }
        }
    }

    #[test]
    fn zeros_behind_gzip_are_padding_and_nothing_else_is() {
        let whole = gzipped();
        for zeros in [1, 7, 512, 3 * BUFFER_BYTES] {
            let padded = [whole.clone(), vec![0; zeros]].concat();
            assert!(read(&padded) == (text(), None), "{zeros}");
            let two = [padded.clone(), padded.clone()].concat();
            assert!(read(&two) == ([text(), text()].concat(), None), "{zeros}");
            let (out, damage) = read(&[padded, b"x".to_vec()].concat());
            assert!(out == text() && damage.is_some_and(|d| d.text_bytes == out.len() as u64), "{zeros}");
        }
        assert!(read(&[whole, b"garbage".to_vec()].concat()).1.is_some());
    }

    #[test]
    fn the_text_before_a_cut_is_read() {
        for whole in [gzipped(), zstd::encode_all(text().as_slice(), 1).unwrap()] {
            assert_eq!(read(&whole), (text(), None));
            let (out, damage) = read(&whole[..whole.len() / 2]);
            assert!(!out.is_empty() && text().starts_with(&out), "{}", out.len());
            assert_eq!(damage.unwrap().text_bytes, out.len() as u64);
        }
    }

    #[test]
    fn damage_in_the_middle_costs_no_more_than_a_piece() {
        let mut damaged = gzipped();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xff);
        let (out, damage) = read(&damaged);
        assert!(damage.is_some() && out.len() > text().len() / 4, "{} {damage:?}", out.len());
        // Only the checksum at the end is wrong: everything was read, and it is said.
        let mut checksum = gzipped();
        let at = checksum.len() - 6;
        checksum[at] ^= 1;
        let (out, damage) = read(&checksum);
        assert!(out == text() && damage.is_some_and(|d| d.text_bytes == out.len() as u64));
    }

    #[test]
    fn a_file_that_cannot_be_read_stays_an_error() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("gone"))
            }
        }
        let whole = gzipped();
        let mut reader = gzip(whole[..1000].chain(Fails), DamageSlot::default(), Arc::default());
        assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap_err().to_string(), "gone");
    }
    /// Many compressed pieces of nothing, one behind another, and how far they are read.
    fn bomb(piece: Vec<u8>, times: u64) -> std::io::Result<u64> {
        let expansion = Arc::new(Expansion::default());
        expansion.allow(times);
        let whole = piece.repeat(20);
        let compressed = Counted { inner: whole.as_slice(), expansion: Arc::clone(&expansion) };
        match whole.starts_with(b"\x1f\x8b") {
            true => std::io::copy(&mut gzip(compressed, DamageSlot::default(), expansion), &mut sink()),
            false => {
                let buffered = BufReader::new(compressed);
                std::io::copy(&mut zstd(buffered, DamageSlot::default(), expansion)?, &mut sink())
            }
        }
    }

    #[test]
    fn a_bomb_is_an_error_and_the_limit_can_be_raised() {
        let nothing = vec![b'\n'; 16 << 20];
        let mut gzipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzipped.write_all(&nothing).unwrap();
        for piece in [gzipped.finish().unwrap(), zstd::encode_all(nothing.as_slice(), 1).unwrap()] {
            let said = bomb(piece.clone(), MOST_TIMES).unwrap_err().to_string();
            assert!(said.contains("more than 250 for each") && said.contains("--max-expansion"), "{said}");
            assert_eq!(bomb(piece, u64::MAX).unwrap(), 20 * (16 << 20));
        }
        // Short enough to be none.
        assert!(Expansion::default().check(FREE_BYTES).is_ok());
    }
}
