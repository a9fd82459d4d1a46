//! Rows of a run from recordings of the server's side: requests, events, samples on the run's time.

use crate::error::IngestError;
use crate::merge::Located;
use crate::recording::{Recording, ServerRequest};
use crate::server_side::Weighed;
use crate::sink::Collected;
use postrun_schema::{
    EventKind, EventRow, IssueCode, Issues, SeriesKind, ServerClock, ServerColumns, Status, find_series,
};
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
    let events_count = recording.requests.iter().all(|r| r.preemptions.is_none())
        && recording.samples.points("preemptions_total").is_empty();
    for event in &recording.events {
        let Some(id) = &event.request_id else { continue };
        let at = *position.entry(id.clone()).or_insert_with(|| {
            out.push(ServerRequest { request_id: Some(id.clone()), ..ServerRequest::default() });
            out.len() - 1
        });
        let r = &mut out[at];
        let first = |slot: &mut Option<i64>| *slot = Some(slot.map_or(event.at_ns, |old| old.min(event.at_ns)));
        match event.kind {
            EventKind::Arrived => first(&mut r.arrival_ns),
            EventKind::Queued => first(&mut r.queued_ns),
            EventKind::Scheduled => first(&mut r.first_scheduled_ns),
            EventKind::FirstToken => first(&mut r.first_token_ns),
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

/// A time of a recording's clock as time since the run's origin. Drift is taken out.
fn place(at_ns: i64, origin_ns: i64, clock: &ServerClock) -> i64 {
    let since = at_ns.saturating_sub(origin_ns);
    match clock.drift_ppm {
        Some(ppm) => (since as f64 / (1.0 + ppm * 1e-6)).round() as i64,
        None => since,
    }
}

/// Where a recording's times count from: its place in the run; without one, the run's server clock where it is the
/// same clock, else its own first moment.
fn origin(w: &Weighed, clock: &ServerClock) -> i64 {
    let unplaced = if clock.offset_uncertainty_ns.is_none() && w.is_unix() { clock.origin_unix_ns } else { None };
    w.origin_ns.or(unplaced).or(w.first_ns()).unwrap_or(0)
}

/// The server's columns for each request of the client. Each column has one owner: the first recording that has it.
pub(crate) fn by_client_request(weighed: &[Weighed], clock: &ServerClock) -> Vec<Option<ServerColumns>> {
    let mut out: Vec<Option<ServerColumns>> = Vec::new();
    for w in weighed {
        let Some(joined) = &w.joined else { continue };
        out.resize(out.len().max(joined.server_of.len()), None);
        let origin_ns = origin(w, clock);
        for (client, server) in joined.pairs() {
            let row = out[client].get_or_insert_with(ServerColumns::default);
            fill(row, &w.requests[server], &|at| place(at, origin_ns, clock));
        }
    }
    out
}

/// Takes over what `row` does not have yet.
fn fill(row: &mut ServerColumns, r: &ServerRequest, place: &dyn Fn(i64) -> i64) {
    let time = |slot: &mut Option<i64>, value: Option<i64>| *slot = slot.or(value.map(place));
    time(&mut row.arrival_ns, r.arrival_ns);
    time(&mut row.queued_ns, r.queued_ns);
    time(&mut row.first_scheduled_ns, r.first_scheduled_ns);
    time(&mut row.server_first_token_ns, r.first_token_ns);
    time(&mut row.server_last_token_ns, r.last_token_ns);
    let duration = |slot: &mut Option<i64>, value: Option<i64>| *slot = slot.or(value);
    duration(&mut row.queue_ns, r.queue_ns);
    duration(&mut row.prefill_ns, r.prefill_ns);
    duration(&mut row.decode_ns, r.decode_ns);
    duration(&mut row.inference_ns, r.inference_ns);
    duration(&mut row.preempted_prefill_ns, r.preempted_prefill_ns);
    duration(&mut row.preempted_decode_ns, r.preempted_decode_ns);
    let count = |slot: &mut Option<u32>, value: Option<u32>| *slot = slot.or(value);
    count(&mut row.prompt_tokens, r.prompt_tokens);
    count(&mut row.cached_tokens, r.cached_tokens);
    count(&mut row.output_tokens, r.output_tokens);
    count(&mut row.requested_output_tokens, r.requested_output_tokens);
    count(&mut row.preemptions, r.preemptions);
    row.request_id = row.request_id.take().or_else(|| r.request_id.clone());
    row.finish_reason = row.finish_reason.take().or_else(|| r.finish_reason.clone());
}

/// A row of a run that has no client: what the server recorded, its times since the run's origin.
pub(crate) fn alone(r: &ServerRequest, place: &dyn Fn(i64) -> i64) -> ServerColumns {
    let mut row = ServerColumns::default();
    fill(&mut row, r, place);
    row.model = r.model.clone();
    row.error = r.error.clone();
    row.status = if r.error.is_some() { Status::Error } else { Status::Ok };
    row
}

/// Samples and events of all recordings, on the run's time.
pub(crate) fn write_series_and_events(
    weighed: &[Weighed],
    clock: &ServerClock,
    run: &mut Collected,
    recordings: &mut [Located],
) -> Result<(), IngestError> {
    let Collected { run, issues, .. } = run;
    let mut tables = run.server_tables();
    for w in weighed {
        let origin_ns = origin(w, clock);
        let recording = &mut recordings[w.position].recording;
        let file = recording.file.clone();
        let mut resets = Resets::default();
        recording.samples.drain(|at, series, labels, value| {
            resets.see(issues, &file, (series, labels), value);
            Ok(tables.push_sample(place(at, origin_ns, clock), series, labels, value, &file)?)
        })?;
        let client_of = client_of(w);
        for event in &recording.events {
            let id = event.request_id.as_deref();
            tables.push_event(EventRow {
                request: id.and_then(|id| client_of.get(id)).copied(),
                request_id: event.request_id.clone(),
                at_ns: place(event.at_ns, origin_ns, clock),
                kind: event.kind,
                phase: event.phase,
                detail: event.detail.clone(),
            })?;
        }
    }
    Ok(tables.finish()?)
}

/// Watches the counters that postrun understands for falls.
#[derive(Default)]
struct Resets {
    last: HashMap<(&'static str, Option<String>), f64>,
}

impl Resets {
    fn see(&mut self, issues: &mut Issues, file: &str, (series, labels): (&str, Option<&str>), value: f64) {
        let Some(known) = find_series(series).filter(|s| s.kind == SeriesKind::Counter) else { return };
        if let Some(before) = self.last.insert((known.name, labels.map(String::from)), value)
            && value < before
        {
            issues.add(
                IssueCode::CounterReset,
                || file.to_string(),
                || format!("{series} fell from {before} to {value}"),
            );
        }
    }
}

/// Keys of the client's requests by the server's id.
fn client_of(w: &Weighed) -> HashMap<&str, u32> {
    let pairs = w.joined.iter().flat_map(|j| j.pairs());
    let named = pairs.filter_map(|(client, server)| Some((w.requests[server].request_id.as_deref()?, client)));
    named.filter_map(|(id, client)| Some((id, u32::try_from(client).ok()?))).collect()
}
