//! `postrun trend RUN...`: where did a figure change, and stay changed.

use super::report::tell_apart;
use super::{labels, runs};
use crate::args::{TrendArgs, TrendFormat, TrendOrder};
use crate::error::CliError;
use crate::output::{deliver, look, print};
use postrun_analysis::{Options, analyse};
use postrun_diff::{Order, trend};
use postrun_report::{trend_to_json, trend_to_markdown, trend_to_table};

/// Fewer runs have no course.
const FEWEST: usize = 3;

pub fn run(args: TrendArgs) -> Result<(), CliError> {
    let mut analysed = Vec::new();
    let mut origins = Vec::new();
    // One argument after the other: files of different runs must not be taken for one.
    for input in &args.inputs {
        let reading = runs::options(&args.reading)?;
        let opened = runs::open(std::slice::from_ref(input), reading)?;
        for dataset in &opened.datasets {
            analysed.push(analyse(dataset, &Options { metrics_only: true, ..Options::default() })?);
            origins.push(input.as_str());
        }
    }
    if analysed.len() < FEWEST {
        let n = analysed.len();
        return Err(CliError::Argument(format!(
            "a trend needs {FEWEST} runs or more; these are {n} (see `postrun diff`)"
        )));
    }
    labels::by_paths(analysed.iter_mut().map(|run| &mut run.manifest.label).zip(origins).collect());
    tell_apart(analysed.iter_mut().map(|run| &mut run.manifest.label));
    let by = args.by.map(|by| match by {
        TrendOrder::Time => Order::Time,
        TrendOrder::Label => Order::Label,
        TrendOrder::Given => Order::Given,
    });
    let found = trend(analysed.iter().collect(), by, args.run_noise);
    if by == Some(Order::Time) && found.ordered_by != Order::Time {
        let text = "not every run says when it was saved, or not in the same form; --by label or given orders them";
        return Err(CliError::Argument(text.to_string()));
    }
    let text = match args.format {
        TrendFormat::Table => trend_to_table(&found, look(&args.output)),
        TrendFormat::Markdown => trend_to_markdown(&found),
        TrendFormat::Json => trend_to_json(&found)?,
    };
    deliver(&args.output, &text, print)
}
