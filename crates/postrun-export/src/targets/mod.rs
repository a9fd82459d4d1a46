//! The registry of targets: one file each, one line in the list here and one in `TARGETS`.

mod benchmark_report;
mod chrome_trace;
mod csv;
mod parquet;
mod perfetto;

use crate::target::Target;

/// All targets, in the order the help shows them.
pub static TARGETS: &[&Target] = &[
    &perfetto::PERFETTO,
    &chrome_trace::CHROME_TRACE,
    &parquet::PARQUET,
    &csv::CSV,
    &benchmark_report::BENCHMARK_REPORT,
];

/// The target with this id.
pub fn find_target(id: &str) -> Option<&'static Target> {
    TARGETS.iter().copied().find(|t| t.id == id)
}
