//! Recognises the files of one tool and writes their facts into a dataset, counting what it could not read.
//!
//! Entry points: [`ingest`] for files, folders and standard input, [`INGESTORS`] for what is known. Nothing here
//! computes a metric. Oddities of a format end in its file under `formats/`; the rest of the house never hears of them.

mod align;
mod bench_arrays;
mod bench_file;
mod bench_rows;
mod candidate;
mod client_trace;
mod columns;
#[cfg(test)]
mod damage_test;
mod detect;
mod device_columns;
mod error;
mod exposition;
mod folder;
mod formats;
mod ingestor;
mod join;
mod json;
mod json_records;
mod label;
mod lines;
mod log_values;
mod merge;
mod metric_names;
mod metric_series;
mod otlp;
mod python_literal;
mod python_repr;
mod read_ahead;
mod recording;
mod records;
mod reported;
mod run_facts;
mod sample_spool;
mod sample_times;
mod server_duration;
mod server_rows;
mod server_run;
mod server_side;
mod session;
mod sglang_log_groups;
mod sglang_log_lines;
mod sglang_log_requests;
mod sglang_log_settings;
mod sglang_requests;
mod sink;
mod source;
mod spool;
mod stamp;
mod stamp_spread;
mod time_marker;
mod unix_stamp;

pub use candidate::LeftAlone;
pub use detect::{find_ingestor, recognise};
pub use error::IngestError;
pub use formats::INGESTORS;
pub use ingestor::{Head, Ingestor, Reads, Sniff};
pub use recording::ServerSink;
pub use session::{Options, Outcome, UsedFile, ingest};
pub use sink::RunSink;
pub use source::{HEAD_BYTES, Input, Source};
