//! What a run takes from a summary of it: figures, counts and settings that its records do not give.

use super::layer::Layer;
use crate::error::IngestError;
use crate::sink::Collected;
use postrun_schema::{Load, Manifest, ReportedRow};
use std::collections::BTreeMap;

/// Largest relative difference between two figures that are the same, stored with unlike digits.
const SAME: f64 = 1e-6;

/// How much of a run a summary is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    Whole,
    /// Where nothing tells the counts of the whole, they are the sum over its parts.
    Part {
        counts: bool,
    },
}

pub(super) fn take_over(
    run: &mut Collected,
    summary: Collected,
    rows: Vec<ReportedRow>,
    share: Share,
) -> Result<(), IngestError> {
    let Some(part) = &mut run.part else { return Ok(()) };
    // Where both files store a figure, the finer one has more of its digits. What contradicts it is kept, to be compared too.
    let known: BTreeMap<(String, String), Option<f64>> =
        part.reported.iter().map(|row| ((row.metric.clone(), row.stat.clone()), row.value)).collect();
    let near = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let is_known = |row: &ReportedRow| {
        let ours = known.get(&(row.metric.clone(), row.stat.clone()));
        ours.is_some_and(|ours| ours.zip(row.value).is_none_or(|(a, b)| near(a, b)))
    };
    part.reported.extend(rows.into_iter().filter(|row| !is_known(row)));
    run.run.set_reported(&part.reported)?;
    super::beside::take_extras(&mut run.run, &summary.run)?;
    fill(&mut run.run.manifest, summary.run.manifest, share);
    run.issues.extend(summary.issues);
    Ok(())
}

/// What the records do not say and the summary does.
fn fill(manifest: &mut Manifest, summary: Manifest, share: Share) {
    if manifest.tool.version.is_none() && summary.tool.version.is_some() {
        manifest.tool = summary.tool;
    }
    manifest.model = manifest.model.take().or(summary.model);
    let (counted, theirs) = (&mut manifest.counted, summary.counted);
    match share {
        Share::Whole => {
            if manifest.duration_ns.is_none() {
                (manifest.duration_ns, manifest.duration_from_unix_ns) =
                    (summary.duration_ns, summary.duration_from_unix_ns);
            }
            counted.completed = counted.completed.or(theirs.completed);
            counted.failed = counted.failed.or(theirs.failed);
            counted.prompt_tokens = counted.prompt_tokens.or(theirs.prompt_tokens);
            counted.output_tokens = counted.output_tokens.or(theirs.output_tokens);
            fill_load(&mut manifest.load, summary.load);
        }
        Share::Part { counts } => {
            let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            };
            if counts {
                counted.completed = sum(counted.completed, theirs.completed);
                counted.failed = sum(counted.failed, theirs.failed);
            }
        }
    }
    for (key, value) in summary.server {
        manifest.server.entry(key).or_insert(value);
    }
    manifest.sources.extend(summary.sources);
}

fn fill_load(load: &mut Load, theirs: Load) {
    load.unbounded |= theirs.unbounded && load.request_rate.is_none();
    load.request_rate = load.request_rate.or(theirs.request_rate);
    load.burstiness = load.burstiness.or(theirs.burstiness);
    load.max_concurrency = load.max_concurrency.or(theirs.max_concurrency);
    load.num_prompts = load.num_prompts.or(theirs.num_prompts);
    load.dataset = load.dataset.take().or(theirs.dataset);
    load.backend = load.backend.take().or(theirs.backend);
    if load.date.is_none() {
        (load.date, load.date_is_start) = (theirs.date, theirs.date_is_start);
    }
    for (key, value) in theirs.other {
        load.other.entry(key).or_insert(value);
    }
}

/// A window of the server's metrics may miss some requests or hold some of the stages beside it, and Prometheus
/// extrapolates; beyond this share of the requests, and this number, its figures are of others.
const OTHER_SHARE: f64 = 0.2;
const OTHER_REQUESTS: f64 = 2.0;

/// Says so where the server counted other requests than those of the run.
pub(super) fn of_other_requests(summary: &Collected, run: &Collected) -> Option<String> {
    let part = summary.part.as_ref().filter(|part| matches!(part.layer, Layer::ServerStage(_) | Layer::ServerWhole))?;
    let here = Some(run.run.measured).filter(|n| *n > 0).or(run.run.manifest.counted.requests())? as f64;
    let is_count = |row: &&ReportedRow| row.metric == "server_requests" && row.stat == "value";
    let there = part.reported.iter().find(is_count)?.value?;
    let apart = (there - here).abs() > OTHER_REQUESTS.max(here * OTHER_SHARE);
    apart.then(|| format!("the server counted {there} requests in its window, the client {here}"))
}

/// A figure of the server that is not of the requests of the run.
pub(super) fn of_others(row: &ReportedRow) -> ReportedRow {
    ReportedRow { metric: format!("other_window.{}", row.metric), ..row.clone() }
}
