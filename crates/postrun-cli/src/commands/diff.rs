//! `postrun diff BASE CANDIDATE`: what changed, beyond noise.

use super::report::{form_by_ending, rules, tell_apart};
use super::runs::{self, Runs};
use super::{beside, charts, labels};
use crate::args::{DiffArgs, DiffFormat};
use crate::error::CliError;
use crate::exit::Compared;
use crate::output::{deliver, file_named, look, print, read_text, say};
use postrun_analysis::{BucketEdges, Options, RunAnalysis, analyse, samples, shared_edges};
use postrun_diagnose::{RuleSet, diagnose};
use postrun_diff::{Budget, DRAWN_PERCENTILES, Overall, Reason, Settings, Side, SideRun, diff, noise_of_repeats};
use postrun_report::{Comparison, diff_pictures, diff_to_html, diff_to_json, diff_to_markdown, diff_to_table};
use postrun_schema::Dataset;
use std::path::Path;

/// Forms by the ending of a file.
const FORMS: [(&[&str], DiffFormat); 4] = [
    (&["html", "htm"], DiffFormat::Html),
    (&["json"], DiffFormat::Json),
    (&["md", "markdown"], DiffFormat::Markdown),
    (&["txt"], DiffFormat::Table),
];

pub fn run(args: DiffArgs) -> Result<Compared, CliError> {
    let format = match args.format {
        Some(format) => format,
        None => form_by_ending(file_named(&args.output), &FORMS)?,
    };
    args.charts.as_deref().map_or(Ok(()), charts::check)?;
    let rules = rules(args.rules.as_deref())?;
    let mut budget = args.budget.as_deref().map_or(Ok(Budget::default()), read_budget)?;
    let drawn = format == DiffFormat::Html || args.charts.is_some();
    let mut settings = Settings { drawn, ..settings(&args, &budget)? };
    let (base, candidate) = match args.runs.as_slice() {
        [base, candidate] => (one(base, &args)?, one(candidate, &args)?),
        _ => (repeats(&args.base, &args)?, repeats(&args.candidate, &args)?),
    };
    let named = if args.runs.is_empty() { [args.base.as_slice(), &args.candidate].concat() } else { args.runs.clone() };
    let origins: Vec<&str> = named
        .iter()
        .zip(base.iter().chain(&candidate))
        .flat_map(|(arg, opened)| opened.datasets.iter().map(|_| arg.as_str()))
        .collect();
    let edges = match &args.buckets {
        Some(edges) => edges.clone(),
        None => shared_edges(&datasets(&base).chain(datasets(&candidate)).collect::<Vec<_>>())?,
    };
    let percentiles = if drawn { DRAWN_PERCENTILES.to_vec() } else { Vec::new() };
    let options = Options { shapes: drawn, percentiles, convention: args.convention, ..Options::default() };
    let mut base = side(&base, &edges, &options, &rules)?;
    let mut candidate = side(&candidate, &edges, &options, &rules)?;
    let mut names: Vec<&mut String> =
        base.runs.iter_mut().chain(&mut candidate.runs).map(|r| &mut r.run.manifest.label).collect();
    labels::by_paths(names.iter_mut().map(|name| &mut **name).zip(origins).collect());
    tell_apart(names.into_iter());
    let asked = args.run_noise.is_some() || budget.run_noise.is_some() || !args.noise_from.is_empty();
    if let ([arg, other], [a], [b], false) = (named.as_slice(), base.runs.as_slice(), candidate.runs.as_slice(), asked)
    {
        settings.earlier = beside::repeats((arg, other), (&a.run, &b.run), &args);
    }
    let found = diff(&base, &candidate, &edges, &settings);

    budget.limits.extend(args.fail_on.iter().cloned());
    let (breaches, not_judged) = (budget.breaches(&found, &candidate), budget.not_judged(&found, &candidate));
    let (breaches, not_judged) = (breaches.as_slice(), not_judged.as_slice());
    let comparison = Comparison { diff: &found, base: &base, candidate: &candidate, breaches, not_judged };
    if let Some(dir) = &args.charts {
        charts::write_comparison(&diff_pictures(&comparison), dir)?;
    }
    let text = match format {
        DiffFormat::Table => {
            let look = look(&args.output);
            diff_to_table(&found, breaches, not_judged, look)
        }
        DiffFormat::Markdown => diff_to_markdown(&found, breaches, not_judged),
        DiffFormat::Html => diff_to_html(&comparison)?,
        DiffFormat::Json => diff_to_json(&found, breaches, not_judged)?,
    };
    deliver(&args.output, &text, print)?;
    not_judged.iter().filter(|u| !u.recorded).for_each(|u| say(&format!("postrun: the gate is broken: {}", u.text)));
    let undecided: Vec<&str> = not_judged.iter().filter(|u| u.recorded).map(|u| u.text.as_str()).collect();
    if !undecided.is_empty() {
        let (n, all) = (undecided.len(), budget.limits.len());
        let limits = if all == 1 { "limit was" } else { "limits were" };
        let strict = if args.strict { "" } else { "; --strict makes this exit code 3" };
        say(&format!("postrun: {n} of {all} {limits} not judged: {}{strict}", undecided.join("; ")));
    }
    if let (Some(path), true) = (&args.budget, budget.limits.is_empty()) {
        say(&format!("postrun: {} has no [[limit]], so nothing is guarded", path.display()));
    }
    if let Some((arg, earlier)) = named.first().zip(settings.earlier.as_ref())
        && found.deltas.iter().any(|d| d.reason == Some(Reason::RunNoise))
        && let Some(text) = beside::suggestion(arg, earlier, found.method.run_noise)
    {
        say(&text);
    }
    let undecided = found.overall == Overall::Inconclusive || !not_judged.is_empty();
    Ok(match () {
        () if !breaches.is_empty() => Compared::Exceeded,
        () if not_judged.iter().any(|u| !u.recorded) => Compared::Broken,
        () if args.strict && undecided => Compared::Undecided,
        () => Compared::Kept,
    })
}

