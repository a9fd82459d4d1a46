//! Tables as Polars frames, batch by batch.
//!
//! The dataset layer decodes the files: one decoder for all of postrun, with its guards. Polars' own reader of Parquet would
//! be a second one, and brings clients of HTTP and TLS along into a tool that opens no connection.

use crate::error::AnalysisError;
use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{Array, RecordBatch};
use polars::prelude::*;
use postrun_schema::{Column as TableColumn, Dataset, Dtype, Table, batches};

/// Rows of a frame. Large enough that what an expression costs by itself does not count.
const BATCH_ROWS: usize = 1 << 16;

/// Hands out the rows of a table as frames of these columns; none where the run does not have the table.
pub(crate) fn each_frame(
    dataset: &Dataset,
    table: Table,
    columns: &[&str],
    mut each: impl FnMut(&DataFrame) -> PolarsResult<()>,
) -> Result<(), AnalysisError> {
    let Some(path) = dataset.path(table) else { return Ok(()) };
    for batch in batches(&path, columns, BATCH_ROWS)? {
        let batch = batch?;
        frame(table, &batch, columns).and_then(|df| each(&df)).map_err(polars_error(&dataset.manifest().label))?;
    }
    Ok(())
}

/// These columns of a batch of `table`. Columns that the file lacks are null.
pub(crate) fn frame(table: Table, batch: &RecordBatch, columns: &[&str]) -> PolarsResult<DataFrame> {
    let known = table.columns().iter().filter(|c| columns.contains(&c.name));
    let column = |c: &TableColumn| match batch.column_by_name(c.name) {
        Some(array) => series(c, array).map(Column::from),
        None => Ok(Column::full_null(c.name.into(), batch.num_rows(), &dtype(c))),
    };
    DataFrame::new(batch.num_rows(), known.map(column).collect::<PolarsResult<Vec<_>>>()?)
}

fn series(column: &TableColumn, array: &dyn Array) -> PolarsResult<Series> {
    let name = || PlSmallStr::from(column.name);
    let read = match column.dtype {
        Dtype::U16 => numbers::<arrow::UInt16Type, UInt16Type>(name(), array),
        Dtype::U32 => numbers::<arrow::UInt32Type, UInt32Type>(name(), array),
        Dtype::I64 => numbers::<arrow::Int64Type, Int64Type>(name(), array),
        Dtype::F64 => numbers::<arrow::Float64Type, Float64Type>(name(), array),
        Dtype::Utf8 => {
            array.as_string_opt::<i32>().map(|a| StringChunked::from_iter_options(name(), a.iter()).into_series())
        }
        Dtype::Bool => {
            array.as_boolean_opt().map(|a| BooleanChunked::from_iter_options(name(), a.iter()).into_series())
        }
    };
    let differs =
        || polars_err!(SchemaMismatch: "{}: expected {}, found {}", column.name, dtype(column), array.data_type());
    read.ok_or_else(differs)
}

fn numbers<A, P>(name: PlSmallStr, array: &dyn Array) -> Option<Series>
where
    A: arrow::ArrowPrimitiveType,
    P: PolarsNumericType<Native = A::Native>,
    ChunkedArray<P>: IntoSeries,
{
    let array = array.as_primitive_opt::<A>()?;
    Some(match array.null_count() {
        0 => ChunkedArray::<P>::from_slice(name, array.values()).into_series(),
        _ => ChunkedArray::<P>::from_iter_options(name, array.iter()).into_series(),
    })
}

/// Polars' type of a column.
fn dtype(column: &TableColumn) -> DataType {
    match column.dtype {
        Dtype::U16 => DataType::UInt16,
        Dtype::U32 => DataType::UInt32,
        Dtype::I64 => DataType::Int64,
        Dtype::F64 => DataType::Float64,
        Dtype::Utf8 => DataType::String,
        Dtype::Bool => DataType::Boolean,
    }
}

