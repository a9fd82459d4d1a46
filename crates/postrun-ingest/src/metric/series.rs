//! The series of a file of metrics: what each is called here, computed once for each name with its labels.

use super::exposition::RawSeries;
use super::moments::{Moments, Seen};
use super::names::{self, Family, Rule};
use crate::error::IngestError;
use crate::limits::{MOST_SERIES, SERIES_TEXT_BYTES};
use crate::server::recording::ServerSink;
use crate::server::spool::TrackId;
use postrun_schema::{IssueCode, Series, find_series, label_text};
use std::collections::HashMap;

/// NVIDIA's tools write numbers from here on where a device has no such value.
const DCGM_BLANK_32: std::ops::Range<f64> = 2_147_483_632.0..2_147_483_648.0;
const DCGM_BLANK_64: f64 = 140_737_488_355_328.0;

/// Index of a series of the source in a [`SeriesTable`].
pub(crate) type EntryId = usize;
/// Stands for every series beyond the limit: nothing is kept of it.
const LEFT_OUT: EntryId = usize::MAX;

/// All series seen so far.
#[derive(Default)]
pub(crate) struct SeriesTable {
    entries: Vec<Entry>,
    text_bytes: usize,
    by_text: HashMap<Box<str>, EntryId>,
    targets: Vec<TargetSeries>,
    by_track: HashMap<TrackId, usize>,
    moments: Moments,
    /// The entry that stood behind the last one before: scrapes repeat themselves.
    expected: EntryId,
}

struct Entry {
    text: Box<str>,
    /// Indices into `targets`, with the factor to its unit.
    targets: Vec<(usize, f64)>,
    /// Still to be told, with its first value that is not zero.
    fact: Option<&'static str>,
    kind: EntryKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Value,
    Dcgm,
    /// `…_created`: a point in time, no value of a series.
    Created,
    /// Its labels are settings; its value says nothing.
    Settings,
}

/// A series as it is stored.
struct TargetSeries {
    series: String,
    track: TrackId,
    /// The canonical series that it is.
    known: Option<&'static Series>,
    seen: Seen,
    /// The source's series that it was made for; another one that maps to it is an older spelling.
    owner: EntryId,
}