fn read_budget(path: &Path) -> Result<Budget, CliError> {
    Ok(Budget::from_toml(&path.display().to_string(), &read_text(path)?)?)
}

/// The command line before the budget file before the defaults.
fn settings(args: &DiffArgs, budget: &Budget) -> Result<Settings, CliError> {
    let mut out = Settings::default();
    if let Some(margin) = args.margin.or(budget.margin) {
        out.margin = margin;
    }
    if let Some(noise) = args.run_noise.or(budget.run_noise) {
        out.run_noise = noise;
        let from = if args.run_noise.is_some() { "--run-noise" } else { "the budget file" };
        out.run_noise_from = format!("set by {from}");
    }
    if !args.noise_from.is_empty() {
        let earlier = repeats(&args.noise_from, args)?;
        let options = Options { convention: args.convention, metrics_only: true, ..Options::default() };
        let analysed = datasets(&earlier).map(|d| analyse(d, &options)).collect::<Result<Vec<_>, _>>()?;
        let noise = noise_of_repeats(&analysed.iter().collect::<Vec<_>>()).ok_or_else(|| {
            let n = analysed.len();
            CliError::Argument(format!("--noise-from needs three or more runs with latencies; these are {n}"))
        })?;
        out.run_noise = noise.bound;
        out.run_noise_from =
            format!("{} runs of --noise-from, which vary by {:.1} %", analysed.len(), noise.spread * 100.0);
    }
    Ok(out)
}

fn open(arg: &str, args: &DiffArgs) -> Result<Runs, CliError> {
    runs::open(&[arg.to_string()], runs::options(&args.reading)?)
}

/// What is named alone is one run.
fn one(arg: &str, args: &DiffArgs) -> Result<Vec<Runs>, CliError> {
    let opened = open(arg, args)?;
    match opened.datasets.len() {
        1 => Ok(vec![opened]),
        n => Err(CliError::Argument(format!(
            "{arg} holds {n} runs; name one of them, or give repeats by --base and --candidate"
        ))),
    }
}

fn repeats(named: &[String], args: &DiffArgs) -> Result<Vec<Runs>, CliError> {
    named.iter().map(|arg| open(arg, args)).collect()
}

fn datasets(opened: &[Runs]) -> impl Iterator<Item = &Dataset> {
    opened.iter().flat_map(|r| &r.datasets)
}

fn side(opened: &[Runs], edges: &BucketEdges, options: &Options, rules: &RuleSet) -> Result<Side, CliError> {
    let options = Options { buckets: Some(edges.clone()), rows: true, ..options.clone() };
    let one = |dataset: &Dataset| -> Result<SideRun, CliError> {
        let run: RunAnalysis = analyse(dataset, &options)?;
        Ok(SideRun { samples: samples(dataset, &run, edges)?, diagnosis: diagnose(&run, rules), run })
    };
    Ok(Side { runs: datasets(opened).map(one).collect::<Result<_, _>>()? })
}
