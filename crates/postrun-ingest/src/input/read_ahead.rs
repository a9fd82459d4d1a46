//! Reads and hashes on a thread of its own, a few blocks ahead of whoever parses.

use postrun_schema::is_single_processor;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

/// Large enough that threads seldom take turns, and few, so that all stay in the processor's cache.
const BLOCK_BYTES: usize = 1 << 18;
const BLOCKS_AHEAD: usize = 2;

/// A buffer with the number of bytes read into it.
type Block = (Vec<u8>, usize);

/// The reading end.
pub(crate) enum ReadAhead {
    /// A thread reads.
    Ahead(Ahead),
    /// On a single processor.
    Inline(Box<dyn Read + Send>),
}

/// Blocks that a thread has read.
pub(crate) struct Ahead {
    blocks: Receiver<std::io::Result<Block>>,
    /// Where buffers go back to be used again.
    back: Sender<Vec<u8>>,
    block: Block,
    used: usize,
}

impl ReadAhead {
    /// Starts to read. The thread ends with the text, with an error, or when this end is dropped.
    pub(crate) fn start(inner: impl Read + Send + 'static) -> ReadAhead {
        if is_single_processor() {
            return ReadAhead::Inline(Box::new(inner));
        }
        ReadAhead::Ahead(Ahead::start(inner))
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        match self {
            ReadAhead::Ahead(ahead) => ahead.read(out),
            ReadAhead::Inline(inner) => inner.read(out),
        }
    }
}

impl Ahead {
    fn start(mut inner: impl Read + Send + 'static) -> Ahead {
        let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
        let (back, used) = channel();
        std::thread::spawn(move || {
            loop {
                let mut block = used.try_recv().unwrap_or_else(|_| vec![0; BLOCK_BYTES]);
                let read = match inner.read(&mut block) {
                    Ok(0) => return,
                    Ok(n) => Ok((block, n)),
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(e) => Err(e),
                };
                let last = read.is_err();
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        });
        Ahead { blocks, back, block: (Vec::new(), 0), used: 0 }
    }
}

impl Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.used == self.block.1 {
            // The sender is gone: the text has ended.
            let Ok(block) = self.blocks.recv() else { return Ok(0) };
            let (used, _) = std::mem::replace(&mut self.block, block?);
            self.used = 0;
            if !used.is_empty() {
                // The thread may have ended; then the buffer is of no more use.
                let _ = self.back.send(used);
            }
        }
        let n = out.len().min(self.block.1 - self.used);
        out[..n].copy_from_slice(&self.block.0[self.used..self.used + n]);
        self.used += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_what_it_gets() {
        let text: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        let mut out = Vec::new();
        Ahead::start(std::io::Cursor::new(text.clone())).read_to_end(&mut out).unwrap();
        assert!(out == text);
    }

    #[test]
    fn an_error_comes_after_what_was_read() {
        struct Fails(u8);
        impl Read for Fails {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                self.0 += 1;
                if self.0 > 1 {
                    return Err(std::io::Error::other("gone"));
                }
                out[0] = 7;
                Ok(1)
            }
        }
        let mut reader = Ahead::start(Fails(0));
        let mut out = Vec::new();
        assert_eq!(reader.read_to_end(&mut out).unwrap_err().to_string(), "gone");
        assert_eq!(out, [7]);
    }
}
