//! Per-request metrics of a batch of the requests table, for those who hand out one request a row.

use crate::error::AnalysisError;
use crate::frames::{frame, polars_error};
use crate::metric::Metric;
use crate::requests::{metric_values, per_request};
use arrow_array::RecordBatch;
use polars::prelude::*;
use postrun_schema::{Dataset, Table};

/// The values of one metric, a request each.
pub struct RequestValues {
    /// The metric.
    pub metric: &'static Metric,
    /// In the metric's unit; `None` where it is not defined.
    pub values: Vec<Option<f64>>,
}

/// Every per-request metric for the rows of a batch of the requests table with all its columns, in registry order.
pub fn request_values(dataset: &Dataset, batch: &RecordBatch) -> Result<Vec<RequestValues>, AnalysisError> {
    let columns: Vec<&str> = Table::Requests.columns().iter().map(|c| c.name).collect();
    let read = || -> PolarsResult<Vec<RequestValues>> {
        let computed = metric_values(&frame(Table::Requests, batch, &columns)?)?;
        let values = |(metric, _): (&'static Metric, Expr)| -> PolarsResult<RequestValues> {
            let values = computed.column(metric.id)?.f64()?.iter().map(|v| v.filter(|v| v.is_finite())).collect();
            Ok(RequestValues { metric, values })
        };
        per_request().map(values).collect()
    };
    read().map_err(polars_error(&dataset.manifest().label))
}
