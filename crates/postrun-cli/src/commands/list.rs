//! `postrun list formats|metrics|rules|charts|scenarios|topics|quality`.

use crate::args::{ListArgs, ListWhat};
use crate::error::CliError;
use crate::output::print_listing;
use postrun_analysis::{METRICS, TOPICS};
use postrun_diagnose::RULES;
use postrun_diff::PAGES;
use postrun_ingest::{INGESTORS, LIMITS};
use postrun_report::{CHARTS, DIFF_CHARTS};
use postrun_schema::IssueCode;
use postrun_simulate::{Cause, scenarios};

pub fn run(args: ListArgs) -> Result<(), CliError> {
    let rows: Vec<(String, String)> = match args.what {
        ListWhat::Formats => INGESTORS.iter().map(|i| (i.id.to_string(), i.doc.headline())).collect(),
        ListWhat::Metrics => METRICS.iter().map(|m| (m.id.to_string(), m.doc.headline())).collect(),
        ListWhat::Rules => RULES.iter().map(|r| (r.id.to_string(), r.doc.headline())).collect(),
        ListWhat::Charts => CHARTS.iter().chain(DIFF_CHARTS).map(|c| (c.id.to_string(), c.about())).collect(),
        ListWhat::Scenarios => scenarios().into_iter().map(|s| (s.name, shows(&s.causes))).collect(),
        ListWhat::Topics => {
            let limits = ("limits", LIMITS.headline());
            let all = TOPICS.iter().map(|t| (t.id, t.doc.headline())).chain([limits]);
            let all = all.chain(PAGES.iter().map(|(id, doc)| (*id, doc.headline())));
            all.map(|(id, text)| (id.to_string(), text)).collect()
        }
        ListWhat::Quality => IssueCode::ALL.iter().map(|c| (c.id(), c.meaning().to_string())).collect(),
    };
    let width = rows.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let line = |(id, text): &(String, String)| format!("{id:<width$}  {text}\n");
    print_listing(&rows.iter().map(line).collect::<String>())
}

fn shows(causes: &[Cause]) -> String {
    let ids: Vec<&str> = causes.iter().map(|c| c.id()).collect();
    if ids.is_empty() { "nothing wrong".to_string() } else { ids.join(", then ") }
}
