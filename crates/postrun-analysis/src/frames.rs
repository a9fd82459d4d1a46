//! Tables as lazy frames.

use crate::error::AnalysisError;
use polars::prelude::*;
use postrun_schema::{Column, Dataset, Dtype, Table};

/// The table as a lazy frame with all its columns, those that the file lacks as nulls; `None` if the run does not have it.
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
    let scan = || -> PolarsResult<LazyFrame> {
        let mut frame = LazyFrame::scan_parquet(path, args)?;
        let present = frame.collect_schema()?;
        let absent = table.columns().iter().filter(|c| !present.contains(c.name));
        let nulls: Vec<Expr> = absent.map(|c| lit(NULL).cast(dtype(c)).alias(c.name)).collect();
        Ok(if nulls.is_empty() { frame } else { frame.with_columns(nulls) })
    };
    scan().map(Some).map_err(polars_error(dataset))
}

/// Polars' type of a column.
fn dtype(column: &Column) -> DataType {
    match column.dtype {
        Dtype::U16 => DataType::UInt16,
        Dtype::U32 => DataType::UInt32,
        Dtype::I64 => DataType::Int64,
        Dtype::F64 => DataType::Float64,
        Dtype::Utf8 => DataType::String,
        Dtype::Bool => DataType::Boolean,
    }
}

pub(crate) fn polars_error(dataset: &Dataset) -> impl Fn(PolarsError) -> AnalysisError + use<> {
    let label = dataset.manifest().label.clone();
    move |source| AnalysisError::Polars { label: label.clone(), source }
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
