//! `postrun report RUN_OR_FILE...`.

use super::runs;
use crate::args::{ReportArgs, ReportFormat};
use crate::exit::CliError;
use crate::output::{print, styled, width, write_file};
use postrun_analysis::{Options, analyse};
use postrun_report::{Look, to_csv, to_json, to_markdown, to_table};
use std::path::Path;

pub fn run(args: ReportArgs) -> Result<(), CliError> {
    let format = args.format.unwrap_or_else(|| by_ending(args.output.as_deref()));
    let opened = runs::open(&args.inputs, args.input_format.as_deref(), args.strict)?;
    let options = Options {
        buckets: args.buckets,
        percentiles: args.percentiles,
        objectives: args.slo.map(|slo| slo.0).unwrap_or_default(),
        window: args.window,
    };
    let analyses = opened.datasets.iter().map(|d| analyse(d, &options)).collect::<Result<Vec<_>, _>>()?;
    let to_file = args.output.is_some();
    let text = match format {
        ReportFormat::Table => to_table(&analyses, Look { width: width(), styled: styled() && !to_file }),
        ReportFormat::Json => to_json(&analyses)?,
        ReportFormat::Markdown => to_markdown(&analyses),
        ReportFormat::Csv => to_csv(&analyses),
    };
    match &args.output {
        Some(path) => write_file(path, &text),
        None => print(&text),
    }
}

fn by_ending(output: Option<&Path>) -> ReportFormat {
    match output.and_then(|p| p.extension()).and_then(|e| e.to_str()) {
        Some("json") => ReportFormat::Json,
        Some("md" | "markdown") => ReportFormat::Markdown,
        Some("csv") => ReportFormat::Csv,
        _ => ReportFormat::Table,
    }
}
