//! What recordings of the server's side add to a run: columns of its requests, events and samples on the run's time, and
//! its manifest.

use super::evidence::{Evidence, Weighed};
use super::join::JoinRule;
use super::recording::{Located, Recording, ServerRequest};
use super::spool::{Track, TrackId};
use crate::error::IngestError;
use crate::sink::Collected;
use postrun_schema::{EventRow, IssueCode, Issues, SeriesKind, ServerClock, ServerColumns, SourceFile, Status};
use std::collections::HashMap;

/// A time of a recording's clock as time since the run's origin. Drift is taken out.
fn place(at_ns: i64, origin_ns: i64, drift_ppm: Option<f64>) -> i64 {
    let since = at_ns.saturating_sub(origin_ns);
    match drift_ppm {
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
fn by_client_request(weighed: &[Weighed], clock: &ServerClock) -> Vec<Option<ServerColumns>> {
    let mut out: Vec<Option<ServerColumns>> = Vec::new();
    for w in weighed {
        let Some(joined) = &w.joined else { continue };
        out.resize(out.len().max(joined.server_of.len()), None);
        let (origin_ns, drift_ppm) = (origin(w, clock), w.drift_ppm(clock));
        for (client, server) in joined.pairs() {
            let row = out[client].get_or_insert_with(ServerColumns::default);
            fill(row, &w.requests[server], &|at| place(at, origin_ns, drift_ppm));
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

/// Writes what belongs to the run into its tables and manifest; returns the positions of the recordings used.
pub(crate) fn write(
    mut evidence: Evidence,
    run: &mut Collected,
    recordings: &mut [Located],
) -> Result<Vec<usize>, IngestError> {
    let clock = evidence.settle();
    let Some(clock) = clock else { return Ok(Vec::new()) };
    let alone = evidence.alone;
    if !alone {
        count_unaligned(&evidence.weighed, &clock, recordings, run);
    }
    if let Some(against) = evidence.against_user() {
        run.issues.add(IssueCode::ClockOffsetRefuted, || "--clock-offset".to_string(), || against);
    }
    let facts = by_client_request(&evidence.weighed, &clock);
    if facts.iter().any(Option::is_some) {
        run.run.fill_requests(|key| facts.get(key as usize).and_then(Option::as_ref))?;
    }
    write_series_and_events(&evidence.weighed, &clock, run, recordings)?;
    // Settings of a file that is known to be the run's come before those of one that may be another server's.
    for proven in [true, false] {
        for w in evidence.weighed.iter().filter(|w| w.is_proven() == proven) {
            settings(&recordings[w.position].recording, run);
        }
    }
    let mut used = Vec::new();
    for w in &evidence.weighed {
        let recording = &recordings[w.position].recording;
        if !alone {
            count_joins(w, recording, evidence.trace.requests.len(), &mut run.issues);
            doubts(w, &recording.file, &mut run.issues);
        }
        run.issues.extend(recording.issues.clone());
        describe(recording, w.origin_ns.is_some(), run);
        used.push(w.position);
    }
    run.run.manifest.clocks.server = Some(clock);
    Ok(used)
}

/// Says of which files the times are not known: of all, or of some beside others that are aligned.
fn count_unaligned(weighed: &[Weighed], clock: &ServerClock, recordings: &[Located], run: &mut Collected) {
    if clock.offset_uncertainty_ns.is_none() {
        return run.issues.add(IssueCode::ClockNotAligned, || run.label.clone(), || clock.how.clone());
    }
    for w in weighed.iter().filter(|w| w.origin_ns.is_none()) {
        let recording = &recordings[w.position].recording;
        let why = || "nothing places this file in the run; its figures are over the whole of it".to_string();
        if !recording.samples.is_empty() {
            run.issues.add(IssueCode::ClockNotAligned, || recording.file.clone(), why);
        }
    }
}

fn count_joins(w: &Weighed, recording: &Recording, clients: usize, issues: &mut Issues) {
    let Some(joined) = &w.joined else {
        if !w.requests.is_empty() {
            let (n, file) = (w.requests.len() as u64, &recording.file);
            let why = || "no id in common, and order and prompt lengths do not fit".to_string();
            issues.add_many(IssueCode::ServerRequestNotJoined, n, || file.clone(), why);
        }
        return;
    };
    let (n, file) = (joined.count(), || recording.file.clone());
    let of = |n: usize, all: usize| format!("{n} of {all}");
    let lost = clients - n;
    issues.add_many(IssueCode::ClientRequestNotJoined, lost as u64, file, || of(lost, clients));
    let others = w.requests.len().saturating_sub(n);
    issues.add_many(IssueCode::ServerRequestNotJoined, others as u64, file, || of(others, w.requests.len()));
    issues.add_many(IssueCode::JoinDisagrees, joined.disagreeing, file, || of(joined.disagreeing as usize, n));
    if joined.rule == JoinRule::Order {
        issues.add_many(IssueCode::JoinedByOrder, n as u64, file, || of(n, clients));
    }
}

/// What speaks against a file's place in the run.
fn doubts(w: &Weighed, file: &str, issues: &mut Issues) {
    let at = || file.to_string();
    if let Some(models) = &w.other_model {
        issues.add(IssueCode::OtherModel, at, || models.clone());
    }
    if w.ambiguous {
        issues.add(IssueCode::AmbiguousRecording, at, || "two stretches of it fit the run about as well".to_string());
    }
}

/// Takes over the settings and the server's name that no file gave before.
fn settings(recording: &Recording, run: &mut Collected) {
    let manifest = &mut run.run.manifest;
    for (key, value) in &recording.facts {
        let known = manifest.server.entry(key.clone()).or_insert_with(|| value.clone());
        // A model has a name it is served under and a place it was loaded from.
        if known != value && key != "model" {
            let both = format!("{key}: {known} and {value}");
            run.issues.add(IssueCode::DoubleFact, || recording.file.clone(), || both);
        }
    }
    for (key, value) in [("name", &recording.server_name), ("version", &recording.server_version)] {
        if let Some(value) = value {
            manifest.server.entry(key.to_string()).or_insert_with(|| value.clone());
        }
    }
}

/// Enters the file in the manifest.
fn describe(recording: &Recording, aligned: bool, run: &mut Collected) {
    let records = recording.samples.len() + (recording.events.len() + recording.requests.len()) as u64;
    run.run.manifest.sources.push(SourceFile {
        name: recording.file.clone(),
        bytes: recording.bytes,
        sha256: recording.sha256.clone(),
        format: recording.format.to_string(),
        run_in_file: 0,
        records,
        skipped: recording.skipped,
        aligned: Some(aligned),
    });
}

/// Samples and events of all recordings, on the run's time.
fn write_series_and_events(
    weighed: &[Weighed],
    clock: &ServerClock,
    run: &mut Collected,
    recordings: &mut [Located],
) -> Result<(), IngestError> {
    let Collected { run, issues, .. } = run;
    let mut tables = run.server_tables();
    for w in weighed {
        let (origin_ns, drift_ppm) = (origin(w, clock), w.drift_ppm(clock));
        let recording = &mut recordings[w.position].recording;
        let file = recording.file.clone();
        let mut resets = Resets::default();
        recording.samples.drain(|at, id, track, value| {
            resets.see(issues, &file, (id, track), (at, value));
            let at_ns = place(at, origin_ns, drift_ppm);
            Ok(tables.push_sample(at_ns, &track.series, track.labels.as_deref(), value, &file)?)
        })?;
        let client_of = client_of(w);
        for event in &recording.events {
            let id = event.request_id.as_deref();
            tables.push_event(EventRow {
                request: id.and_then(|id| client_of.get(id)).copied(),
                request_id: event.request_id.clone(),
                at_ns: place(event.at_ns, origin_ns, drift_ppm),
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
    /// The latest value of each track, with its time.
    last: Vec<Option<(i64, f64)>>,
}

impl Resets {
    fn see(&mut self, issues: &mut Issues, file: &str, (id, track): (TrackId, &Track), (at_ns, value): (i64, f64)) {
        if track.known.is_none_or(|series| series.kind != SeriesKind::Counter) {
            return;
        }
        self.last.resize(self.last.len().max(id.index() + 1), None);
        let Some(last) = self.last.get_mut(id.index()) else { return };
        // A value from before is no fall: the file is out of order.
        if last.is_some_and(|(latest_ns, _)| at_ns < latest_ns) {
            return;
        }
        if let Some((_, before)) = last.replace((at_ns, value))
            && value < before
        {
            let fall = || format!("{} fell from {before} to {value}", track.series);
            issues.add(IssueCode::CounterReset, || file.to_string(), fall);
        }
    }
}

/// Keys of the client's requests by the server's id.
fn client_of(w: &Weighed) -> HashMap<&str, u32> {
    let pairs = w.joined.iter().flat_map(|j| j.pairs());
    let named = pairs.filter_map(|(client, server)| Some((w.requests[server].request_id.as_deref()?, client)));
    named.filter_map(|(id, client)| Some((id, u32::try_from(client).ok()?))).collect()
}
