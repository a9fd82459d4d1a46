//! Reads texts and files into recordings, for the tests at the foot of each format.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::{Input, Source, Watch};
use crate::server::recording::{Recording, ServerSink};
use crate::server::spool::Track;
use std::io::Write;
use std::path::{Path, PathBuf};

/// One sample as a test compares it.
pub(crate) type Sample = (i64, String, Option<String>, f64);

pub(crate) fn sniff(ingestor: &Ingestor, name: &str, text: &[u8]) -> Sniff {
    (ingestor.sniff)(&Head::new(name, &text[..text.len().min(crate::HEAD_BYTES)]))
}

/// Reads `text` as if it were a file called `name`. The folder must outlive the recording.
pub(crate) fn read(
    ingestor: &Ingestor,
    name: &str,
    text: &[u8],
) -> Result<(Recording, tempfile::TempDir), IngestError> {
    let dir = tempfile::tempdir().map_err(IngestError::io("tempdir"))?;
    let path = dir.path().join(name);
    std::fs::write(&path, text).map_err(IngestError::io(name))?;
    let recording = read_file(ingestor, &path, dir.path())?;
    Ok((recording, dir))
}

pub(crate) fn read_file(ingestor: &Ingestor, path: &Path, dir: &Path) -> Result<Recording, IngestError> {
    let mut source = Source::open(&Input::Path(path.to_path_buf()), Watch::default())?;
    let mut sink = ServerSink::create(&source, ingestor.id, &dir.join("spool"))?;
    match ingestor.reads {
        Reads::Server(ingest) => ingest(&mut source, &mut sink)?,
        Reads::Runs(_) => panic!("{} reads runs", ingestor.id),
    }
    Ok(sink.recording)
}

pub(crate) fn samples(recording: &mut Recording) -> Vec<Sample> {
    let mut out = Vec::new();
    let each = |at: i64, _, track: &Track, value: f64| {
        out.push((at, track.series.clone(), track.labels.clone(), value));
        Ok(())
    };
    recording.samples.drain(each).unwrap();
    out
}

/// A real file or folder outside this repository; where it is not there, the test is skipped and says so, captured or not.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name);
    if !path.exists() {
        writeln!(std::io::stderr(), "SKIPPED: ../shared/{name} is not here").unwrap();
        return None;
    }
    Some(path)
}
