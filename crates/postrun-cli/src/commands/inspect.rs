//! `postrun inspect FILE`: what is this, what can be known from it, and what cannot.

use super::runs;
use crate::args::InspectArgs;
use crate::error::CliError;
use crate::output::print_wrapped;
use postrun_analysis::{METRICS, Options, RunAnalysis, analyse};
use postrun_ingest::INGESTORS;
use postrun_report::{bytes, issue_text, seconds};
use postrun_schema::{Dataset, Table, counted};

pub fn run(args: InspectArgs) -> Result<(), CliError> {
    let opened = runs::open(&args.inputs, runs::options(&args.reading)?)?;
    let mut out = String::new();
    match &opened.outcome {
        Some(outcome) => {
            for file in &outcome.used {
                let title = INGESTORS.iter().find(|i| i.id == file.format).map_or("", |i| i.title);
                let runs = match file.runs {
                    0 => "the server's side".to_string(),
                    1 => "one run".to_string(),
                    n => format!("{n} runs"),
                };
                out.push_str(&format!("{}: {title} ({}), {runs}\n", file.name, file.format));
            }
        }
        None => out.push_str(&format!(
            "{}: postrun dataset, {}\n",
            args.inputs.join(", "),
            counted(opened.datasets.len() as u64, "run")
        )),
    }
    for dataset in &opened.datasets {
        describe(dataset, &analyse(dataset, &Options::default())?, &mut out);
    }
    print_wrapped(&out)
}

fn describe(dataset: &Dataset, a: &RunAnalysis, out: &mut String) {
    let m = dataset.manifest();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("\nrun {}", m.label));
    line(format!("  written by    {}; {}", m.tool.name, m.tool.how_known));
    if let Some(model) = &m.model {
        line(format!("  model         {model}"));
    }
    let (r, rows) = (a.requests, dataset.rows(Table::Requests));
    let records = match rows {
        0 => "no per-request records, only the client's summary".to_string(),
        n => {
            let chunks = counted(dataset.rows(Table::Chunks), "chunk time");
            format!("{}, {chunks}", counted(n, "per-request record"))
        }
    };
    line(match a.is_workload() {
        true => format!("  requests      {} arrivals with lengths, no answers; {records}", r.total),
        false if !a.counts_requests() => format!("  requests      number not recorded; {records}"),
        false => format!("  requests      {} ok, {} failed; {records}", r.ok, r.failed),
    });
    if let Some(s) = a.facts.duration_s {
        line(format!("  duration      {}", seconds(s)));
    }
    for source in &m.sources {
        line(format!("  file          {} ({}), sha256 {}", source.name, bytes(source.bytes), &source.sha256));
    }
    let known: Vec<&str> =
        METRICS.iter().map(|metric| metric.id).filter(|id| a.metric(id).is_some() || a.value(id).is_some()).collect();
    let known = if known.is_empty() { "nothing".to_string() } else { known.join(", ") };
    line(format!("\n  can be known from it\n    {known}"));
    let mut needs: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for u in &a.unavailable {
        match needs.iter_mut().find(|(needed, missing, _)| *needed == u.needed && *missing == u.missing) {
            Some((_, _, ids)) => ids.push(u.metric),
            None => needs.push((u.needed, &u.missing, vec![u.metric])),
        }
    }
    if !needs.is_empty() {
        line("\n  cannot be known, and what it would need".to_string());
    }
    for (needed, missing, ids) in needs {
        line(format!("    {}: {missing}; needs {needed}", ids.join(", ")));
    }
    if !a.reported.is_empty() {
        line(format!("\n  the client reported {} of its own", counted(a.reported.len() as u64, "figure")));
    }
    if !m.not_recorded.is_empty() {
        line(format!("\n  not recorded\n    {}", m.not_recorded.join(", ")));
    }
    for issue in &m.issues {
        line(format!("\n  {}", issue_text(issue)));
    }
}
