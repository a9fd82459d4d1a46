//! The requests that a recording tells of: its records, completed by its events.

use super::recording::{Recording, ServerRequest};
use postrun_schema::EventKind;
use std::collections::{BTreeMap, HashMap};

/// The requests a recording tells of: its records, completed by its events.
pub(crate) fn requests_of(recording: &Recording) -> Vec<ServerRequest> {
    let mut out = recording.requests.clone();
    let mut position: HashMap<String, usize> = HashMap::new();
    for (i, r) in out.iter().enumerate() {
        if let Some(id) = &r.request_id {
            position.entry(id.clone()).or_insert(i);
        }
    }
    let events_count =
        recording.requests.iter().all(|r| r.preemptions.is_none()) && !recording.samples.has("preemptions_total");
    for event in &recording.events {
        let Some(id) = &event.request_id else { continue };
        let at = *position.entry(id.clone()).or_insert_with(|| {
            out.push(ServerRequest { request_id: Some(id.clone()), ..ServerRequest::default() });
            out.len() - 1
        });
        let r = &mut out[at];
        // A record is finer than the stamp of the line beside it.
        let own = recording.requests.get(at);
        let first = |slot: &mut Option<i64>, get: fn(&ServerRequest) -> Option<i64>| {
            if own.and_then(get).is_none() {
                *slot = Some(slot.map_or(event.at_ns, |old| old.min(event.at_ns)));
            }
        };
        match event.kind {
            EventKind::Arrived => first(&mut r.arrival_ns, |r| r.arrival_ns),
            EventKind::Queued => first(&mut r.queued_ns, |r| r.queued_ns),
            EventKind::Scheduled => first(&mut r.first_scheduled_ns, |r| r.first_scheduled_ns),
            EventKind::FirstToken => first(&mut r.first_token_ns, |r| r.first_token_ns),
            // Beside a counter, events are the few that the server chose to print.
            EventKind::Preempted if events_count => {
                r.preemptions = Some(r.preemptions.unwrap_or(0).saturating_add(1));
            }
            EventKind::Failed => r.error = r.error.take().or_else(|| event.detail.clone()).or(Some("failed".into())),
            _ => {}
        }
    }
    add_preempted_times(recording, &position, &mut out);
    out.iter_mut().for_each(complete);
    out
}

/// Phases that the server did not state follow from its points in time: queue = queued → first scheduled, prefill = first
/// scheduled → first token, decode = first → last token, inference = first scheduled → last token.
fn complete(r: &mut ServerRequest) {
    let between = |from: Option<i64>, to: Option<i64>| to?.checked_sub(from?).filter(|ns| *ns >= 0);
    r.queue_ns = r.queue_ns.or(between(r.queued_ns.or(r.arrival_ns), r.first_scheduled_ns));
    r.prefill_ns = r.prefill_ns.or(between(r.first_scheduled_ns, r.first_token_ns));
    r.decode_ns = r.decode_ns.or(between(r.first_token_ns, r.last_token_ns));
    r.inference_ns = r.inference_ns.or(between(r.first_scheduled_ns, r.last_token_ns));
}

/// Time between each preemption and what brought the request back, before or after its first token.
fn add_preempted_times(recording: &Recording, position: &HashMap<String, usize>, out: &mut [ServerRequest]) {
    let mut open: BTreeMap<usize, (i64, bool)> = BTreeMap::new();
    let mut events: Vec<_> = recording.events.iter().collect();
    events.sort_by_key(|e| e.at_ns);
    for event in events {
        let Some(&at) = event.request_id.as_ref().and_then(|id| position.get(id)) else { continue };
        match event.kind {
            EventKind::Preempted => {
                let decoding = out[at].first_token_ns.is_some_and(|first| first <= event.at_ns);
                let decoding = event.phase.map_or(decoding, |phase| phase == "decode");
                open.entry(at).or_insert((event.at_ns, decoding));
            }
            EventKind::Resumed | EventKind::Scheduled => {
                if let Some((since, decoding)) = open.remove(&at) {
                    let r = &mut out[at];
                    let slot = if decoding { &mut r.preempted_decode_ns } else { &mut r.preempted_prefill_ns };
                    *slot = Some(slot.unwrap_or(0).saturating_add(event.at_ns.saturating_sub(since)));
                }
            }
            _ => {}
        }
    }
}
