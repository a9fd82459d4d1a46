//! Writes the chunks table, column by column, on a thread of its own where there is a processor for it.
//!
//! The table is nearly all of a dataset. Arrow's writer would have keys in full, gather every value by an index and hold
//! an encoded row group; here a row group waits as it was parsed, times as they are and keys as runs, and each column
//! is encoded from there.

use crate::error::SchemaError;
use crate::manifest::TableFile;
use crate::processors::is_single_processor;
use crate::table::{Table, is_chunk_key};
use crate::writer::{Lifetime, Sink, close_sink, create_sink, properties};
use arrow_schema::Schema;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::Int32Type;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Batches that may wait for the thread that writes them.
const BATCHES_WAITING: usize = 4;
/// A batch of 128 KiB stays in the processor's cache on its way.
const BATCH_ROWS: usize = 1 << 14;
/// A row group is closed when it has so many.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// Some rows, as they were parsed.
#[derive(Default)]
struct Batch {
    at_ns: Vec<i64>,
    /// Requests with the number of their rows.
    runs: Vec<(u32, u32)>,
    /// Empty where no row says how many tokens it carried.
    tokens: Vec<Option<u16>>,
}

impl Batch {
    fn clear(&mut self) {
        self.at_ns.clear();
        self.runs.clear();
        self.tokens.clear();
    }
}

/// The chunks table being written. Without rows there is no table.
pub(crate) struct ChunkWriter {
    dir: PathBuf,
    lifetime: Lifetime,
    pending: Batch,
    writing: Option<Writing>,
}

/// Who writes, since the first batch.
enum Writing {
    Thread(ChunkThread),
    /// On a single processor.
    Inline {
        file: Box<ChunkFile>,
        used: Vec<Batch>,
    },
}

struct ChunkThread {
    /// `None` once the thread has failed; what it failed with is what it ends with.
    batches: Option<SyncSender<Batch>>,
    used: Receiver<Batch>,
    thread: JoinHandle<Result<TableFile, SchemaError>>,
}

impl ChunkWriter {
    /// For the table in `dir`.
    pub(crate) fn new(dir: &Path, lifetime: Lifetime) -> ChunkWriter {
        ChunkWriter { dir: dir.to_path_buf(), lifetime, pending: Batch::default(), writing: None }
    }

