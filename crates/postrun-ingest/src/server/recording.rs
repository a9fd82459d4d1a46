//! What a file of the server's side gives: samples, events, facts about requests, settings. Times are still on the
//! file's own clock; [`super::merge`] places them in a run.

use super::spool::{SampleSpool, TrackId};
use crate::error::IngestError;
use crate::input::source::Source;
use crate::limits::{MOST_SERIES, MOST_SERVER_RECORDS, MOST_SETTINGS};
use crate::text::lines::Line;
use crate::text::stamp::StampClock;
use postrun_schema::{EventKind, IssueCode, Issues};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the server recorded of one request. Points in time are on the file's clock, durations are durations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerRequest {
    pub request_id: Option<String>,
    pub model: Option<String>,
    pub arrival_ns: Option<i64>,
    pub queued_ns: Option<i64>,
    pub first_scheduled_ns: Option<i64>,
    pub first_token_ns: Option<i64>,
    pub last_token_ns: Option<i64>,
    pub queue_ns: Option<i64>,
    pub prefill_ns: Option<i64>,
    pub decode_ns: Option<i64>,
    pub inference_ns: Option<i64>,
    pub preempted_prefill_ns: Option<i64>,
    pub preempted_decode_ns: Option<i64>,
    pub prompt_tokens: Option<u32>,
    pub cached_tokens: Option<u32>,
    pub output_tokens: Option<u32>,
    pub requested_output_tokens: Option<u32>,
    pub preemptions: Option<u32>,
    pub finish_reason: Option<String>,
    /// The server gave it up or failed on it.
    pub error: Option<String>,
}

/// Something that happened at a moment; a request is named by the server's id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerEvent {
    pub at_ns: i64,
    pub request_id: Option<String>,
    pub kind: EventKind,
    /// `prefill` or `decode`.
    pub phase: Option<&'static str>,
    pub detail: Option<String>,
}

/// Everything one file of the server's side holds.
pub(crate) struct Recording {
    /// Base name of the file.
    pub file: String,
    pub format: &'static str,
    pub clock: StampClock,
    /// Stamps are cut to this; a second for most logs.
    pub resolution_ns: i64,
    pub samples: SampleSpool,
    pub events: Vec<ServerEvent>,
    pub requests: Vec<ServerRequest>,
    /// Settings and facts of the server, `max_num_seqs` → `16`.
    pub facts: BTreeMap<String, String>,
    pub server_name: Option<String>,
    pub server_version: Option<String>,
    /// Names under which it served its models; where they were loaded from is none of them.
    pub served_models: BTreeSet<String>,
    pub issues: Issues,
    /// Records left out.
    pub skipped: u64,
    /// The first problem, to say when nothing was usable.
    pub first_problem: Option<String>,
    /// Size and hash of the file as it lay on disk.
    pub bytes: u64,
    pub sha256: String,
}

/// A recording of the server's side, and where its file lay.
pub(crate) struct Located {
    pub recording: Recording,
    pub file: usize,
    pub group: PathBuf,
    pub label: String,
}

/// Names of models kept: enough for a server with adapters.
const MOST_MODELS: usize = 1000;

/// Collects what an ingestor finds in one file of the server's side.
pub struct ServerSink {
    pub(crate) recording: Recording,
    pub(crate) name: String,
    /// [`MOST_SERVER_RECORDS`], of requests and of events.
    most_records: usize,
}

impl ServerSink {
    pub(crate) fn create(source: &Source, format: &'static str, dir: &Path) -> Result<ServerSink, IngestError> {
        let recording = Recording {
            file: source.base_name.clone(),
            format,
            clock: StampClock::Unix,
            resolution_ns: 0,
            samples: SampleSpool::create(dir)?,
            events: Vec::new(),
            requests: Vec::new(),
            facts: BTreeMap::new(),
            server_name: None,
            server_version: None,
            served_models: BTreeSet::new(),
            issues: Issues::default(),
            skipped: 0,
            first_problem: None,
            bytes: 0,
            sha256: String::new(),
        };
        Ok(ServerSink { recording, name: source.name.clone(), most_records: MOST_SERVER_RECORDS })
    }

