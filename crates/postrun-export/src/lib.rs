//! Writes a run in the forms of other tools: timelines, flat tables, benchmark reports.
//!
//! A target is one file under `targets/` and one line of [`TARGETS`]. It gets a dataset and a writer, and streams: what is
//! written is in memory for one batch of requests at a time. Nothing is computed here that a report would show: figures
//! come from the analysis.

mod error;
mod flat;
mod proto;
mod target;
mod targets;
mod trace;

pub use error::ExportError;
pub use target::Target;
pub use targets::{TARGETS, find_target};