/// The columns that an expression reads.
pub(crate) fn columns_of(expr: &Expr) -> impl Iterator<Item = &str> {
    expr.into_iter().filter_map(|part| match part {
        Expr::Column(name) => Some(name.as_str()),
        _ => None,
    })
}

pub(crate) fn polars_error(label: &str) -> impl Fn(PolarsError) -> AnalysisError {
    move |source| AnalysisError::Polars { label: label.to_string(), source }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::run::{Options, analyse};
    use parquet::arrow::{ArrowWriter, ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder};
    use postrun_schema::{
        Clock, ClockKind, Clocks, Counted, Dataset, Load, MANIFEST_FILE, Manifest, RequestRow, SCHEMA, SchemaError,
        Staging, TokenSource, Tool, sha256_of_file,
    };
    use std::fs::File;
    use std::path::Path;

    pub(crate) fn two_requests(dir: &Path) -> Dataset {
        let clock = Clock { kind: ClockKind::None, origin_unix_ns: None, origin_source_ns: None };
        let manifest = Manifest {
            schema: SCHEMA.to_string(),
            label: "two".to_string(),
            tool: Tool::default(),
            model: None,
            server: Default::default(),
            load: Load::default(),
            duration_ns: Some(2_000_000_000),
            duration_from_unix_ns: None,
            counted: Counted::default(),
            clocks: Clocks { client: clock, server: None },
            output_tokens_source: TokenSource::Server,
            prompt_tokens_source: TokenSource::Server,
            sources: Vec::new(),
            issues: Vec::new(),
            tables: Default::default(),
            not_recorded: Vec::new(),
        };
        let mut staging = Staging::create(dir, false).unwrap();
        let mut writer = staging.writer().unwrap();
        for ttft_ns in [100_000_000, 300_000_000] {
            let e2e_ns = Some(ttft_ns + 400_000_000);
            let row = RequestRow { ttft_ns: Some(ttft_ns), e2e_ns, output_tokens: Some(5), ..Default::default() };
            writer.push_request(row).unwrap();
        }
        let run = writer.finish(manifest).unwrap();
        staging.publish(vec![run]).unwrap();
        Dataset::open(dir).unwrap()
    }

    /// Writes the requests table again without one column and makes the manifest agree.
    fn drop_column(dir: &Path, name: &str) {
        let path = dir.join("requests.parquet");
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let keep: Vec<usize> =
            (0..builder.schema().fields().len()).filter(|i| builder.schema().field(*i).name() != name).collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), keep);
        let batch = builder.with_projection(mask).build().unwrap().next().unwrap().unwrap();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let manifest = dir.join(MANIFEST_FILE);
        let mut json: serde_json::Value = serde_json::from_reader(File::open(&manifest).unwrap()).unwrap();
        json["tables"]["requests"]["bytes"] = path.metadata().unwrap().len().into();
        json["tables"]["requests"]["sha256"] = sha256_of_file(&path).unwrap().into();
        serde_json::to_writer(File::create(&manifest).unwrap(), &json).unwrap();
    }

    #[test]
    fn a_missing_optional_column_is_null_and_a_missing_required_one_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("two");
        two_requests(&target);
        for optional in ["first_chunk_tokens", "queue_ns"] {
            drop_column(&target, optional);
        }
        let run = analyse(&Dataset::open(&target).unwrap(), &Options::default()).unwrap();
        assert_eq!(run.metric("ttft_ms").unwrap().mean, 200e6);
        assert_eq!(run.metric("tpot_ms").unwrap().mean, 100e6);
        assert!(run.unavailable.iter().any(|u| u.metric == "queue_ms"));
        drop_column(&target, "status");
        match Dataset::open(&target) {
            Err(SchemaError::TableDiffers { what: "column", expected, .. }) => assert_eq!(expected, "status"),
            other => panic!("{other:?}"),
        }
    }
}
