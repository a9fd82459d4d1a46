//! Tables as lazy frames.

use crate::error::AnalysisError;
use polars::prelude::*;
use postrun_schema::{Dataset, Table};

/// The table as a lazy frame; `None` if the run does not have it.
pub(crate) fn table(dataset: &Dataset, table: Table) -> Result<Option<LazyFrame>, AnalysisError> {
    let Some(path) = dataset.path(table) else { return Ok(None) };
    // The path is a name, not a pattern, and a `run=<label>` folder on the way is no column.
    let args = ScanArgsParquet {
        low_memory: true,
        glob: false,
        hive_options: HiveOptions::new_disabled(),
        ..ScanArgsParquet::default()
    };
    let path = PlRefPath::new(path.to_string_lossy().as_ref());
    LazyFrame::scan_parquet(path, args).map(Some).map_err(polars_error(dataset))
}

pub(crate) fn polars_error(dataset: &Dataset) -> impl Fn(PolarsError) -> AnalysisError + use<> {
    let label = dataset.manifest().label.clone();
    move |source| AnalysisError::Polars { label: label.clone(), source }
}
