//! Recognises the files of one tool and writes their facts into a dataset, counting what it could not read.
//!
//! Entry points: [`ingest`] for files, folders and standard input, [`INGESTORS`] for what is known. Nothing here
//! computes a metric. Oddities of a format end in its file under `formats/`; the rest of the house never hears of them.

mod bench;
mod client;
mod detect;
mod error;
mod formats;
mod ingestor;
mod input;
mod json;
mod limits;
mod mapping;
mod metric;
mod server;
mod session;
#[cfg(test)]
mod session_test;
mod sink;
mod text;

pub use detect::{find_ingestor, recognise};
pub use error::IngestError;
pub use formats::INGESTORS;
pub use ingestor::{Head, Ingestor, Reads, Sniff};
pub use input::candidate::LeftAlone;
pub use input::decoding::MOST_TIMES;
pub use input::source::{HEAD_BYTES, Input, Source};
pub use limits::LIMITS;
pub use mapping::Mapping;
pub use server::recording::ServerSink;
pub use session::{Options, Outcome, UsedFile, ingest};
pub use sink::RunSink;
