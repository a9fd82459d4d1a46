//! Writes a dataset aside, so that a killed ingest leaves nothing that looks whole.

use crate::columns::{ChunkBuffer, ReportedRow, reported_batch, requests_batch};
use crate::error::SchemaError;
use crate::hashing::HashingWriter;
use crate::manifest::{Manifest, TableFile};
use crate::row::RequestRow;
use crate::table::Table;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Batches that may wait for the thread that writes them.
const BATCHES_WAITING: usize = 4;
const ROW_GROUP_ROWS: usize = 1 << 20;
/// A batch of 128 KiB a column stays in the processor's cache while it is encoded.
const BATCH_ROWS: usize = 1 << 14;
const REQUEST_BATCH_ROWS: usize = 1 << 13;

pub(crate) struct TableWriter {
    path: PathBuf,
    arrow: ArrowWriter<HashingWriter<BufWriter<File>>>,
    rows: u64,
}

impl TableWriter {
    pub(crate) fn create(dir: &Path, table: Table) -> Result<Self, SchemaError> {
        let path = dir.join(table.file_name());
        let file = File::create(&path).map_err(SchemaError::io(&path))?;
        let sink = HashingWriter::new(BufWriter::with_capacity(1 << 18, file));
        let arrow = ArrowWriter::try_new(sink, table.arrow_schema(), Some(properties(table)))
            .map_err(SchemaError::parquet(&path))?;
        Ok(TableWriter { path, arrow, rows: 0 })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), SchemaError> {
        self.rows += batch.num_rows() as u64;
        self.arrow.write(batch).map_err(SchemaError::parquet(&self.path))
    }

    pub(crate) fn finish(self) -> Result<TableFile, SchemaError> {
        let sink = self.arrow.into_inner().map_err(SchemaError::parquet(&self.path))?;
        let (buffer, bytes, sha256) = sink.finish();
        let file =
            buffer.into_inner().map_err(|e| SchemaError::Io { path: self.path.clone(), source: e.into_error() })?;
        file.sync_all().map_err(SchemaError::io(&self.path))?;
        Ok(TableFile { rows: self.rows, bytes, sha256 })
    }
}

/// A table that is encoded and written on a thread of its own, while the next batch is being parsed.
struct TableThread {
    batches: Option<SyncSender<RecordBatch>>,
    thread: JoinHandle<Result<TableFile, SchemaError>>,
}

impl TableThread {
    fn start(mut writer: TableWriter) -> TableThread {
        let (batches, waiting) = sync_channel::<RecordBatch>(BATCHES_WAITING);
        let thread = std::thread::spawn(move || {
            for batch in waiting {
                writer.write(&batch)?;
            }
            writer.finish()
        });
        TableThread { batches: Some(batches), thread }
    }

    /// Hands a batch over. Where the thread has failed, what it failed with comes out of `finish`.
    fn write(&mut self, batch: RecordBatch) -> Result<(), SchemaError> {
        if self.batches.as_ref().is_some_and(|batches| batches.send(batch).is_err()) {
            self.batches = None;
        }
        Ok(())
    }

    fn finish(self) -> Result<TableFile, SchemaError> {
        drop(self.batches);
        self.thread.join().unwrap_or(Err(SchemaError::Thread))
    }
}

fn properties(table: Table) -> WriterProperties {
    let base = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by("postrun".to_string())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
    match table {
        // Times of one request rise slowly: deltas of about 24 bits. Bit-packed deltas do not compress further, so zstd
        // would only cost time. The request's key stands hundreds of times in a row, which zstd alone is quickest with.
        Table::Chunks => ["index", "at_ns"]
            .iter()
            .fold(base, |b, name| {
                let column = ColumnPath::from(*name);
                b.set_column_dictionary_enabled(column.clone(), false)
                    .set_column_encoding(column.clone(), Encoding::DELTA_BINARY_PACKED)
                    .set_column_compression(column, Compression::UNCOMPRESSED)
            })
            .set_column_dictionary_enabled(ColumnPath::from("request"), false)
            .build(),
        _ => base.build(),
    }
}