    /// Says how this file's times are to be read; Unix time unless said otherwise.
    pub(crate) fn clock(&mut self, clock: StampClock, resolution_ns: i64) {
        self.recording.clock = clock;
        self.recording.resolution_ns = resolution_ns;
    }

    /// A value of a series. `series` is one of [`postrun_schema::SERIES`] where the quantity has such a name, else the
    /// source's own; `labels` as [`postrun_schema::label_text`] makes them. NaN is not a value and is passed over.
    pub(crate) fn sample(
        &mut self,
        at_ns: i64,
        series: &str,
        labels: Option<&str>,
        value: f64,
    ) -> Result<(), IngestError> {
        let track = self.track(series, labels);
        self.value(at_ns, track, value)
    }

    /// What many values of one series and label set are stored under, so that neither is looked at again.
    pub(crate) fn track(&mut self, series: &str, labels: Option<&str>) -> TrackId {
        self.recording.samples.track(series, labels).unwrap_or_else(|| {
            let place = || format!("after {MOST_SERIES} series");
            self.issue(IssueCode::TooManySeries, place, || format!("{series:.60}"));
            TrackId::LEFT_OUT
        })
    }

    /// A value of a track. NaN is not a value and is passed over; a value that its series cannot have is counted.
    pub(crate) fn value(&mut self, at_ns: i64, track: TrackId, value: f64) -> Result<(), IngestError> {
        if value.is_nan() {
            return Ok(());
        }
        if let Some(known) = self.recording.samples.known(track).filter(|known| !known.admits(value)) {
            let place = || format!("{} at {:.3} s of the file's clock", known.name, at_ns as f64 / 1e9);
            self.out_of_range(known.name, value, place);
            return Ok(());
        }
        self.recording.samples.push(at_ns, track, value)
    }

    /// Counts a value that its series cannot have.
    pub(crate) fn out_of_range(&mut self, series: &str, value: f64, place: impl FnOnce() -> String) {
        self.issue(IssueCode::OutOfRange, place, || match value.abs() < 1e15 {
            true => format!("{series} = {value}"),
            false => format!("{series} = {value:e}"),
        });
    }

    pub(crate) fn event(&mut self, event: ServerEvent) {
        match self.recording.events.len() < self.most_records {
            true => self.recording.events.push(event),
            false => self.left_out("event"),
        }
    }

    pub(crate) fn request(&mut self, request: ServerRequest) {
        match self.recording.requests.len() < self.most_records {
            true => self.recording.requests.push(request),
            false => self.left_out("request"),
        }
    }

    fn left_out(&mut self, kind: &str) {
        self.recording.skipped += 1;
        self.issue(IssueCode::TooManyRecords, || "its last part".to_string(), || format!("the next {kind}"));
    }

    /// A setting or fact of the server; the first value of a key stays. Python's `True` is `true`.
    pub(crate) fn fact(&mut self, key: &str, value: impl Into<String>) {
        let plain = |value: String| match value.as_str() {
            "True" => "true".to_string(),
            "False" => "false".to_string(),
            _ => value,
        };
        if self.recording.facts.len() >= MOST_SETTINGS && !self.recording.facts.contains_key(key) {
            return self.left_out("setting");
        }
        self.recording.facts.entry(key.to_string()).or_insert_with(|| plain(value.into()));
    }

    /// A name under which the server served a model.
    pub(crate) fn served_model(&mut self, name: &str) {
        if !name.is_empty() && self.recording.served_models.len() < MOST_MODELS {
            self.recording.served_models.insert(name.to_string());
        }
    }

    /// Name and version of the server, where the file tells.
    pub(crate) fn server(&mut self, name: &str, version: Option<String>) {
        self.recording.server_name.get_or_insert_with(|| name.to_string());
        if self.recording.server_version.is_none() {
            self.recording.server_version = version;
        }
    }

    /// Counts an issue; `place` is the place inside the file, `line 12, byte 3400`.
    pub(crate) fn issue(&mut self, code: IssueCode, place: impl FnOnce() -> String, example: impl FnOnce() -> String) {
        self.issue_many(code, 1, place, example);
    }

