//! `postrun report RUN_OR_FILE...`.

use super::charts;
use super::runs::{self, Runs};
use crate::args::{ReportArgs, ReportFormat};
use crate::error::CliError;
use crate::output::{deliver, file_named, look, print, print_data, read_text};
use postrun_analysis::{Options, RunAnalysis, analyse};
use postrun_diagnose::{Diagnosis, RuleSet, diagnose, diagnose_sweep};
use postrun_report::{Parts, Report, Reports, to_csv, to_html, to_json, to_markdown, to_table};
use std::collections::BTreeSet;
use std::path::Path;

/// Forms by the ending of a file.
const FORMS: [(&[&str], ReportFormat); 5] = [
    (&["html", "htm"], ReportFormat::Html),
    (&["json"], ReportFormat::Json),
    (&["md", "markdown"], ReportFormat::Markdown),
    (&["csv"], ReportFormat::Csv),
    (&["txt"], ReportFormat::Table),
];

pub fn run(args: ReportArgs) -> Result<(), CliError> {
    let format = match args.format {
        Some(format) => format,
        None => form_by_ending(file_named(&args.output), &FORMS)?,
    };
    args.charts.as_deref().map_or(Ok(()), charts::check)?;
    let rules = rules(args.rules.as_deref())?;
    let reading = runs::options(&args.reading)?;
    let reading = postrun_ingest::Options {
        strict: args.strict,
        clock_offset_ns: args.clock_offset,
        without_hashes: !matches!(format, ReportFormat::Json | ReportFormat::Html),
        ..reading
    };
    let opened = runs::open(&args.inputs, reading)?;
    let options = Options {
        buckets: args.buckets,
        percentiles: args.percentiles,
        objectives: args.slo.map(|slo| slo.0).unwrap_or_default(),
        window: args.window,
        convention: args.convention,
        shapes: format == ReportFormat::Html || args.charts.is_some(),
        curves: false,
        rows: false,
        metrics_only: format == ReportFormat::Csv,
    };
    let reports = reports(&opened, &options, &rules)?;
    if let Some(dir) = &args.charts {
        charts::write(&reports, dir)?;
    }
    let text = match format {
        ReportFormat::Table => to_table(&reports, Parts::All, look(&args.output)),
        ReportFormat::Json => to_json(&reports)?,
        ReportFormat::Markdown => to_markdown(&reports, Parts::All),
        ReportFormat::Html => to_html(&reports)?,
        ReportFormat::Csv => to_csv(&reports),
    };
    deliver(&args.output, &text, if format == ReportFormat::Table { print } else { print_data })
}

/// Every opened run, analysed and diagnosed.
pub fn reports(opened: &Runs, options: &Options, rules: &RuleSet) -> Result<Reports, CliError> {
    let mut analyses = opened.datasets.iter().map(|d| analyse(d, options)).collect::<Result<Vec<_>, _>>()?;
    tell_apart(analyses.iter_mut().map(|run| &mut run.manifest.label));
    // Rules judge whole runs: evidence of a window beside that of the run would mix the two.
    let judge = |run: &RunAnalysis| if run.window.is_some() { Diagnosis::default() } else { diagnose(run, rules) };
    let report = |run: RunAnalysis| Report { diagnosis: judge(&run), run };
    let sweep = diagnose_sweep(&analyses, rules).filter(|_| options.window.is_none());
    Ok(Reports { runs: analyses.into_iter().map(report).collect(), sweep })
}

/// The rules to judge by: the built-in ones, with the user's thresholds and rules where there is a file of them.
pub fn rules(file: Option<&Path>) -> Result<RuleSet, CliError> {
    let Some(path) = file else { return Ok(RuleSet::default()) };
    Ok(RuleSet::from_toml(&path.display().to_string(), &read_text(path)?)?)
}

/// The form that goes with the ending of the file to write; text without a file or an ending, which is the last of `forms`.
pub fn form_by_ending<F: Copy>(output: Option<&Path>, forms: &[(&[&str], F)]) -> Result<F, CliError> {
    let ending = output.and_then(|path| path.extension()?.to_str()).unwrap_or("txt");
    let found = forms.iter().find(|(endings, _)| endings.contains(&ending));
    found.map(|(_, form)| *form).ok_or_else(|| {
        let known: Vec<String> = forms.iter().filter_map(|(e, _)| Some(format!(".{}", e.first()?))).collect();
        let known = known.join(", ");
        CliError::Argument(format!(
            "no form of report goes with the ending .{ending}; known: {known}; or name one with --format"
        ))
    })
}

/// Datasets from different places may have the same label.
pub fn tell_apart<'a>(labels: impl Iterator<Item = &'a mut String>) {
    let mut taken = BTreeSet::new();
    for label in labels {
        let own = label.clone();
        let mut n = 2;
        while !taken.insert(label.clone()) {
            *label = format!("{own}-{n}");
            n += 1;
        }
    }
}
