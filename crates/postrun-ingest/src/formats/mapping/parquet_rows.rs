//! Rows of a Parquet file, batch by batch.

use super::columns::bind;
use super::refuse_unknown;
use super::runs::Runs;
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::Walked;
use crate::mapping::{Column, Mapping, Unit};
use crate::sink::RunSink;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Fields, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use postrun_schema::{caught, refuse_outside};

/// Rows in memory at a time; a row can hold thousands of chunk times.
const BATCH_ROWS: usize = 1 << 10;
/// Names of members that are kept to suggest one.
const MOST_NAMES: usize = 256;

pub(super) fn read(source: &mut Source, sink: &mut RunSink<'_>, given: Option<&Mapping>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let broken = |e: &dyn std::fmt::Display| IngestError::io(&file)(std::io::Error::other(format!("Parquet: {e}")));
    let Some(path) = source.plain_path() else {
        let what = "Parquet is read from its end: name an uncompressed file instead of standard input";
        return Err(IngestError::io(&file)(std::io::Error::other(what)));
    };
    let opened = std::fs::File::open(path).map_err(IngestError::io(&file))?;
    let size = opened.metadata().map_err(IngestError::io(&file))?.len();
    let builder = caught(|| ParquetRecordBatchReaderBuilder::try_new(opened)).map_err(|e| broken(&e))?;
    refuse_outside(builder.metadata(), size).map_err(|e| broken(&e))?;
    let fields = builder.schema().fields().clone();
    let mut names = Vec::new();
    paths("", &fields, &mut names);
    let own = Mapping::of_own_names(names.iter().map(String::as_str));
    let mapping = given.unwrap_or(&own);
    refuse_unknown(&file, mapping, &names)?;
    for column in &mapping.columns {
        match kind_of(&fields, &column.name) {
            None if !column.optional => return Err(mapping.missing(&file, column, &names)),
            Some(kind) if !is_read(kind, column) => {
                let message =
                    format!("column {:?} is of type {kind}, which holds no {}", column.name, column.fact.name());
                return Err(mapping.fault(&file, Some(column), message));
            }
            _ => {}
        }
    }
    let typed = |column: &Column| kind_of(&fields, &column.name).and_then(unit_of);
    let mut runs = Runs::new(mapping, &file, bind(mapping, &file, typed)?);
    let wanted = |i: &usize| {
        let root = fields.get(*i).map(|f| f.name().as_str());
        mapping
            .columns
            .iter()
            .any(|c| root.is_some_and(|root| c.name == root || c.name.starts_with(&format!("{root}."))))
    };
    let mask = ProjectionMask::roots(builder.parquet_schema(), (0..fields.len()).filter(wanted).collect::<Vec<_>>());
    let builder = builder.with_projection(mask).with_batch_size(BATCH_ROWS);
    let mut batches = caught(|| builder.build()).map_err(|e| broken(&e))?;
    let mut row = 0u64;
    while let Some(batch) =
        caught(|| batches.next().transpose()).map_err(|e| broken(&format!("{e} (behind row {row})")))?
    {
        let columns: Vec<Option<&dyn Array>> = mapping.columns.iter().map(|c| array_at(&batch, &c.name)).collect();
        for i in 0..batch.num_rows() {
            row += 1;
            let values: Vec<Tree> = columns.iter().map(|array| array.map_or(Tree::Null, |a| value(a, i))).collect();
            runs.push(sink, &values, &|| format!("{file}: row {row}"))?;
        }
    }
    let (issues, skipped) = runs.finish(sink)?;
    let first_problem = (row == 0).then(|| "a table without rows".to_string());
    let text = source.take_reader();
    sink.close(source, text, super::MAPPING.id, Walked { issues, skipped, first_problem })
}

/// Names of all columns, members of structs behind a point.
fn paths(above: &str, fields: &Fields, out: &mut Vec<String>) {
    for field in fields.iter().take(MOST_NAMES.saturating_sub(out.len())) {
        let path = format!("{above}{}", field.name());
        if let DataType::Struct(inner) = field.data_type() {
            paths(&format!("{path}."), inner, out);
        }
        out.push(path);
    }
}

