//! Per-request metrics of a part of the requests table, for those who hand out one request a row.

use crate::error::AnalysisError;
use crate::frames::{polars_error, table};
use crate::metric::Metric;
use crate::requests::per_request;
use polars::prelude::*;
use postrun_schema::{Dataset, Table};

/// The values of one metric, a request each.
pub struct RequestValues {
    /// The metric.
    pub metric: &'static Metric,
    /// In the metric's unit; `None` where it is not defined.
    pub values: Vec<Option<f64>>,
}

/// Every per-request metric for `rows` rows of the requests table from row `from` on, in registry order. Fewer rows
/// where the table ends.
pub fn request_values(dataset: &Dataset, from: usize, rows: usize) -> Result<Vec<RequestValues>, AnalysisError> {
    let err = polars_error(dataset);
    let Some(frame) = table(dataset, Table::Requests)? else { return Ok(Vec::new()) };
    let wanted: Vec<Expr> = per_request().map(|(metric, e)| e.cast(DataType::Float64).alias(metric.id)).collect();
    let rows = IdxSize::try_from(rows).unwrap_or(IdxSize::MAX);
    let frame = frame.slice(i64::try_from(from).unwrap_or(i64::MAX), rows).select(wanted).collect().map_err(&err)?;
    let values = |(metric, _): (&'static Metric, Expr)| -> PolarsResult<RequestValues> {
        let values = frame.column(metric.id)?.f64()?.iter().map(|v| v.filter(|v| v.is_finite())).collect();
        Ok(RequestValues { metric, values })
    };
    per_request().map(values).collect::<PolarsResult<Vec<_>>>().map_err(&err)
}
