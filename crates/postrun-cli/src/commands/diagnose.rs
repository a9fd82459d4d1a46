//! `postrun diagnose RUN...`: what is wrong, on what evidence, and what to try.

use super::{report, runs};
use crate::args::{DiagnoseArgs, DiagnosisFormat, FailOn};
use crate::error::CliError;
use crate::output::{deliver, look, print, print_data};
use postrun_analysis::Options;
use postrun_diagnose::Severity;
use postrun_report::{Parts, Report, to_json, to_markdown, to_table};

/// True when a finding met `--fail-on`.
pub fn run(args: DiagnoseArgs) -> Result<bool, CliError> {
    let rules = report::rules(args.rules.as_deref())?;
    let reading = runs::options(&args.reading)?;
    let reading = postrun_ingest::Options {
        clock_offset_ns: args.clock_offset,
        without_hashes: args.format != DiagnosisFormat::Json,
        ..reading
    };
    let opened = runs::open(&args.inputs, reading)?;
    let objectives = args.slo.map(|slo| slo.0).unwrap_or_default();
    let options = Options { objectives, convention: args.convention, ..Options::default() };
    let reports = report::reports(&opened, &options, &rules)?;
    let text = match args.format {
        DiagnosisFormat::Table => to_table(&reports, Parts::Diagnosis, look(&args.output)),
        DiagnosisFormat::Markdown => to_markdown(&reports, Parts::Diagnosis),
        DiagnosisFormat::Json => to_json(&reports)?,
    };
    deliver(&args.output, &text, if args.format == DiagnosisFormat::Table { print } else { print_data })?;
    let least = match args.fail_on {
        None => return Ok(false),
        Some(FailOn::Warning) => Severity::Warning,
        Some(FailOn::Critical) => Severity::Critical,
    };
    let met = |r: &Report| r.diagnosis.findings.iter().any(|f| f.severity >= least);
    Ok(reports.runs.iter().any(met))
}