impl SeriesTable {
    /// The entry that `line` starts with, if it is the one that followed last time; and the rest of the line.
    pub(crate) fn expected<'l>(&mut self, line: &'l str) -> Option<(EntryId, &'l str)> {
        let entry = self.entries.get(self.expected)?;
        let rest = line.strip_prefix(&*entry.text).filter(|rest| rest.starts_with([' ', '\t']))?;
        self.expected += 1;
        Some((self.expected - 1, rest))
    }

    /// The entry of this text; `describe` takes it apart the first time. `None`: it could not.
    pub(crate) fn entry(
        &mut self,
        text: &str,
        sink: &mut ServerSink,
        describe: impl FnOnce() -> Option<RawSeries>,
    ) -> Option<EntryId> {
        let id = match self.by_text.get(text) {
            Some(id) => *id,
            None if self.entries.len() >= MOST_SERIES || self.text_bytes + text.len() > SERIES_TEXT_BYTES => {
                let place = || format!("after {} series", self.entries.len());
                sink.issue(IssueCode::TooManySeries, place, || format!("{text:.60}"));
                return Some(LEFT_OUT);
            }
            None => {
                let raw = describe()?;
                self.text_bytes += text.len();
                let entry = self.new_entry(text, &raw, sink);
                self.entries.push(entry);
                self.by_text.insert(text.into(), self.entries.len() - 1);
                self.entries.len() - 1
            }
        };
        self.expected = id + 1;
        Some(id)
    }

    fn new_entry(&mut self, text: &str, raw: &RawSeries, sink: &mut ServerSink) -> Entry {
        let family = names::family(&raw.name);
        if let Some(server) = family.and_then(|f| f.server) {
            sink.server(server, None);
            if let Some(model) = raw.label("model_name").or_else(|| raw.label("model")).filter(|m| !m.is_empty()) {
                sink.fact("model", model);
                sink.served_model(model);
            }
        }
        let is_settings = family.is_some() && raw.name.ends_with("cache_config_info");
        if is_settings {
            cache_settings(raw, sink);
        }
        let kind = match raw.name.as_str() {
            _ if is_settings => EntryKind::Settings,
            name if name.ends_with("_created") => EntryKind::Created,
            name if name.starts_with("DCGM_") => EntryKind::Dcgm,
            _ => EntryKind::Value,
        };
        let rules: Vec<&Rule> = family.map(|f: &'static Family| f.rules_for(raw).collect()).unwrap_or_default();
        let id = self.entries.len();
        let canonical = rules.iter().filter(|r| !r.series.is_empty());
        let mut targets: Vec<(usize, f64)> =
            canonical.map(|r| (self.target(sink, r.series, raw, r.mark, id), r.factor)).collect();
        if targets.is_empty() {
            targets.push((self.target(sink, &raw.name, raw, None, id), 1.0));
        }
        Entry { text: text.into(), targets, fact: rules.iter().find_map(|r| r.fact), kind }
    }

    fn target(
        &mut self,
        sink: &mut ServerSink,
        series: &str,
        raw: &RawSeries,
        mark: Option<(&str, &str)>,
        owner: EntryId,
    ) -> usize {
        let labels = raw.labels.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let labels = label_text(labels.chain(mark));
        let track = sink.track(series, labels.as_deref());
        if let Some(at) = self.by_track.get(&track) {
            return *at;
        }
        let seen = Seen::default();
        self.targets.push(TargetSeries { series: series.to_string(), track, known: find_series(series), seen, owner });
        self.by_track.insert(track, self.targets.len() - 1);
        self.targets.len() - 1
    }

    /// Tells the fact that the value of this entry is, if it is one.
    pub(crate) fn tell_fact(&mut self, id: EntryId, value: f64, sink: &mut ServerSink) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        if value > 0.0 && value.is_finite() {
            entry.fact.take().into_iter().for_each(|fact| sink.fact(fact, format!("{value}")));
        }
    }

    /// True where the entry has no values that belong to a moment.
    pub(crate) fn is_timeless(&self, id: EntryId) -> bool {
        self.entries.get(id).is_some_and(|e| matches!(e.kind, EntryKind::Created | EntryKind::Settings))
    }

    /// Stores a value of an entry, in every series it belongs to.
    pub(crate) fn write(
        &mut self,
        id: EntryId,
        at_ns: i64,
        value: f64,
        sink: &mut ServerSink,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        let Some(entry) = self.entries.get_mut(id) else { return Ok(()) };
        let blank = |v: f64| DCGM_BLANK_32.contains(&v) || v >= DCGM_BLANK_64;
        match entry.kind {
            EntryKind::Created | EntryKind::Settings => return Ok(()),
            EntryKind::Dcgm if blank(value) => return Ok(()),
            _ if value.is_nan() => return Ok(()),
            _ => {}
        }
        if value.is_infinite() {
            sink.issue(IssueCode::NonFiniteValue, place, || format!("{} {value}", entry.text));
            return Ok(());
        }
        if value > 0.0 {
            entry.fact.take().into_iter().for_each(|fact| sink.fact(fact, format!("{value}")));
        }
        for (target, factor) in &entry.targets {
            let Some(target) = self.targets.get_mut(*target) else { continue };
            let converted = value * factor;
            if !converted.is_finite() || target.known.is_some_and(|known| !known.admits(converted)) {
                // vLLM writes -1 for the hit rate of a cache that is switched off.
                if converted != -1.0 || target.series != "prefix_cache_hit_rate" {
                    sink.out_of_range(&target.series, value, place);
                }
                continue;
            }
            if !self.moments.first_time(&mut target.seen, at_ns) {
                if target.owner == id {
                    sink.issue(IssueCode::DuplicateSample, place, || entry.text.to_string());
                }
                continue;
            }
            sink.value(at_ns, target.track, converted)?;
        }
        Ok(())
    }
}

/// Turns the labels of vLLM's `cache_config_info` into facts.
fn cache_settings(raw: &RawSeries, sink: &mut ServerSink) {
    let said = |key: &str| raw.label(key).filter(|v| !v.is_empty() && *v != "None");
    for (key, _) in &raw.labels {
        let names_no_setting =
            matches!(key.as_str(), "engine" | "model_name" | "instance" | "job" | "pod" | "namespace");
        if let Some(value) = said(key).filter(|_| !names_no_setting && !key.starts_with('_')) {
            let fact = if key == "kv_cache_size_tokens" { "kv_cache_capacity_tokens" } else { key };
            sink.fact(fact, value);
        }
    }
    let number = |key| said(key).and_then(|v| v.parse::<u64>().ok());
    if let (Some(blocks), Some(size), None) =
        (number("num_gpu_blocks"), number("block_size"), said("kv_cache_size_tokens"))
    {
        blocks.checked_mul(size).into_iter().for_each(|t| sink.fact("kv_cache_capacity_tokens", t.to_string()));
    }
}
