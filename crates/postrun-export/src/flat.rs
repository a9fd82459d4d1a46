//! The requests of a run as one flat table: the columns of the dataset and, behind them, every per-request metric.
//!
//! The first column is the run's label, so that tables of several runs can be put together. Points in time and durations
//! that end in `_ns` are nanoseconds, as in the dataset; metrics are in the unit that their name ends in. A metric that
//! no request has a value of is there all the same: the columns are the same for every run.

use crate::error::ExportError;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use postrun_analysis::{Compute, METRICS, Metric, request_values};
use postrun_schema::{Dataset, Table, Unit, batches};
use std::sync::Arc;

/// Requests in memory at a time.
const ROWS: usize = 1 << 16;

/// The columns of the flat table. A metric that the dataset has a column for stands there once.
pub(crate) fn schema() -> SchemaRef {
    let recorded = Table::Requests.arrow_schema();
    let run = Arc::new(Field::new("run", DataType::Utf8, false));
    let metrics = metrics().map(|m| Arc::new(Field::new(m.id, DataType::Float64, true)));
    Arc::new(Schema::new([run].into_iter().chain(recorded.fields().iter().cloned()).chain(metrics).collect::<Vec<_>>()))
}

/// What to say of a table without rows.
pub(crate) fn nothing(rows: usize) -> Vec<String> {
    let said = "no request is recorded, the file holds a summary only: the table has its columns and no row";
    if rows == 0 { vec![said.to_string()] } else { Vec::new() }
}

/// Hands out the rows, batch by batch, and gives their number.
pub(crate) fn each(
    dataset: &Dataset,
    mut each: impl FnMut(RecordBatch) -> Result<(), ExportError>,
) -> Result<usize, ExportError> {
    let Some(path) = dataset.path(Table::Requests) else { return Ok(0) };
    let (schema, recorded) = (schema(), Table::Requests.arrow_schema());
    let label = dataset.manifest().label.as_str();
    let mut from = 0;
    for batch in batches(&path, &[], ROWS)? {
        let batch = batch?;
        let rows = batch.num_rows();
        let run: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(label, rows)));
        // A dataset of an older build may lack columns: nobody recorded them.
        let column = |f: &Arc<Field>| {
            batch.column_by_name(f.name()).cloned().unwrap_or_else(|| new_null_array(f.data_type(), rows))
        };
        let values = request_values(dataset, &batch)?;
        let metric = |m: &'static Metric| -> ArrayRef {
            let found = values.iter().find(|v| v.metric.id == m.id);
            let known = found.map_or_else(|| vec![None; rows], |v| v.values.clone());
            Arc::new(known.into_iter().map(|v| v.map(|v| displayed(m, v))).collect::<Float64Array>())
        };
        let columns = [run].into_iter().chain(recorded.fields().iter().map(column)).chain(metrics().map(metric));
        each(RecordBatch::try_new(schema.clone(), columns.collect())?)?;
        from += rows;
    }
    Ok(from)
}

/// A value of a metric in the unit that its id ends in.
pub(crate) fn displayed(metric: &Metric, value: f64) -> f64 {
    // Divided, not multiplied: 32511000 ns are 32.511 ms to the last digit.
    if metric.unit == Unit::Nanoseconds { value / 1e6 } else { value }
}

/// The per-request metrics that are not columns of the dataset already; lengths are, under the names of the tokens.
fn metrics() -> impl Iterator<Item = &'static Metric> {
    let stored = |m: &&Metric| m.unit == Unit::Tokens || Table::Requests.columns().iter().any(|c| c.name == m.id);
    METRICS.iter().copied().filter(|m| matches!(m.compute, Compute::PerRequest(_))).filter(move |m| !stored(m))
}
