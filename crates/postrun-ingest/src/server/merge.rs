//! Puts the files of the server's side beside the client's run they belong to.
//!
//! Files that the user named together belong together. In a folder, a file of the server belongs to the runs of its own
//! folder or below it; failing that, to the runs of the nearest folder above, but then only where the clocks can be
//! aligned. Where several runs come into question (a sweep against one server), each run that the clocks place inside
//! the recording gets it. A recording that belongs to no run of a client becomes a run of its own, without a client.

use super::evidence::Evidence;
use super::recording::Located;
use super::rows;
use super::run;
use crate::error::IngestError;
use crate::input::candidate::LeftAlone;
use crate::sink::Collected;
use postrun_schema::Staging;
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
    for (run, collected) in runs.iter_mut().enumerate() {
        let mine: Vec<usize> = (0..recordings.len()).filter(|r| candidates[*r].0.contains(&run)).collect();
        if mine.is_empty() {
            continue;
        }
        let mut evidence = Evidence::new(collected, clock_offset_ns)?;
        for r in &mine {
            let (rivals, close) = (&candidates[*r].0, candidates[*r].1);
            evidence.weigh(*r, &recordings[*r].recording, rivals.len() == 1 && close);
        }
        for r in rows::write(evidence, collected, &mut recordings)? {
            taken[r] = true;
        }
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
