//! `postrun parity RUN...`: the client's own figures, computed again.

use super::{report, runs};
use crate::args::{ParityArgs, ParityFormat};
use crate::error::CliError;
use crate::output::{deliver, look, print, print_data};
use postrun_analysis::{Options, analyse};
use postrun_report::{Parity, parity_csv, parity_json, parity_markdown, parity_table};

/// True when a figure differs and no known definition accounts for it.
pub fn run(args: ParityArgs) -> Result<bool, CliError> {
    let reading = runs::options(&args.reading)?;
    let opened = runs::open(&args.inputs, postrun_ingest::Options { without_hashes: true, ..reading })?;
    let options = Options { curves: true, metrics_only: true, ..Options::default() };
    let mut analyses = opened.datasets.iter().map(|d| analyse(d, &options)).collect::<Result<Vec<_>, _>>()?;
    report::tell_apart(analyses.iter_mut().map(|run| &mut run.manifest.label));
    let parity = Parity::of(analyses.into_iter().map(|a| (a.manifest.label, a.manifest.tool.name, a.reported)));
    let text = match args.format {
        ParityFormat::Table => parity_table(&parity, look(&args.output)),
        ParityFormat::Json => parity_json(&parity)?,
        ParityFormat::Csv => parity_csv(&parity),
        ParityFormat::Markdown => parity_markdown(&parity),
    };
    deliver(&args.output, &text, if args.format == ParityFormat::Table { print } else { print_data })?;
    Ok(parity.counts.unexplained > 0)
}
