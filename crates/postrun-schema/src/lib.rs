//! Names the tables, columns, units and the manifest of a dataset, and opens, validates and writes one.
//!
//! A dataset is a folder that holds one run: `manifest.json` and one Parquet file a table. This crate is the only
//! place where a table or column name is spelled. It knows Arrow and Parquet, and nothing of Polars, of any
//! benchmark client, or of any metric.

mod chunk_reader;
mod chunk_writer;
mod columns;
mod dataset;
mod doc;
mod error;
mod exchange;
mod extra;
mod extra_writer;
mod hashing;
mod issue;
mod manifest;
mod natural;
mod nearest;
mod parquet_guard;
mod processors;
mod row;
mod series;
mod server_tables;
mod staging;
mod table;
mod words;
mod writer;

pub use chunk_reader::{ChunkBatch, ChunkReader};
pub use columns::ReportedRow;
pub use dataset::{Dataset, find_datasets, is_dataset};
pub use doc::Doc;
pub use error::SchemaError;
pub use extra::{EXTRAS, Extra, find_extra};
pub use hashing::{HashingWriter, sha256_of_file};
pub use issue::{Issue, IssueCode, Issues, Severity};
pub use manifest::{
    Clock, ClockKind, Clocks, Counted, Load, MANIFEST_FILE, Manifest, SCHEMA, ServerClock, SourceFile, TableFile,
    TokenSource, Tool,
};
pub use natural::{natural_order, natural_path_order};
pub use nearest::did_you_mean;
pub use parquet_guard::{caught, refuse_outside, silence_caught};
pub use processors::is_single_processor;
pub use row::{EventKind, EventRow, Phase, RequestRow, Status};
pub use series::{Across, SERIES, Series, SeriesKind, find_series, label_text};
pub use server_tables::{ServerColumns, ServerTables, batches, column, read_batches};
pub use staging::{Staging, partial_folder};
pub use table::{Column, Dtype, Table, Unit};
pub use words::{counted, grouped};
pub use writer::{DatasetWriter, MOST_REQUESTS, PendingRun};
