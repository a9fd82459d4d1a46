//! Files that tell of one run: its records, and the figures that the client made of them and stored elsewhere.
//!
//! A summary gives way to the records it sums up: its figures, settings and source go to their run, and nothing is
//! counted twice. They belong together when they lie in one folder under one key, or when their totals are the same.
//! A summary whose records are not there stays a run of its own, as far as a summary can be one.

use crate::error::IngestError;
use crate::sink::Collected;
use postrun_schema::Manifest;

/// Which run a file is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Records and summaries of different tools never meet.
    pub tool: &'static str,
    /// What the files of one run share inside a folder: a stem, a stage.
    pub key: String,
    /// What both sides can tell of the run, exactly; empty: nothing.
    pub totals: String,
    /// It sums up what another file holds.
    pub is_summary: bool,
}

/// Hands the summaries to the runs they are of.
pub(crate) fn unite(collected: Vec<Collected>) -> Result<Vec<Collected>, IngestError> {
    let is_summary = |item: &Collected| item.part.as_ref().is_some_and(|part| part.is_summary);
    let (summaries, mut runs): (Vec<Collected>, Vec<Collected>) = collected.into_iter().partition(is_summary);
    for summary in summaries {
        match runs.iter_mut().find(|run| run.file != summary.file && belongs(run, &summary)) {
            Some(run) => absorb(run, summary)?,
            None => runs.push(summary),
        }
    }
    runs.sort_by_key(|run| run.file);
    Ok(runs)
}

fn belongs(run: &Collected, summary: &Collected) -> bool {
    let (Some(a), Some(b)) = (&run.part, &summary.part) else { return false };
    let together = run.folder.is_some() && run.folder == summary.folder && a.key == b.key;
    a.tool == b.tool && (together || (!a.totals.is_empty() && a.totals == b.totals))
}

fn absorb(run: &mut Collected, summary: Collected) -> Result<(), IngestError> {
    run.run.adopt_reported(&summary.run)?;
    run.issues.extend(summary.issues);
    fill(&mut run.run.manifest, summary.run.manifest);
    Ok(())
}

/// What the records do not say, the summary may.
fn fill(run: &mut Manifest, from: Manifest) {
    let settle = |mine: &mut Option<String>, theirs: Option<String>| *mine = mine.take().or(theirs);
    settle(&mut run.model, from.model);
    if run.tool.version.is_none() && from.tool.version.is_some() {
        run.tool.how_known = from.tool.how_known;
    }
    settle(&mut run.tool.version, from.tool.version);
    run.duration_ns = run.duration_ns.or(from.duration_ns);
    let (mine, theirs) = (&mut run.counted, from.counted);
    mine.completed = mine.completed.or(theirs.completed);
    mine.failed = mine.failed.or(theirs.failed);
    mine.prompt_tokens = mine.prompt_tokens.or(theirs.prompt_tokens);
    mine.output_tokens = mine.output_tokens.or(theirs.output_tokens);
    let (mine, theirs) = (&mut run.load, from.load);
    mine.request_rate = mine.request_rate.or(theirs.request_rate);
    mine.unbounded |= theirs.unbounded && mine.request_rate.is_none();
    mine.burstiness = mine.burstiness.or(theirs.burstiness);
    mine.max_concurrency = mine.max_concurrency.or(theirs.max_concurrency);
    mine.num_prompts = mine.num_prompts.or(theirs.num_prompts);
    settle(&mut mine.dataset, theirs.dataset);
    settle(&mut mine.backend, theirs.backend);
    settle(&mut mine.date, theirs.date);
    for (key, value) in theirs.other {
        mine.other.entry(key).or_insert(value);
    }
    for (key, value) in from.server {
        run.server.entry(key).or_insert(value);
    }
    run.sources.extend(from.sources);
}