    /// The same, `count` times over.
    pub(crate) fn issue_many(
        &mut self,
        code: IssueCode,
        count: u64,
        place: impl FnOnce() -> String,
        example: impl FnOnce() -> String,
    ) {
        let file = &self.name;
        self.recording.issues.add_many(code, count, || format!("{file}: {}", place()), example);
    }

    /// Counts what is wrong with a line as such, whatever it says.
    pub(crate) fn judge_line(&mut self, line: &Line<'_>) {
        let example = || format!("{:.60}", line.text);
        if line.shortened {
            self.issue(IssueCode::LongLine, || line.place(), example);
        }
        if line.text.contains(char::REPLACEMENT_CHARACTER) {
            self.issue(IssueCode::NotUtf8, || line.place(), example);
        }
    }

    /// Counts a record that was left out, with the issue that says why.
    pub(crate) fn skip(&mut self, code: IssueCode, place: impl FnOnce() -> String, example: impl FnOnce() -> String) {
        self.recording.skipped += 1;
        if self.recording.first_problem.is_some() {
            return self.issue(code, place, example);
        }
        let (place, example) = (place(), example());
        self.recording.first_problem = Some(format!("{place}: {example}"));
        self.issue(code, || place, || example);
    }

    /// Completes the recording of a file that was read to its end. A file with nothing in it is an error.
    pub(crate) fn close(mut self, source: &Source) -> Result<Recording, IngestError> {
        let named = self.recording.facts.get("served_model_name").cloned();
        // A list of names is text here, and not taken apart.
        named.filter(|name| !name.starts_with('[')).iter().for_each(|name| self.served_model(name));
        let mut r = self.recording;
        if r.samples.is_empty() && r.events.is_empty() && r.requests.is_empty() && r.facts.is_empty() {
            let problem = r.first_problem.unwrap_or_else(|| "no value, event or request in it".to_string());
            return Err(IngestError::NothingUsable { file: self.name, format: r.format, problem });
        }
        (r.bytes, r.sha256) = source.size_and_hash(std::io::empty())?;
        Ok(r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::source::{Input, Watch};

    fn sink() -> (ServerSink, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        std::fs::write(&path, "a line\n").unwrap();
        let source = Source::open(&Input::Path(path), Watch::default()).unwrap();
        (ServerSink::create(&source, "a_log", &dir.path().join("spool")).unwrap(), dir)
    }

    #[test]
    fn requests_and_events_beyond_the_limit_are_left_out_and_counted() {
        let (mut sink, _dir) = sink();
        assert_eq!(sink.most_records, MOST_SERVER_RECORDS);
        // As many as the limit admits would take more than a gigabyte.
        sink.most_records = 3;
        for i in 0..5 {
            sink.request(ServerRequest { request_id: Some(i.to_string()), ..ServerRequest::default() });
            let kind = EventKind::Arrived;
            sink.event(ServerEvent { at_ns: i, request_id: None, kind, phase: None, detail: None });
        }
        let recording = sink.recording;
        let ids: Vec<_> = recording.requests.iter().filter_map(|r| r.request_id.as_deref()).collect();
        assert_eq!((ids, recording.events.len()), (vec!["0", "1", "2"], 3));
        // Those that came first stay; each of the others is counted, and said to be missing.
        assert_eq!((recording.skipped, recording.issues.count(IssueCode::TooManyRecords)), (4, 4));
    }

    #[test]
    fn of_many_settings_the_first_stay() {
        let (mut sink, _dir) = sink();
        (0..MOST_SETTINGS + 2).for_each(|i| sink.fact(&format!("key{i}"), "1"));
        // One that is there already takes no further place, and stays what it was.
        sink.fact("key0", "2");
        let recording = sink.recording;
        assert_eq!((recording.facts.len(), recording.issues.count(IssueCode::TooManyRecords)), (MOST_SETTINGS, 2));
        assert_eq!(recording.facts["key0"], "1");
    }
}
