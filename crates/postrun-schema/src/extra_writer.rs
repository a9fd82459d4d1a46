//! Writes the `extras` table: the numbers of many requests, by name.
//!
//! Numbers come request by request, and are read name by name. So each name collects its own rows, and each full batch is a
//! row group of one name: who wants one skips the others by their statistics, and the repeated name takes no room.
//!
//! Memory: a batch a name.

use crate::columns::extras_batch;
use crate::error::SchemaError;
use crate::extra::EXTRAS;
use crate::manifest::TableFile;
use crate::table::Table;
use crate::writer::{Lifetime, TableWriter};
use std::path::{Path, PathBuf};

/// Rows of one name in a row group.
const BATCH_ROWS: usize = 1 << 16;

pub(crate) struct ExtraWriter {
    dir: PathBuf,
    lifetime: Lifetime,
    table: Option<TableWriter>,
    /// By the position of the name among [`EXTRAS`].
    pending: Vec<Vec<(u32, f64)>>,
}

impl ExtraWriter {
    pub(crate) fn new(dir: &Path, lifetime: Lifetime) -> ExtraWriter {
        ExtraWriter { dir: dir.to_path_buf(), lifetime, table: None, pending: Vec::new() }
    }

    /// Adds one number. A name that is none of [`EXTRAS`], or a value that is no finite number, is passed over.
    pub(crate) fn push(&mut self, request: u32, name: &str, value: f64) -> Result<(), SchemaError> {
        let Some(at) = EXTRAS.iter().position(|e| e.name == name).filter(|_| value.is_finite()) else { return Ok(()) };
        if self.pending.is_empty() {
            self.pending = vec![Vec::new(); EXTRAS.len()];
        }
        let full = self.pending.get_mut(at).is_some_and(|rows| {
            rows.push((request, value));
            rows.len() >= BATCH_ROWS
        });
        if full { self.flush(at) } else { Ok(()) }
    }

    fn flush(&mut self, at: usize) -> Result<(), SchemaError> {
        let (Some(rows), Some(extra)) = (self.pending.get_mut(at), EXTRAS.get(at)) else { return Ok(()) };
        if rows.is_empty() {
            return Ok(());
        }
        let batch = extras_batch(extra.name, rows)?;
        rows.clear();
        let table = match &mut self.table {
            Some(table) => table,
            None => self.table.insert(TableWriter::create(&self.dir, Table::Extras, self.lifetime)?),
        };
        table.write_group(&batch)
    }

    /// `None`: no number was written.
    pub(crate) fn finish(mut self) -> Result<Option<TableFile>, SchemaError> {
        for at in 0..self.pending.len() {
            self.flush(at)?;
        }
        self.table.map(TableWriter::finish).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::statistics::Statistics;

    #[test]
    fn a_row_group_is_of_one_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = ExtraWriter::new(dir.path(), Lifetime::Kept);
        let rows = BATCH_ROWS as u32 + 3;
        for request in 0..rows {
            writer.push(request, "http_waiting_ms", f64::from(request)).unwrap();
            writer.push(request, "images", 0.0).unwrap();
            writer.push(request, "images", f64::NAN).unwrap();
            writer.push(request, "no such number", 1.0).unwrap();
        }
        let file = writer.finish().unwrap().unwrap();
        assert_eq!(file.rows, 2 * u64::from(rows));
        let path = dir.path().join(Table::Extras.file_name());
        let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
        let groups = reader.metadata().row_groups();
        assert_eq!(groups.len(), 4);
        for group in groups {
            let Some(Statistics::ByteArray(names)) = group.column(1).statistics() else { panic!("no statistics") };
            assert_eq!(names.min_opt(), names.max_opt());
        }
    }

    #[test]
    fn nothing_written_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ExtraWriter::new(dir.path(), Lifetime::Scratch).finish().unwrap(), None);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