/// Writes the tables of one run into a folder of a [`crate::Staging`].
///
/// Memory: one row group of chunks (encoded) and one batch of requests.
pub struct DatasetWriter {
    dir: PathBuf,
    requests: TableWriter,
    pending_requests: Vec<RequestRow>,
    written_requests: u32,
    chunks: Option<TableThread>,
    pending_chunks: ChunkBuffer,
    reported: Vec<ReportedRow>,
}

impl DatasetWriter {
    /// Makes `dir` and opens its tables. `dir` must not exist.
    pub fn create(dir: &Path) -> Result<Self, SchemaError> {
        std::fs::create_dir_all(dir).map_err(SchemaError::io(dir))?;
        Ok(DatasetWriter {
            dir: dir.to_path_buf(),
            requests: TableWriter::create(dir, Table::Requests)?,
            pending_requests: Vec::new(),
            written_requests: 0,
            chunks: None,
            pending_chunks: ChunkBuffer::default(),
            reported: Vec::new(),
        })
    }

    /// Adds the next request; its key is the number of requests added before.
    pub fn push_request(&mut self, row: RequestRow) -> Result<(), SchemaError> {
        self.pending_requests.push(row);
        if self.pending_requests.len() >= REQUEST_BATCH_ROWS {
            self.flush_requests()?;
        }
        Ok(())
    }

    /// Adds the chunks of one request: times since send, in order. Requests must come in rising order.
    pub fn push_chunks(
        &mut self,
        request: u32,
        at_ns: impl IntoIterator<Item = i64>,
        tokens: impl Fn(u32) -> Option<u16>,
    ) -> Result<u32, SchemaError> {
        let buffer = &mut self.pending_chunks;
        let start = buffer.len();
        buffer.at_ns.extend(at_ns);
        let count = (buffer.len() - start) as u32;
        buffer.request.resize(buffer.len(), request);
        buffer.index.extend(0..count);
        if tokens(0).is_some() && !buffer.any_tokens {
            buffer.any_tokens = true;
            buffer.tokens = vec![None; start];
        }
        if buffer.any_tokens {
            buffer.tokens.extend((0..count).map(tokens));
        }
        if buffer.len() >= BATCH_ROWS {
            self.flush_chunks()?;
        }
        Ok(count)
    }

    /// Adds what the tool itself reported.
    pub fn push_reported(&mut self, row: ReportedRow) {
        self.reported.push(row);
    }

    /// The folder being written, for an ingestor that must keep something on disk for a while.
    pub fn scratch_dir(&self) -> &Path {
        &self.dir
    }

    fn flush_requests(&mut self) -> Result<(), SchemaError> {
        if self.pending_requests.is_empty() {
            return Ok(());
        }
        let batch = requests_batch(self.written_requests, &self.pending_requests)?;
        self.written_requests += self.pending_requests.len() as u32;
        self.pending_requests.clear();
        self.requests.write(&batch)
    }

    fn flush_chunks(&mut self) -> Result<(), SchemaError> {
        if self.pending_chunks.len() == 0 {
            return Ok(());
        }
        let batch = self.pending_chunks.take_batch()?;
        if self.chunks.is_none() {
            self.chunks = Some(TableThread::start(TableWriter::create(&self.dir, Table::Chunks)?));
        }
        match &mut self.chunks {
            Some(thread) => thread.write(batch),
            None => Ok(()),
        }
    }

    /// Closes the tables and returns the run, still without a manifest on disk.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<PendingRun, SchemaError> {
        self.flush_requests()?;
        self.flush_chunks()?;
        let mut tables = BTreeMap::from([(Table::Requests.name().to_string(), self.requests.finish()?)]);
        if let Some(thread) = self.chunks {
            tables.insert(Table::Chunks.name().to_string(), thread.finish()?);
        }
        if !self.reported.is_empty() {
            let mut writer = TableWriter::create(&self.dir, Table::Reported)?;
            writer.write(&reported_batch(&self.reported)?)?;
            tables.insert(Table::Reported.name().to_string(), writer.finish()?);
        }
        manifest.tables = tables;
        Ok(PendingRun { manifest, dir: self.dir })
    }
}

/// A run whose tables are complete and whose manifest is not on disk yet.
#[derive(Debug)]
pub struct PendingRun {
    /// What will be written; the label may still change.
    pub manifest: Manifest,
    pub(crate) dir: PathBuf,
}
