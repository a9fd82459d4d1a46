//! Writes a dataset aside, so that a killed ingest leaves nothing that looks whole.

use crate::chunk_writer::ChunkWriter;
use crate::columns::{ReportedRow, reported_batch, requests_batch};
use crate::error::SchemaError;
use crate::extra_writer::ExtraWriter;
use crate::hashing::HashingWriter;
use crate::manifest::{Manifest, TableFile};
use crate::row::{Phase, RequestRow};
use crate::table::Table;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

const ROW_GROUP_ROWS: usize = 1 << 20;
const REQUEST_BATCH_ROWS: usize = 1 << 13;
/// Requests of a run at most; reading one takes about 70 bytes of memory for each.
pub const MOST_REQUESTS: usize = 1 << 24;

/// Whether a dataset outlives the command that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Lifetime {
    /// It is kept: hashed, on disk before it is published, small.
    #[default]
    Kept,
    /// The process that writes it reads it once and removes it: nothing is hashed, pushed to disk or made small, and
    /// the chunks table has no keys, which follow from the requests table.
    Scratch,
}

/// Where the bytes of a table go.
pub(crate) type Sink = HashingWriter<BufWriter<File>>;

/// Creates the file of a table.
pub(crate) fn create_sink(dir: &Path, table: Table, lifetime: Lifetime) -> Result<(PathBuf, Sink), SchemaError> {
    let path = dir.join(table.file_name());
    let file = File::create(&path).map_err(SchemaError::io(&path))?;
    let buffer = BufWriter::with_capacity(1 << 18, file);
    let sink = match lifetime {
        Lifetime::Kept => HashingWriter::new(buffer),
        Lifetime::Scratch => HashingWriter::counting(buffer),
    };
    Ok((path, sink))
}

/// Sees to it that a file that is kept is on disk.
pub(crate) fn close_sink(path: &Path, sink: Sink, rows: u64, lifetime: Lifetime) -> Result<TableFile, SchemaError> {
    let (buffer, bytes, sha256) = sink.finish();
    let file = buffer.into_inner().map_err(|e| SchemaError::Io { path: path.to_path_buf(), source: e.into_error() })?;
    if lifetime == Lifetime::Kept {
        file.sync_all().map_err(SchemaError::io(path))?;
    }
    Ok(TableFile { rows, bytes, sha256 })
}

pub(crate) struct TableWriter {
    path: PathBuf,
    arrow: ArrowWriter<Sink>,
    rows: u64,
    lifetime: Lifetime,
}

impl TableWriter {
    pub(crate) fn create(dir: &Path, table: Table, lifetime: Lifetime) -> Result<Self, SchemaError> {
        let (path, sink) = create_sink(dir, table, lifetime)?;
        let arrow = ArrowWriter::try_new(sink, table.arrow_schema(), Some(properties(table, lifetime)))
            .map_err(SchemaError::parquet(&path))?;
        Ok(TableWriter { path, arrow, rows: 0, lifetime })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), SchemaError> {
        self.rows += batch.num_rows() as u64;
        self.arrow.write(batch).map_err(SchemaError::parquet(&self.path))
    }

    /// Writes a batch as a row group of its own.
    pub(crate) fn write_group(&mut self, batch: &RecordBatch) -> Result<(), SchemaError> {
        self.write(batch)?;
        self.arrow.flush().map_err(SchemaError::parquet(&self.path))
    }

    pub(crate) fn finish(self) -> Result<TableFile, SchemaError> {
        let sink = self.arrow.into_inner().map_err(SchemaError::parquet(&self.path))?;
        close_sink(&self.path, sink, self.rows, self.lifetime)
    }
}

