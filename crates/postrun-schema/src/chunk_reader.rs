//! Reads the times of the chunks table, and their tokens where recorded, straight from the pages.
//!
//! The table is the large one, and is read twice for exact percentiles. So it goes past Arrow: values land in buffers
//! that are used again, small enough for the processor's cache, and only the columns asked for are touched.

use crate::dataset::Dataset;
use crate::error::SchemaError;
use crate::parquet_guard::{caught, refuse_outside};
use crate::table::Table;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::path::PathBuf;

/// Rows a batch has at most.
const BATCH_ROWS: usize = 1 << 15;

/// Some rows of the chunks table, in order.
#[derive(Debug, Default)]
pub struct ChunkBatch {
    /// Since the request was sent.
    pub at_ns: Vec<i64>,
    /// Tokens carried; empty unless they are read.
    pub tokens: Vec<Option<u16>>,
    /// Rows of the batch whose time is null, and which are missing in `at_ns`.
    pub nulls: u64,
}

/// The chunks table of a dataset, opened.
pub struct ChunkReader {
    path: PathBuf,
    file: SerializedFileReader<File>,
    at_ns: usize,
    tokens: Option<usize>,
    with_tokens: bool,
    next_group: usize,
    group: Option<Group>,
}

/// The row group that is being read.
struct Group {
    at_ns: Column<Int64Type>,
    tokens: Option<Column<Int32Type>>,
    rows_left: usize,
}

impl ChunkReader {
    /// `None` if the run has no chunks.
    pub fn open(dataset: &Dataset) -> Result<Option<ChunkReader>, SchemaError> {
        let Some(path) = dataset.path(Table::Chunks) else { return Ok(None) };
        let file = File::open(&path).map_err(SchemaError::io(&path))?;
        let size = file.metadata().map_err(SchemaError::io(&path))?.len();
        let file = caught(|| SerializedFileReader::new(file)).map_err(SchemaError::parquet(&path))?;
        refuse_outside(file.metadata(), size).map_err(SchemaError::parquet(&path))?;
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let position = |name: &str| schema.columns().iter().position(|c| c.path().parts() == [name]);
        let lacking = || ParquetError::General("no column at_ns".to_string());
        let at_ns = position("at_ns").ok_or_else(lacking).map_err(SchemaError::parquet(&path))?;
        let tokens = position("tokens");
        Ok(Some(ChunkReader { path, file, at_ns, tokens, with_tokens: false, next_group: 0, group: None }))
    }

    /// True if any row says how many tokens it carried.
    pub fn tokens_recorded(&self) -> Result<bool, SchemaError> {
        let Some(column) = self.tokens else { return Ok(false) };
        for group in 0..self.file.num_row_groups() {
            if caught(|| self.group_has(group, column)).map_err(SchemaError::parquet(&self.path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads tokens too.
    pub fn with_tokens(self, with_tokens: bool) -> ChunkReader {
        ChunkReader { with_tokens, ..self }
    }

    fn group_has(&self, group: usize, column: usize) -> Result<bool, ParquetError> {
        let group = self.file.get_row_group(group)?;
        let rows = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
        if let Some(nulls) = group.metadata().column(column).statistics().and_then(|s| s.null_count_opt()) {
            return Ok(nulls < rows);
        }
        let mut column: Column<Int32Type> = Column::new(group.get_column_reader(column)?, int32)?;
        let mut values = Vec::new();
        while values.is_empty() && column.read(BATCH_ROWS, &mut values)? > 0 {}
        Ok(!values.is_empty())
    }

    /// Reads the next rows into `batch`. False after the last.
    pub fn read(&mut self, batch: &mut ChunkBatch) -> Result<bool, SchemaError> {
        caught(|| self.read_rows(batch)).map_err(SchemaError::parquet(&self.path))
    }

    fn read_rows(&mut self, batch: &mut ChunkBatch) -> Result<bool, ParquetError> {
        batch.at_ns.clear();
        batch.tokens.clear();
        while self.group.as_ref().is_none_or(|group| group.rows_left == 0) {
            if self.next_group == self.file.num_row_groups() {
                return Ok(false);
            }
            self.group = Some(self.open_group(self.next_group)?);
            self.next_group += 1;
        }
        let Some(group) = &mut self.group else { return Ok(false) };
        let rows = group.rows_left.min(BATCH_ROWS);
        let found = group.at_ns.read(rows, &mut batch.at_ns)?;
        batch.nulls = (found - batch.at_ns.len()) as u64;
        let mut agree = found == rows;
        if let Some(tokens) = &mut group.tokens {
            agree &= tokens.read_counts(rows, &mut batch.tokens)? == rows;
        }
        group.rows_left -= rows;
        match agree {
            true => Ok(true),
            false => Err(ParquetError::EOF("a row group has fewer rows than it says".to_string())),
        }
    }

    fn open_group(&self, index: usize) -> Result<Group, ParquetError> {
        let group = self.file.get_row_group(index)?;
        let tokens = match self.tokens.filter(|_| self.with_tokens) {
            Some(column) => Some(Column::new(group.get_column_reader(column)?, int32)?),
            None => None,
        };
        let rows_left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        Ok(Group { at_ns: Column::new(group.get_column_reader(self.at_ns)?, int64)?, tokens, rows_left })
    }
}

/// One column of a row group.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    /// 1 where there is a value, 0 where null; in a required column not used.
    levels: Vec<i16>,
}

impl<T: DataType> Column<T> {
    fn new(
        reader: ColumnReader,
        typed: fn(ColumnReader) -> Option<ColumnReaderImpl<T>>,
    ) -> Result<Column<T>, ParquetError> {
        let reader = typed(reader).ok_or_else(|| ParquetError::General("a column of another type".to_string()))?;
        Ok(Column { reader, values: Vec::new(), levels: Vec::new() })
    }

    /// Appends the values of the next rows, without nulls, and gives the number of rows.
    fn read(&mut self, rows: usize, values: &mut Vec<T::T>) -> Result<usize, ParquetError> {
        self.levels.clear();
        Ok(self.reader.read_records(rows, Some(&mut self.levels), None, values)?.0)
    }
}

impl Column<Int32Type> {
    /// Appends the counts of the next rows and gives their number.
    fn read_counts(&mut self, rows: usize, counts: &mut Vec<Option<u16>>) -> Result<usize, ParquetError> {
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        let found = self.read(rows, &mut values)?;
        let mut known = values.iter().map(|v| u16::try_from(*v).ok());
        match self.levels.is_empty() {
            true => counts.extend(known),
            false => counts.extend(self.levels.iter().map(|level| if *level > 0 { known.next()? } else { None })),
        }
        self.values = values;
        Ok(found)
    }
}

fn int32(reader: ColumnReader) -> Option<ColumnReaderImpl<Int32Type>> {
    match reader {
        ColumnReader::Int32ColumnReader(reader) => Some(reader),
        _ => None,
    }
}

fn int64(reader: ColumnReader) -> Option<ColumnReaderImpl<Int64Type>> {
    match reader {
        ColumnReader::Int64ColumnReader(reader) => Some(reader),
        _ => None,
    }
}