fn kind_of<'a>(fields: &'a Fields, path: &str) -> Option<&'a DataType> {
    if let Some((_, field)) = fields.find(path) {
        return Some(field.data_type());
    }
    let (first, rest) = path.split_once('.')?;
    match fields.find(first)?.1.data_type() {
        DataType::Struct(inner) => kind_of(inner, rest),
        _ => None,
    }
}

fn array_at<'a>(batch: &'a RecordBatch, path: &str) -> Option<&'a dyn Array> {
    if let Some(array) = batch.column_by_name(path) {
        return Some(array.as_ref());
    }
    let (first, mut rest) = path.split_once('.')?;
    let mut array = batch.column_by_name(first)?.as_ref();
    loop {
        let inner = array.as_struct_opt()?;
        if let Some(found) = inner.column_by_name(rest) {
            return Some(found.as_ref());
        }
        let (first, behind) = rest.split_once('.')?;
        array = inner.column_by_name(first)?.as_ref();
        rest = behind;
    }
}

/// The unit that the type itself names: values of such a column are made nanoseconds here.
fn unit_of(kind: &DataType) -> Option<Unit> {
    match kind {
        DataType::Timestamp(..) | DataType::Duration(_) => Some(Unit::Nanos),
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            unit_of(inner.data_type())
        }
        _ => None,
    }
}

fn is_read(kind: &DataType, column: &Column) -> bool {
    match kind {
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            column.fact.kind().is_list() && is_scalar(inner.data_type())
        }
        DataType::Null => true,
        kind => !column.fact.kind().is_list() && is_scalar(kind),
    }
}

fn is_scalar(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_scalar(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean => true,
        DataType::Timestamp(..) | DataType::Duration(_) | DataType::Decimal128(..) => true,
        DataType::Float32 | DataType::Float64 => true,
        kind => kind.is_integer(),
    }
}

/// One value as the other readers see it.
fn value(array: &dyn Array, i: usize) -> Tree {
    if array.is_null(i) {
        return Tree::Null;
    }
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        return dictionary.normalized_keys().get(i).map_or(Tree::Null, |key| value(dictionary.values().as_ref(), *key));
    }
    macro_rules! number {
        ($kind:ty) => {
            Tree::Number(array.as_primitive::<$kind>().value(i).to_string())
        };
    }
    macro_rules! nanos {
        ($kind:ty, $factor:literal) => {
            Tree::Number((i128::from(array.as_primitive::<$kind>().value(i)) * $factor).to_string())
        };
    }
    match array.data_type() {
        DataType::Boolean => Tree::Bool(array.as_boolean().value(i)),
        DataType::Utf8 => text(array.as_string::<i32>().value(i)),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(i)),
        DataType::Utf8View => text(array.as_string_view().value(i)),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Decimal128(..) => Tree::Number(array.as_primitive::<Decimal128Type>().value_as_string(i)),
        DataType::Timestamp(TimeUnit::Second, _) => nanos!(TimestampSecondType, 1_000_000_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => nanos!(TimestampMillisecondType, 1_000_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => nanos!(TimestampMicrosecondType, 1_000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => nanos!(TimestampNanosecondType, 1),
        DataType::Duration(TimeUnit::Second) => nanos!(DurationSecondType, 1_000_000_000),
        DataType::Duration(TimeUnit::Millisecond) => nanos!(DurationMillisecondType, 1_000_000),
        DataType::Duration(TimeUnit::Microsecond) => nanos!(DurationMicrosecondType, 1_000),
        DataType::Duration(TimeUnit::Nanosecond) => nanos!(DurationNanosecondType, 1),
        DataType::List(_) => list(array.as_list::<i32>().value(i).as_ref()),
        DataType::LargeList(_) => list(array.as_list::<i64>().value(i).as_ref()),
        DataType::FixedSizeList(..) => list(array.as_fixed_size_list().value(i).as_ref()),
        _ => Tree::Null,
    }
}

fn text(value: &str) -> Tree {
    Tree::Text(value.to_string())
}

fn list(array: &dyn Array) -> Tree {
    Tree::List((0..array.len()).map(|i| value(array, i)).collect())
}