pub(crate) fn properties(table: Table, lifetime: Lifetime) -> WriterProperties {
    let base = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by("postrun".to_string())
        .set_compression(match lifetime {
            Lifetime::Kept => Compression::ZSTD(ZstdLevel::default()),
            Lifetime::Scratch => Compression::UNCOMPRESSED,
        })
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
    match table {
        // Read once as a whole: neither a dictionary nor a minimum spares anybody anything.
        Table::Requests if lifetime == Lifetime::Scratch => {
            base.set_dictionary_enabled(false).set_statistics_enabled(EnabledStatistics::None).build()
        }
        // Times of one request rise slowly: deltas of about 24 bits. Bit-packed deltas do not compress further, so zstd
        // would only cost time. Keys stand hundreds of times in a row, and every request counts from 0 as the one before:
        // of such repeats zstd alone makes the least, and is the quickest.
        Table::Chunks => {
            let at_ns = ColumnPath::from("at_ns");
            let keys = ["request", "index"].map(ColumnPath::from);
            let base = base
                .set_column_encoding(at_ns.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_compression(at_ns.clone(), Compression::UNCOMPRESSED);
            let base =
                keys.into_iter().chain([at_ns.clone()]).fold(base, |b, c| b.set_column_dictionary_enabled(c, false));
            // Every request begins anew, so that nobody prunes by these.
            [ColumnPath::from("index"), at_ns]
                .into_iter()
                .fold(base, |b, c| b.set_column_statistics_enabled(c, EnabledStatistics::None))
                .build()
        }
        _ => base.build(),
    }
}

/// Writes the tables of one run into a folder of a [`crate::Staging`].
///
/// Memory: one row group of chunks, one batch of requests and one of each number beside.
pub struct DatasetWriter {
    dir: PathBuf,
    lifetime: Lifetime,
    requests: TableWriter,
    pending_requests: Vec<RequestRow>,
    written_requests: u32,
    measured: u64,
    chunks: ChunkWriter,
    extras: ExtraWriter,
    reported: Vec<ReportedRow>,
}

impl DatasetWriter {
    /// Makes `dir` and opens its tables. `dir` must not exist. What it lies in must: an interrupt may just have removed it,
    /// and nothing is to come back then.
    pub(crate) fn create(dir: &Path, lifetime: Lifetime) -> Result<Self, SchemaError> {
        std::fs::create_dir(dir).map_err(SchemaError::io(dir))?;
        Ok(DatasetWriter {
            dir: dir.to_path_buf(),
            lifetime,
            requests: TableWriter::create(dir, Table::Requests, lifetime)?,
            pending_requests: Vec::new(),
            written_requests: 0,
            measured: 0,
            chunks: ChunkWriter::new(dir, lifetime),
            extras: ExtraWriter::new(dir, lifetime),
            reported: Vec::new(),
        })
    }

    /// Adds the next request; its key is the number of requests added before.
    pub fn push_request(&mut self, row: RequestRow) -> Result<(), SchemaError> {
        if self.written_requests as usize + self.pending_requests.len() >= MOST_REQUESTS {
            return Err(SchemaError::TooManyRequests);
        }
        self.measured += u64::from(row.phase == Phase::Measured);
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
        self.chunks.push(request, at_ns, tokens)
    }

    /// Adds a number of a request by its name among [`crate::EXTRAS`].
    pub fn push_extra(&mut self, request: u32, name: &'static str, value: f64) -> Result<(), SchemaError> {
        self.extras.push(request, name, value)
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

    /// Closes the tables and returns the run, still without a manifest on disk.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<PendingRun, SchemaError> {
        self.flush_requests()?;
        let mut tables = BTreeMap::from([(Table::Requests.name().to_string(), self.requests.finish()?)]);
        if let Some(chunks) = self.chunks.finish()? {
            tables.insert(Table::Chunks.name().to_string(), chunks);
        }
        if let Some(extras) = self.extras.finish()? {
            tables.insert(Table::Extras.name().to_string(), extras);
        }
        if !self.reported.is_empty() {
            let mut writer = TableWriter::create(&self.dir, Table::Reported, self.lifetime)?;
            writer.write(&reported_batch(&self.reported)?)?;
            tables.insert(Table::Reported.name().to_string(), writer.finish()?);
        }
        manifest.tables = tables;
        Ok(PendingRun { manifest, measured: self.measured, dir: self.dir, lifetime: self.lifetime })
    }
}

/// A run whose tables are complete and whose manifest is not on disk yet.
#[derive(Debug)]
pub struct PendingRun {
    /// What will be written; the label may still change.
    pub manifest: Manifest,
    /// Requests of the measurement itself: no warm-up, cool-down or probe.
    pub measured: u64,
    pub(crate) dir: PathBuf,
    pub(crate) lifetime: Lifetime,
}

impl PendingRun {
    /// Replaces the table of what the tool itself reported: a summary can lie in another file than its requests.
    pub fn set_reported(&mut self, rows: &[ReportedRow]) -> Result<(), SchemaError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut writer = TableWriter::create(&self.dir, Table::Reported, self.lifetime)?;
        writer.write(&reported_batch(rows)?)?;
        self.manifest.tables.insert(Table::Reported.name().to_string(), writer.finish()?);
        Ok(())
    }
}
