//! Puts the files of the server's side beside the client's run they belong to.
//!
//! Files that the user named together belong together. In a folder, a file of the server belongs to the runs of its own
//! folder or below it; failing that, to the runs of the nearest folder above, but then only where the clocks can be
//! aligned. Where several runs come into question (a sweep against one server), each run that the clocks place inside
//! the recording gets it, unless another run fits the same stretch better ([`claims`]). A recording that belongs to no run
//! of a client becomes a run of its own, without a client.

use super::claims::{self, Lost};
use super::evidence::Evidence;
use super::recording::Located;
use super::rows;
use super::run;
use crate::error::IngestError;
use crate::input::candidate::LeftAlone;
use crate::sink::Collected;
use postrun_schema::{IssueCode, Staging};
use std::path::Path;

/// Gives every recording to the runs it belongs to; what belongs to none is returned with the reason.
pub(crate) fn place(
    runs: &mut Vec<Collected>,
    mut recordings: Vec<Located>,
    staging: &mut Staging,
    clock_offset_ns: Option<i64>,
) -> Result<Vec<LeftAlone>, IngestError> {
    let mut left_alone = Vec::new();
    let mut taken = vec![false; recordings.len()];
    let candidates: Vec<(Vec<usize>, bool)> = recordings.iter().map(|r| runs_for(&r.group, runs)).collect();
    let lost = contest(runs, &recordings, &candidates, clock_offset_ns)?;
    for (run, collected) in runs.iter_mut().enumerate() {
        let lost_by = |r: usize| lost.iter().find(|l| (l.0, l.1) == (run, r)).map(|l| l.2);
        let (mine, given_up): (Vec<usize>, Vec<usize>) =
            (0..recordings.len()).filter(|r| candidates[*r].0.contains(&run)).partition(|r| lost_by(*r).is_none());
        for r in given_up.into_iter().filter(|r| lost_by(*r) == Some(Lost::Tied)) {
            let why = || "another run fits the same stretch of it about as well".to_string();
            collected.issues.add(IssueCode::AmbiguousRecording, || recordings[r].recording.file.clone(), why);
        }
        if mine.is_empty() {
            continue;
        }
        let mut evidence = Evidence::new(collected, clock_offset_ns)?;
        for r in &mine {
            let (rivals, close) = (&candidates[*r].0, candidates[*r].1);
            evidence.weigh(*r, &recordings[*r].recording, rivals.len() == 1 && close);
        }
        let used = rows::write(evidence, collected, &mut recordings)?;
        if let Some(r) = mine.iter().find(|r| used.is_empty() && candidates[**r].1) {
            let why = || "no stretch of it fits this run, so the run has nothing of it".to_string();
            collected.issues.add(IssueCode::ClockNotAligned, || recordings[*r].recording.file.clone(), why);
        }
        used.into_iter().for_each(|r| taken[r] = true);
    }
    let mut alone: Vec<Located> = Vec::new();
    for (r, located) in recordings.into_iter().enumerate() {
        match (taken[r], candidates[r].0.is_empty()) {
            (true, _) => {}
            (false, true) => alone.push(located),
            (false, false) => left_alone.push(LeftAlone {
                name: located.recording.file,
                why: "its clock fits none of the client's runs here; name it together with its run".to_string(),
            }),
        }
    }
    runs.extend(run::runs(alone, staging)?);
    Ok(left_alone)
}

/// Claims of runs to recordings that several runs come into question for, which do not stand.
fn contest(
    runs: &[Collected],
    recordings: &[Located],
    candidates: &[(Vec<usize>, bool)],
    clock_offset_ns: Option<i64>,
) -> Result<Vec<(usize, usize, Lost)>, IngestError> {
    let mut all = Vec::new();
    for (run, collected) in runs.iter().enumerate() {
        let contested = |r: &usize| candidates[*r].0.len() > 1 && candidates[*r].0.contains(&run);
        let contested: Vec<usize> = (0..recordings.len()).filter(contested).collect();
        if contested.is_empty() {
            continue;
        }
        let mut evidence = Evidence::new(collected, clock_offset_ns)?;
        for r in contested {
            evidence.weigh(r, &recordings[r].recording, false);
        }
        all.extend(evidence.claims(run));
    }
    Ok(claims::lost(&all))
}

/// Positions of the runs that a file in `group` may belong to, and whether they are near enough to need no proof.
fn runs_for(group: &Path, runs: &[Collected]) -> (Vec<usize>, bool) {
    let below = |dir: &Path| -> Vec<usize> {
        let inside = |r: &Collected| r.group.starts_with(dir) || (r.group.as_os_str().is_empty() && dir == r.group);
        (0..runs.len()).filter(|i| inside(&runs[*i])).collect()
    };
    // Named one by one: whatever else was named belongs to it.
    if group.as_os_str().is_empty() {
        return ((0..runs.len()).filter(|i| runs[*i].group.as_os_str().is_empty()).collect(), true);
    }
    let near: Vec<usize> = (0..runs.len()).filter(|i| runs[*i].group == group).collect();
    if !near.is_empty() {
        return (near, true);
    }
    let inner = below(group);
    if !inner.is_empty() {
        return (inner, true);
    }
    for dir in group.ancestors().skip(1).filter(|d| !d.as_os_str().is_empty()) {
        let outer = below(dir);
        if !outer.is_empty() {
            return (outer, false);
        }
    }
    (Vec::new(), false)
}
