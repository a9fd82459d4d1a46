//! What an ingestor is, and what it is given.

use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::{JsonReader, Scalar};
use crate::server::recording::ServerSink;
use crate::sink::RunSink;
use postrun_schema::Doc;
use std::collections::BTreeSet;
use std::io::Read;

/// A reader of one tool's files.
pub struct Ingestor {
    /// Stable id, as in `--format vllm_bench`.
    pub id: &'static str,
    /// What a person calls it.
    pub title: &'static str,
    /// Its page: *Which files · Versions seen · What is not recorded*.
    pub doc: Doc,
    /// Judges name and first bytes; cannot fail.
    pub sniff: fn(&Head) -> Sniff,
    /// What it reads the file into.
    pub reads: Reads,
}

/// The two sides of a benchmark.
pub enum Reads {
    /// A client's file: whole runs.
    Runs(fn(&mut Source, &mut RunSink<'_>) -> Result<(), IngestError>),
    /// A file of the server's side: what belongs to the runs it lies beside.
    Server(fn(&mut Source, &mut ServerSink) -> Result<(), IngestError>),
}

/// How well a file fits a format. Two equal bests are an error that names both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sniff {
    /// Does not fit.
    No,
    /// Could be.
    Weak,
    /// Columns under postrun's own names; a tool's own format goes before.
    Plain,
    /// Keys that only this format has.
    Strong,
}

/// What a sniffer sees.
pub struct Head<'a> {
    /// Base name of the file.
    pub name: &'a str,
    /// The first bytes.
    pub bytes: &'a [u8],
    /// Keys of the first JSON object, as far as the head reaches. Empty: no JSON object.
    pub keys: BTreeSet<String>,
}

impl<'a> Head<'a> {
    /// Looks at the first bytes of a file.
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Head<'a> {
        Head { name, bytes, keys: first_object_keys(bytes) }
    }

    /// True if any of `keys` is there.
    pub fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|k| self.keys.contains(*k))
    }

    /// True if all of `keys` are there.
    pub fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|k| self.keys.contains(*k))
    }

    /// The archive that the first bytes are of, whatever lies in it.
    pub(crate) fn archive(&self) -> Option<&'static str> {
        let is_it = |(at, magic, _): &&(usize, &[u8], _)| self.bytes.get(*at..).is_some_and(|b| b.starts_with(magic));
        if let Some((.., what)) = ARCHIVES.iter().find(is_it) {
            return Some(what);
        }
        // Fields of its header end in zeros, which no text has.
        let is_tar = self.bytes.get(..TAR_MAGIC_AT).is_some_and(|name| name.contains(&0))
            && self.bytes[TAR_MAGIC_AT..].starts_with(b"ustar");
        is_tar.then_some("a tar archive")
    }

    /// The archive that the file is by its name: the oldest form of tar has nothing else.
    pub(crate) fn archive_by_name(&self) -> Option<&'static str> {
        let name = self.name.to_ascii_lowercase();
        let endings = [".tar", ".tgz", ".tar.gz", ".tar.zst", ".tzst"];
        endings.iter().any(|ending| name.ends_with(ending)).then_some("a tar archive by its name")
    }

    /// What the file looks like, for an error message.
    pub fn looks_like(&self) -> String {
        if !self.keys.is_empty() {
            let shown: Vec<&str> = self.keys.iter().take(6).map(String::as_str).collect();
            return format!("JSON with the keys {}{}", shown.join(", "), if self.keys.len() > 6 { " …" } else { "" });
        }
        if self.bytes.starts_with(b"SQLite format 3\0") {
            return "an SQLite database without EvalScope's table result".to_string();
        }
        let first = self.bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
        match self.bytes.get(first) {
            None => "only white space".to_string(),
            Some(b'{' | b'[') => "JSON without an object that has keys".to_string(),
            Some(_) if std::str::from_utf8(&self.bytes[..self.bytes.len().min(512)]).is_ok() => {
                let line = String::from_utf8_lossy(&self.bytes[first..]).lines().next().unwrap_or_default().to_string();
                format!("text that starts with {:?}", crate::json::shorten(line, 40))
            }
            Some(_) => {
                let hex: Vec<String> = self.bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
                format!("binary, first bytes {}", hex.join(" "))
            }
        }
    }
}

/// Where which bytes stand in files that may hold recordings but are none.
const ARCHIVES: &[(usize, &[u8], &str)] = &[
    (0, b"PK\x03\x04", "a ZIP archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"\xfd7zXZ\0", "an xz file"),
    (0, b"\x04\x22\x4d\x18", "an lz4 file"),
    (4, b"1AY&SY", "a bzip2 file"),
];
const TAR_MAGIC_AT: usize = 257;

/// Keys of the first JSON object, as far as it can be read.
pub(crate) fn first_object_keys(text: impl Read) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut reader = JsonReader::new(text);
    if matches!(reader.peek(), Ok(Some(b'['))) {
        reader.bump();
    }
    // The head usually ends inside the object: the keys up to there are what counts.
    let _ = reader.object(|reader, key| {
        keys.insert(key.to_string());
        reader.scalar(0).map(|_: Scalar| ())
    });
    keys
}
