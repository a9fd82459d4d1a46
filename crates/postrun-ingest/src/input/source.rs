//! One input: a file or standard input, plain, gzip or zstd, read once from front to back.

use super::decoding::{self, Counted, Damage, DamageSlot, Expansion};
use super::read_ahead::ReadAhead;
use crate::error::IngestError;
use postrun_schema::{HashingWriter, counted};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of a file a sniffer sees.
pub const HEAD_BYTES: usize = 64 << 10;

/// What the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file or folder.
    Path(PathBuf),
    /// Standard input, `-`.
    Stdin,
}

impl Input {
    /// `-` is standard input, everything else a path.
    pub fn from_arg(arg: &str) -> Input {
        match arg {
            "-" => Input::Stdin,
            path => Input::Path(PathBuf::from(path)),
        }
    }
}

/// What is noted of the bytes that are read.
#[derive(Default, Clone)]
pub struct Watch {
    /// Counts them, for a progress bar.
    pub progress: Option<Arc<AtomicU64>>,
    /// Nobody will see their SHA-256: it is left empty. It takes a sixth of the time of reading a large result.
    pub size_alone: bool,
}

/// An opened input with its first bytes read.
pub struct Source {
    /// As the user would name it.
    pub name: String,
    /// Base name, for the manifest.
    pub base_name: String,
    /// The first (decompressed) bytes, at most [`HEAD_BYTES`].
    pub head: Vec<u8>,
    /// True when `head` is the whole text.
    pub head_is_all: bool,
    /// `None`: standard input.
    path: Option<PathBuf>,
    /// What the file was when it was opened.
    opened: Option<State>,
    compressed: bool,
    reader: Box<dyn Read>,
    raw: Arc<RawCount>,
    damage: DamageSlot,
    expansion: Arc<Expansion>,
}

/// What tells that a file was written to: its size and when that last happened.
type State = (u64, Option<std::time::SystemTime>);

fn state(meta: &std::fs::Metadata) -> Option<State> {
    meta.is_file().then(|| (meta.len(), meta.modified().ok()))
}

/// Size and hash of what was read from disk, shared with the reader that sits below the decompressor.
#[derive(Default)]
struct RawCount {
    state: std::sync::Mutex<Option<(u64, String)>>,
}

struct HashingReader {
    inner: Box<dyn Read + Send>,
    hash: Option<HashingWriter<std::io::Sink>>,
    raw: Arc<RawCount>,
    progress: Option<Arc<AtomicU64>>,
}

impl Read for HashingReader {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buf)?;
        if n == 0 && !buf.is_empty() {
            if let Some(hash) = self.hash.take() {
                let (_, bytes, sha256) = hash.finish();
                if let Ok(mut state) = self.raw.state.lock() {
                    *state = Some((bytes, sha256));
                }
            }
        } else if let Some(hash) = &mut self.hash {
            hash.write_all(&buf[..n])?;
        }
        if let Some(progress) = &self.progress {
            progress.fetch_add(n as u64, Ordering::Relaxed);
        }
        Ok(n)
    }
}

impl Source {
    /// Opens a file or standard input and reads its head.
    pub fn open(input: &Input, watch: Watch) -> Result<Source, IngestError> {
        let mut opened = None;
        let (name, base_name, raw_reader): (String, String, Box<dyn Read + Send>) = match input {
            Input::Stdin => ("standard input".to_string(), "stdin".to_string(), Box::new(std::io::stdin())),
            Input::Path(path) => {
                let name = path.display().to_string();
                let file = std::fs::File::open(path).map_err(IngestError::io(&name))?;
                opened = file.metadata().ok().as_ref().and_then(state);
                (name, base_name(path), Box::new(file))
            }
        };
        let mut source = Source::from_reader(name, base_name, raw_reader, watch)?;
        if let Input::Path(path) = input {
            source.path = Some(path.clone());
            source.opened = opened;
        }
        Ok(source)
    }

