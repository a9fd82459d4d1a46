//! One file a subcommand.

mod beside;
mod charts;
pub mod completions;
pub mod demo;
pub mod diagnose;
pub mod diff;
pub mod explain;
pub mod export;
pub mod ingest;
pub mod inspect;
mod labels;
pub mod list;
pub mod man;
pub mod parity;
pub mod report;
mod runs;
pub mod simulate;
pub mod trend;
