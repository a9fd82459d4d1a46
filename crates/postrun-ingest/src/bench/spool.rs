//! Chunk times that wait on disk until it is known how to place them.

use crate::error::IngestError;
use crate::json::records::RecordError;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An append-only file of lists of `i64`, read back once in order.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Spool {
    pub(crate) fn create(dir: &Path) -> Result<Spool, RecordError> {
        let path = dir.join("gaps.spool");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(|e| RecordError::Fatal(IngestError::io(&path.display().to_string())(e)))?;
        Ok(Spool { path, file: BufWriter::with_capacity(1 << 18, file) })
    }

    fn io(&self) -> impl Fn(std::io::Error) -> RecordError + use<> {
        let io = IngestError::io(&self.path.display().to_string());
        move |e| RecordError::Fatal(io(e))
    }

    /// Appends one list.
    pub(crate) fn push(&mut self, values: &[i64]) -> Result<(), RecordError> {
        let io = self.io();
        self.file.write_all(&(values.len() as u64).to_le_bytes()).map_err(&io)?;
        for v in values {
            self.file.write_all(&v.to_le_bytes()).map_err(&io)?;
        }
        Ok(())
    }

    /// Calls `each` with every list in order, then removes the file.
    pub(crate) fn drain(self, mut each: impl FnMut(&[i64]) -> Result<(), RecordError>) -> Result<(), RecordError> {
        let io = self.io();
        let mut file = self.file.into_inner().map_err(|e| io(e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(&io)?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut word = [0u8; 8];
        let mut list: Vec<i64> = Vec::new();
        loop {
            match reader.read_exact(&mut word) {
                Ok(()) => {}
                Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => break,
                Err(e) => return Err(io(e)),
            }
            list.clear();
            for _ in 0..u64::from_le_bytes(word) {
                reader.read_exact(&mut word).map_err(&io)?;
                list.push(i64::from_le_bytes(word));
            }
            each(&list)?;
        }
        std::fs::remove_file(&self.path).map_err(&io)
    }
}
