//! Rows that wait on disk until the first send of the run is known.
//!
//! Clients write their records as requests end, so that the one sent first can stand anywhere in the file; and a row is
//! half a kilobyte. So rows are written aside with the times as the source has them, and read back once.

use crate::error::IngestError;
use postrun_schema::{Phase, RequestRow, Status};
use std::fs::File;
use std::io::{BufReader, BufWriter, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// No text of a row is longer; see [`crate::client::value`].
const LONGEST_TEXT: u32 = 1 << 16;

/// An append-only file of rows, read back once in order.
pub(crate) struct RowSpool {
    path: PathBuf,
    file: BufWriter<File>,
    rows: u64,
}

impl RowSpool {
    /// A new file in `dir`.
    pub(crate) fn create(dir: &Path) -> std::result::Result<RowSpool, IngestError> {
        let path = dir.join("requests.spool");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(IngestError::io(&path.display().to_string()))?;
        Ok(RowSpool { path, file: BufWriter::with_capacity(1 << 18, file), rows: 0 })
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, mut row: RequestRow) -> std::result::Result<(), IngestError> {
        self.rows += 1;
        each_field(&mut row, &mut Out(&mut self.file)).map_err(IngestError::io(&self.path.display().to_string()))
    }

    /// Hands every row to `each` and removes the file.
    pub(crate) fn drain(
        mut self,
        mut each: impl FnMut(RequestRow) -> std::result::Result<(), IngestError>,
    ) -> std::result::Result<(), IngestError> {
        let io = IngestError::io(&self.path.display().to_string());
        self.file.flush().map_err(&io)?;
        let mut file = self.file.into_inner().map_err(|e| io(e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(&io)?;
        let mut text = BufReader::with_capacity(1 << 18, file);
        for _ in 0..self.rows {
            let mut row = RequestRow::default();
            each_field(&mut row, &mut In(&mut text)).map_err(&io)?;
            each(row)?;
        }
        drop(text);
        std::fs::remove_file(&self.path).map_err(&io)
    }
}

/// One direction of the way to disk and back; both walk the fields in the same order.
trait Way {
    fn text(&mut self, value: &mut Option<String>) -> Result<()>;
    fn time(&mut self, value: &mut Option<i64>) -> Result<()>;

    fn count(&mut self, value: &mut Option<u32>) -> Result<()> {
        let mut wide = value.map(i64::from);
        self.time(&mut wide)?;
        *value = wide.and_then(|v| u32::try_from(v).ok());
        Ok(())
    }
}

/// Every field that a client's record can fill; those of the server's side are filled by the join.
fn each_field(row: &mut RequestRow, way: &mut impl Way) -> Result<()> {
    for text in
        [&mut row.request_id, &mut row.model, &mut row.session, &mut row.worker, &mut row.error, &mut row.finish_reason]
    {
        way.text(text)?;
    }
    for count in [
        &mut row.turn,
        &mut row.stage,
        &mut row.prompt_tokens,
        &mut row.cached_tokens,
        &mut row.output_tokens,
        &mut row.reasoning_tokens,
        &mut row.requested_output_tokens,
        &mut row.first_chunk_tokens,
        &mut row.client_prompt_tokens,
        &mut row.client_output_tokens,
        &mut row.counted_chunks,
        &mut row.counted_events,
        &mut row.preemptions,
        &mut row.chunks,
    ] {
        way.count(count)?;
    }
    for time in [
        &mut row.scheduled_send_ns,
        &mut row.sent_ns,
        &mut row.first_token_ns,
        &mut row.last_token_ns,
        &mut row.end_ns,
        &mut row.ttft_ns,
        &mut row.e2e_ns,
        &mut row.stream_end_ns,
        &mut row.first_byte_ns,
        &mut row.client_itl_ns,
        &mut row.queue_ns,
        &mut row.prefill_ns,
        &mut row.decode_ns,
        &mut row.inference_ns,
    ] {
        way.time(time)?;
    }
    kinds(row, way)
}

const PHASES: [Phase; 4] = [Phase::Measured, Phase::Warmup, Phase::Cooldown, Phase::Probe];
const STATUSES: [Status; 4] = [Status::Ok, Status::Error, Status::Cancelled, Status::Incomplete];

fn kinds(row: &mut RequestRow, way: &mut impl Way) -> Result<()> {
    fn place<T: PartialEq>(all: &[T], one: &T) -> Option<u32> {
        all.iter().position(|x| x == one).map(|i| i as u32)
    }
    let (mut phase, mut status) = (place(&PHASES, &row.phase), place(&STATUSES, &row.status));
    let mut streamed = row.streamed.map(u32::from);
    way.count(&mut phase)?;
    way.count(&mut status)?;
    way.count(&mut streamed)?;
    row.phase = phase.and_then(|i| PHASES.get(i as usize).copied()).unwrap_or_default();
    row.status = status.and_then(|i| STATUSES.get(i as usize).copied()).unwrap_or_default();
    row.streamed = streamed.map(|v| v == 1);
    Ok(())
}

struct Out<'a>(&'a mut BufWriter<File>);

impl Way for Out<'_> {
    fn text(&mut self, value: &mut Option<String>) -> Result<()> {
        let Some(text) = value else { return self.0.write_all(&u32::MAX.to_le_bytes()) };
        let bytes = text.as_bytes();
        self.0.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.0.write_all(bytes)
    }

    fn time(&mut self, value: &mut Option<i64>) -> Result<()> {
        self.0.write_all(&[u8::from(value.is_some())])?;
        value.map_or(Ok(()), |v| self.0.write_all(&v.to_le_bytes()))
    }
}

struct In<'a>(&'a mut BufReader<File>);

impl Way for In<'_> {
    fn text(&mut self, value: &mut Option<String>) -> Result<()> {
        let mut len = [0; 4];
        self.0.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        *value = match len {
            u32::MAX => None,
            len if len > LONGEST_TEXT => return Err(ErrorKind::InvalidData.into()),
            len => {
                let mut bytes = vec![0; len as usize];
                self.0.read_exact(&mut bytes)?;
                Some(String::from_utf8(bytes).map_err(|e| Error::new(ErrorKind::InvalidData, e))?)
            }
        };
        Ok(())
    }

    fn time(&mut self, value: &mut Option<i64>) -> Result<()> {
        let (mut there, mut bytes) = ([0; 1], [0; 8]);
        self.0.read_exact(&mut there)?;
        if there[0] == 1 {
            self.0.read_exact(&mut bytes)?;
            *value = Some(i64::from_le_bytes(bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = RowSpool::create(dir.path()).unwrap();
        let full = RequestRow {
            request_id: Some("é1".into()),
            error: Some(String::new()),
            turn: Some(0),
            stage: Some(u32::MAX),
            phase: Phase::Warmup,
            status: Status::Incomplete,
            streamed: Some(false),
            output_tokens: Some(7),
            sent_ns: Some(i64::MIN + 1),
            e2e_ns: Some(0),
            chunks: Some(3),
            ..RequestRow::default()
        };
        spool.push(full.clone()).unwrap();
        spool.push(RequestRow::default()).unwrap();
        let mut back = Vec::new();
        spool
            .drain(|row| {
                back.push(row);
                Ok(())
            })
            .unwrap();
        assert_eq!(back, [full, RequestRow::default()]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
