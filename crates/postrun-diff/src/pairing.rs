//! Did both runs send the same requests?

use crate::side::SideRun;
use serde::Serialize;
use std::collections::BTreeSet;

/// Fewer different requests than this, and equal sequences say nothing.
const TOLD_APART: usize = 8;

/// How requests of both sides belong together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pairing {
    /// Requests that both sent.
    pub requests: u64,
    /// `ids` or `lengths`.
    pub by: &'static str,
}

/// The pairing of two runs; `None` where they did not send the same requests in the same order.
pub(crate) fn pairing(base: &SideRun, candidate: &SideRun) -> Option<Pairing> {
    let (a, b) = (&base.samples, &candidate.samples);
    let requests = a.prompt_tokens.len();
    if requests == 0 || requests != b.prompt_tokens.len() {
        return None;
    }
    let paired = |by| Some(Pairing { requests: requests as u64, by });
    if a.ids.is_some() && a.ids == b.ids {
        return paired("ids");
    }
    let different: BTreeSet<u32> = a.prompt_tokens.iter().flatten().copied().collect();
    match a.prompt_tokens == b.prompt_tokens && different.len() >= TOLD_APART.min(requests) && different.len() > 1 {
        true => paired("lengths"),
        false => None,
    }
}

/// True where both are the same recording.
pub(crate) fn same_recording(base: &SideRun, candidate: &SideRun) -> bool {
    let hashes = |r: &SideRun| -> Vec<(String, u32)> {
        r.run.manifest.sources.iter().map(|s| (s.sha256.clone(), s.run_in_file)).collect()
    };
    let (a, b) = (hashes(base), hashes(candidate));
    !a.is_empty() && a == b
}
