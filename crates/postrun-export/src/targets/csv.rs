//! The requests of a run as CSV: a row a request, with every per-request metric.
//!
//! # Columns
//! As of the `parquet` target. What is not recorded or not defined is empty. Recorded text that a spreadsheet would take
//! for a formula (it begins with `=`, `+`, `-`, `@`, a tab or a line break) gets a `'` in front.

use crate::error::ExportError;
use crate::flat;
use crate::target::{Out, Target};
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array};
use postrun_report::csv_field;
use postrun_schema::{Dataset, Doc};
use std::fmt::Write as _;

pub(super) static CSV: Target =
    Target { id: "csv", ending: "csv", binary: false, doc: Doc::from_source(include_str!("csv.rs")), write };

fn write(dataset: &Dataset, out: Out<'_>) -> Result<Vec<String>, ExportError> {
    let names: Vec<String> = flat::schema().fields().iter().map(|f| f.name().clone()).collect();
    writeln!(out, "{}", names.join(","))?;
    let mut text = String::new();
    let rows = flat::each(dataset, |batch| {
        let cells = batch.columns().iter().map(|c| Cells::of(c.as_ref())).collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            text.clear();
            line(&cells, row, &mut text);
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    })?;
    Ok(flat::nothing(rows))
}

/// A column, by what its cells look like.
enum Cells<'a> {
    Text(&'a StringArray),
    Count(&'a UInt32Array),
    Time(&'a Int64Array),
    Figure(&'a Float64Array),
    Flag(&'a BooleanArray),
}

impl Cells<'_> {
    fn of(column: &dyn Array) -> Result<Cells<'_>, ExportError> {
        let any = column.as_any();
        let text = any.downcast_ref().map(Cells::Text);
        let numbers = || any.downcast_ref().map(Cells::Count).or_else(|| any.downcast_ref().map(Cells::Time));
        let others = || any.downcast_ref().map(Cells::Figure).or_else(|| any.downcast_ref().map(Cells::Flag));
        let unknown = || ExportError::Batch(format!("no form for cells of type {}", column.data_type()));
        text.or_else(numbers).or_else(others).ok_or_else(unknown)
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Cells::Text(c) => c.is_null(row),
            Cells::Count(c) => c.is_null(row),
            Cells::Time(c) => c.is_null(row),
            Cells::Figure(c) => c.is_null(row),
            Cells::Flag(c) => c.is_null(row),
        }
    }
}

fn line(cells: &[Cells<'_>], row: usize, out: &mut String) {
    for (at, column) in cells.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if column.is_null(row) {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = match column {
            Cells::Text(c) => out.write_str(&csv_field(c.value(row))),
            Cells::Count(c) => write!(out, "{}", c.value(row)),
            Cells::Time(c) => write!(out, "{}", c.value(row)),
            Cells::Figure(c) => write!(out, "{}", c.value(row)),
            Cells::Flag(c) => write!(out, "{}", c.value(row)),
        };
    }
    out.push('\n');
}
