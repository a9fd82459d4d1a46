//! `postrun explain NAME`.

use crate::args::ExplainArgs;
use crate::exit::CliError;
use crate::output::print;
use postrun_analysis::{METRICS, find_metric};
use postrun_ingest::INGESTORS;
use postrun_schema::IssueCode;

pub fn run(args: ExplainArgs) -> Result<(), CliError> {
    let name = args.name.trim();
    if let Some(metric) = find_metric(name) {
        return print(&format!("{} ({})\n\n{}\n", metric.id, metric.label, metric.doc.text()));
    }
    if let Some(ingestor) = INGESTORS.iter().find(|i| i.id == name.to_lowercase().replace('-', "_")) {
        return print(&format!("{} ({})\n\n{}\n", ingestor.id, ingestor.title, ingestor.doc.text()));
    }
    if let Some(code) = issue_code(name) {
        return print(&format!("{name} (data quality)\n\n{}\n", code.meaning()));
    }
    let ids: Vec<&str> = METRICS.iter().map(|m| m.id).chain(INGESTORS.iter().map(|i| i.id)).collect();
    Err(CliError::Argument(format!("nothing is called {name:?}; known: {}", ids.join(", "))))
}

/// The code as it stands in a report.
fn issue_code(name: &str) -> Option<IssueCode> {
    serde_json::from_value(serde_json::Value::String(name.to_lowercase())).ok()
}