    fn from_reader(
        name: String,
        base_name: String,
        inner: Box<dyn Read + Send>,
        watch: Watch,
    ) -> Result<Source, IngestError> {
        let raw = Arc::new(RawCount::default());
        let hash = match watch.size_alone {
            true => HashingWriter::counting(std::io::sink()),
            false => HashingWriter::new(std::io::sink()),
        };
        let mut hashing = HashingReader { inner, hash: Some(hash), raw: Arc::clone(&raw), progress: watch.progress };
        let io = IngestError::io(&name);
        let start = read_up_to(&mut hashing, HEAD_BYTES).map_err(&io)?;
        // What ended within its head needs no thread that reads on.
        let rest: Box<dyn Read> = match start.len() < HEAD_BYTES {
            true => Box::new(std::io::empty()),
            false => Box::new(ReadAhead::start(hashing)),
        };
        let joined = std::io::Cursor::new(start.clone()).chain(rest);
        let (is_gzip, is_zstd) = (decoding::is_gzip(&start), decoding::is_zstd(&start));
        let damage = DamageSlot::default();
        let expansion = Arc::new(Expansion::default());
        let (told, limit) = (Arc::clone(&damage), Arc::clone(&expansion));
        let joined = Counted { inner: joined, expansion: Arc::clone(&expansion) };
        let mut reader: Box<dyn Read> = if is_gzip {
            Box::new(decoding::gzip(joined, told, limit))
        } else if is_zstd {
            Box::new(decoding::zstd(BufReader::new(joined), told, limit).map_err(&io)?)
        } else {
            Box::new(joined)
        };
        let head = read_up_to(&mut reader, HEAD_BYTES).map_err(&io)?;
        if head.is_empty() {
            return Err(match damage.get() {
                Some(damage) => IngestError::Damaged { file: name, what: damage.what.clone() },
                None => IngestError::Empty { file: name },
            });
        }
        let head_is_all = head.len() < HEAD_BYTES;
        Ok(Source {
            name,
            base_name,
            head,
            head_is_all,
            path: None,
            opened: None,
            compressed: is_gzip || is_zstd,
            reader,
            raw,
            damage,
            expansion,
        })
    }

    /// Where the text itself lies, for a format that cannot be read as a stream; `None` for standard input and for what is
    /// compressed.
    pub(crate) fn plain_path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| !self.compressed)
    }

    /// The whole text from its first byte. Can be taken once.
    pub fn take_reader(&mut self) -> impl Read + use<> {
        let rest = std::mem::replace(&mut self.reader, Box::new(std::io::empty()));
        std::io::Cursor::new(self.head.clone()).chain(rest)
    }

    /// How many bytes of text one compressed byte may stand for; the most of what is not read yet.
    pub(crate) fn allow_expansion(&self, times: u64) {
        self.expansion.allow(times);
    }

    /// The same file once more from its start, under the same limit.
    pub(crate) fn once_more(&self, input: &Input) -> Result<Source, IngestError> {
        let again = Source::open(input, Watch::default())?;
        again.allow_expansion(self.expansion.most_times());
        Ok(again)
    }

    /// Where the compressed file is cut or damaged, once it was read up to there.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.damage.get()
    }

    /// How the size of the file went while it was read, where somebody wrote to it.
    pub(crate) fn change(&self) -> Option<String> {
        let (path, before) = (self.path.as_ref()?, self.opened?);
        let now = std::fs::metadata(path).ok().as_ref().and_then(state);
        let size = now.map_or("no file".to_string(), |(bytes, _)| counted(bytes, "byte"));
        (now != Some(before)).then(|| format!("{} before, {size} after", counted(before.0, "byte")))
    }

    /// Size and SHA-256 of the file as it lies on disk. The reader must be given back so that bytes behind the
    /// text are counted too.
    pub fn size_and_hash(&self, mut reader: impl Read) -> Result<(u64, String), IngestError> {
        std::io::copy(&mut reader, &mut std::io::sink()).map_err(IngestError::io(&self.name))?;
        let state = self.raw.state.lock().ok().and_then(|state| state.clone());
        state.ok_or_else(|| IngestError::io(&self.name)(std::io::Error::other("the file could not be read to its end")))
    }
}

fn read_up_to(reader: &mut impl Read, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader.take(limit as u64).read_to_end(&mut out)?;
    Ok(out)
}

/// The last part of a path.
pub(crate) fn base_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_else(|| path.display().to_string())
}
