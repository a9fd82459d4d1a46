//! `postrun list formats|metrics`.

use crate::args::{ListArgs, ListWhat};
use crate::exit::CliError;
use crate::output::print;
use postrun_analysis::METRICS;
use postrun_ingest::INGESTORS;

pub fn run(args: ListArgs) -> Result<(), CliError> {
    let rows: Vec<(&str, String)> = match args.what {
        ListWhat::Formats => INGESTORS.iter().map(|i| (i.id, i.doc.headline())).collect(),
        ListWhat::Metrics => METRICS.iter().map(|m| (m.id, m.doc.headline())).collect(),
    };
    let width = rows.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let line = |(id, text): &(&str, String)| format!("{id:<width$}  {text}\n");
    print(&rows.iter().map(line).collect::<String>())
}