    /// Adds the rows of one request and gives their number.
    pub(crate) fn push(
        &mut self,
        request: u32,
        at_ns: impl IntoIterator<Item = i64>,
        tokens: impl Fn(u32) -> Option<u16>,
    ) -> Result<u32, SchemaError> {
        let batch = &mut self.pending;
        let start = batch.at_ns.len();
        batch.at_ns.extend(at_ns);
        let count = (batch.at_ns.len() - start) as u32;
        batch.runs.push((request, count));
        if batch.tokens.is_empty() && tokens(0).is_some() {
            batch.tokens.resize(start, None);
        }
        if !batch.tokens.is_empty() || tokens(0).is_some() {
            batch.tokens.extend((0..count).map(tokens));
        }
        if batch.at_ns.len() >= BATCH_ROWS {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> Result<(), SchemaError> {
        if self.pending.at_ns.is_empty() {
            return Ok(());
        }
        let writing = match self.writing.take() {
            Some(writing) => writing,
            None => Writing::start(&self.dir, self.lifetime)?,
        };
        let writing = self.writing.insert(writing);
        let batch = std::mem::replace(&mut self.pending, writing.unused());
        writing.take(batch)
    }

    /// Closes the table, if there is one.
    pub(crate) fn finish(mut self) -> Result<Option<TableFile>, SchemaError> {
        self.flush()?;
        self.writing.map(Writing::finish).transpose()
    }
}

impl Writing {
    fn start(dir: &Path, lifetime: Lifetime) -> Result<Writing, SchemaError> {
        let file = ChunkFile::create(dir, lifetime)?;
        if is_single_processor() {
            return Ok(Writing::Inline { file: Box::new(file), used: Vec::new() });
        }
        Ok(Writing::Thread(ChunkThread::start(file)))
    }

    /// A batch whose buffers are there already, if one has been written.
    fn unused(&mut self) -> Batch {
        match self {
            Writing::Thread(thread) => thread.used.try_recv().ok(),
            Writing::Inline { used, .. } => used.pop(),
        }
        .unwrap_or_default()
    }

    fn take(&mut self, batch: Batch) -> Result<(), SchemaError> {
        match self {
            Writing::Thread(thread) => {
                thread.take(batch);
                Ok(())
            }
            Writing::Inline { file, used } => file.take(batch, |batch| used.push(batch)),
        }
    }

    fn finish(self) -> Result<TableFile, SchemaError> {
        match self {
            Writing::Thread(ChunkThread { batches, thread, .. }) => {
                drop(batches);
                thread.join().unwrap_or(Err(SchemaError::Thread))
            }
            Writing::Inline { file, .. } => file.finish(),
        }
    }
}

impl ChunkThread {
    fn start(mut file: ChunkFile) -> ChunkThread {
        let (batches, waiting) = sync_channel(BATCHES_WAITING);
        let (back, used) = channel();
        let thread = std::thread::spawn(move || {
            for batch in waiting {
                // Who parses may be done; then the buffer is of no more use.
                file.take(batch, |batch| drop(back.send(batch)))?;
            }
            file.finish()
        });
        ChunkThread { batches: Some(batches), used, thread }
    }

    fn take(&mut self, batch: Batch) {
        if self.batches.as_ref().is_some_and(|batches| batches.send(batch).is_err()) {
            self.batches = None;
        }
    }
}

/// The table's file, and the row group that is being gathered.
struct ChunkFile {
    path: PathBuf,
    file: SerializedFileWriter<Sink>,
    lifetime: Lifetime,
    /// Written so far.
    rows: u64,
    group: Vec<Batch>,
    group_rows: usize,
}

impl ChunkFile {
    fn create(dir: &Path, lifetime: Lifetime) -> Result<ChunkFile, SchemaError> {
        let (path, sink) = create_sink(dir, Table::Chunks, lifetime)?;
        let schema = Table::Chunks.arrow_schema();
        let schema = match lifetime {
            Lifetime::Kept => schema,
            Lifetime::Scratch => without_keys(&schema),
        };
        let mut properties = properties(Table::Chunks, lifetime);
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let open = || {
            let columns = ArrowSchemaConverter::new().convert(&schema)?;
            SerializedFileWriter::new(sink, columns.root_schema_ptr(), Arc::new(properties))
        };
        let file = open().map_err(SchemaError::parquet(&path))?;
        Ok(ChunkFile { path, file, lifetime, rows: 0, group: Vec::new(), group_rows: 0 })
    }

    /// `used` gets the batches that are written, empty.
    fn take(&mut self, batch: Batch, used: impl FnMut(Batch)) -> Result<(), SchemaError> {
        self.group_rows += batch.at_ns.len();
        self.group.push(batch);
        if self.group_rows >= ROW_GROUP_ROWS { self.close_group(used) } else { Ok(()) }
    }

    fn close_group(&mut self, mut used: impl FnMut(Batch)) -> Result<(), SchemaError> {
        let batches = std::mem::take(&mut self.group);
        self.write_group(&batches).map_err(SchemaError::parquet(&self.path))?;
        self.rows += std::mem::take(&mut self.group_rows) as u64;
        for mut batch in batches {
            batch.clear();
            used(batch);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<TableFile, SchemaError> {
        if self.group_rows > 0 {
            self.close_group(drop)?;
        }
        let sink = self.file.into_inner().map_err(SchemaError::parquet(&self.path))?;
        close_sink(&self.path, sink, self.rows, self.lifetime)
    }

    fn write_group(&mut self, batches: &[Batch]) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        let mut scratch = Vec::new();
        let written = |name: &str| self.lifetime == Lifetime::Kept || !is_chunk_key(Table::Chunks, name);
        for column in Table::Chunks.columns().iter().filter(|column| written(column.name)) {
            let Some(mut open) = group.next_column()? else { break };
            for batch in batches {
                match (column.name, open.untyped()) {
                    ("at_ns", ColumnWriter::Int64ColumnWriter(to)) => drop(to.write_batch(&batch.at_ns, None, None)?),
                    ("request", ColumnWriter::Int32ColumnWriter(to)) => write_keys(to, batch, &mut scratch)?,
                    ("index", ColumnWriter::Int32ColumnWriter(to)) => write_indices(to, batch, &mut scratch)?,
                    ("tokens", ColumnWriter::Int32ColumnWriter(to)) => write_tokens(to, batch, &mut scratch)?,
                    (name, _) => return Err(ParquetError::General(format!("column {name} of another type"))),
                }
            }
            open.close()?;
        }
        group.close().map(drop)
    }
}

fn without_keys(schema: &Schema) -> Arc<Schema> {
    let kept = schema.fields().iter().filter(|field| !is_chunk_key(Table::Chunks, field.name()));
    Arc::new(Schema::new(kept.cloned().collect::<Vec<_>>()))
}

/// As Parquet stores unsigned numbers: the same bits.
fn write_keys(
    to: &mut ColumnWriterImpl<'_, Int32Type>,
    batch: &Batch,
    scratch: &mut Vec<i32>,
) -> Result<(), ParquetError> {
    scratch.clear();
    for (request, rows) in &batch.runs {
        scratch.resize(scratch.len() + *rows as usize, *request as i32);
    }
    to.write_batch(scratch, None, None).map(drop)
}

fn write_indices(
    to: &mut ColumnWriterImpl<'_, Int32Type>,
    batch: &Batch,
    scratch: &mut Vec<i32>,
) -> Result<(), ParquetError> {
    scratch.clear();
    for (_, rows) in &batch.runs {
        scratch.extend(0..*rows as i32);
    }
    to.write_batch(scratch, None, None).map(drop)
}

fn write_tokens(
    to: &mut ColumnWriterImpl<'_, Int32Type>,
    batch: &Batch,
    scratch: &mut Vec<i32>,
) -> Result<(), ParquetError> {
    scratch.clear();
    scratch.extend(batch.tokens.iter().flatten().map(|tokens| i32::from(*tokens)));
    let mut levels: Vec<i16> = batch.tokens.iter().map(|tokens| i16::from(tokens.is_some())).collect();
    levels.resize(batch.at_ns.len(), 0);
    to.write_batch(scratch, Some(&levels), None).map(drop)
}
