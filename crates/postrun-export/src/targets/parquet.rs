//! The requests of a run as one Parquet table: a row a request, with every per-request metric.
//!
//! # Columns
//! `run`, then the columns of the dataset's requests table (nanoseconds where a name ends in `_ns`), then the per-request
//! metrics in the unit that their name ends in (`ttft_ms`, `tpot_ms`, `e2e_ms`, `queue_ms` …). What is not recorded or not
//! defined is null.

use crate::error::ExportError;
use crate::flat;
use crate::target::{Out, Target};
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use postrun_schema::{Dataset, Doc};

/// Rows that wait for their row group to be full.
const ROW_GROUP_ROWS: usize = 1 << 17;

pub(super) static PARQUET: Target =
    Target { id: "parquet", ending: "parquet", binary: true, doc: Doc::from_source(include_str!("parquet.rs")), write };

fn write(dataset: &Dataset, out: Out<'_>) -> Result<Vec<String>, ExportError> {
    let properties = WriterProperties::builder()
        .set_created_by("postrun".to_string())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
    let mut writer = ArrowWriter::try_new(out, flat::schema(), Some(properties.build()))?;
    let rows = flat::each(dataset, |batch| Ok(writer.write(&batch)?))?;
    writer.close()?;
    Ok(flat::nothing(rows))
}
