//! Batch lines of an SGLang server's log, by the scheduler that wrote them.
//!
//! Each data-parallel rank has a scheduler of its own, and so has each server where a log holds several. Of the ranks
//! below one scheduler usually one reports; where several do, they say the same, and the first one counts.

use super::lines::{Report, Stamped, batch_values, pairs};
use super::spread::StampSpread;
use crate::error::IngestError;
use crate::server::recording::{ServerEvent, ServerSink};
use postrun_schema::{EventKind, IssueCode, counted, label_text};
use std::collections::BTreeMap;

const SECOND_NS: i64 = 1_000_000_000;

/// One scheduler: a process and data-parallel rank.
#[derive(Default)]
struct Group {
    spread: StampSpread,
    /// Ranks of the line that reports for it.
    reporter: Option<String>,
    retracts: Option<String>,
    retracted: u64,
    capacity_known: bool,
}

/// All schedulers of a log, by process and data-parallel rank.
#[derive(Default)]
pub(crate) struct Groups(BTreeMap<(String, String), Group>);

impl Groups {
    /// Takes what the scheduler says of its KV cache; all its ranks say so.
    pub(crate) fn capacity(
        &mut self,
        sink: &mut ServerSink,
        found: &Stamped<'_>,
        tokens: f64,
        at_ns: i64,
    ) -> Result<(), IngestError> {
        let group = self.group(found);
        if group.capacity_known {
            return Ok(());
        }
        group.capacity_known = true;
        group.spread.push(sink, at_ns, width(found), vec![("kv_cache_capacity_tokens".into(), tokens)])
    }

    /// The server starts again, perhaps with other ranks.
    pub(crate) fn restart(&mut self, sink: &mut ServerSink) -> Result<(), IngestError> {
        self.flush(sink)?;
        for group in self.0.values_mut() {
            (group.reporter, group.retracts, group.capacity_known) = (None, None, false);
        }
        Ok(())
    }

    /// Hands over what waits.
    pub(crate) fn flush(&mut self, sink: &mut ServerSink) -> Result<(), IngestError> {
        self.0.values_mut().try_for_each(|group| group.spread.flush(sink))
    }

    fn group(&mut self, found: &Stamped<'_>) -> &mut Group {
        let (pid, dp) = (found.pid.unwrap_or_default(), found.dp.unwrap_or_default());
        self.0.entry((pid.to_string(), dp.to_string())).or_insert_with(|| {
            let labels = label_text([("dp", dp), ("pid", pid)].into_iter().filter(|(_, value)| !value.is_empty()));
            Group { spread: StampSpread::new(labels), ..Group::default() }
        })
    }

    pub(crate) fn batch(
        &mut self,
        sink: &mut ServerSink,
        found: &Stamped<'_>,
        (kind, text): (Report, &str),
        at_ns: i64,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        let group = self.group(found);
        if group.reporter.get_or_insert_with(|| found.ranks.to_string()) != found.ranks {
            sink.issue(IssueCode::DuplicateSample, place, || format!("a batch once more, by rank {}", found.ranks));
            return Ok(());
        }
        let (mut values, bad) = batch_values(kind, text);
        if bad > 0 {
            sink.issue(IssueCode::WrongType, place, || {
                format!("{} of a batch line that cannot be counts", counted(bad, "value"))
            });
        }
        values.push(("preemptions_total".into(), group.retracted as f64));
        group.spread.push(sink, at_ns, width(found), values)
    }

    pub(crate) fn retraction(
        &mut self,
        sink: &mut ServerSink,
        found: &Stamped<'_>,
        text: &str,
        at_ns: i64,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        let group = self.group(found);
        // Every rank prints it; the rank that reports the batches speaks for all.
        let first = group.retracts.get_or_insert_with(|| found.ranks.to_string());
        if group.reporter.as_ref().unwrap_or(first) != found.ranks {
            return Ok(());
        }
        let count = pairs(text).find(|(key, _)| *key == "#retracted_reqs").and_then(|(_, n)| n.parse::<u32>().ok());
        let Some(count) = count else {
            sink.skip(IssueCode::BadRecord, place, || "a retraction without its number of requests".to_string());
            return Ok(());
        };
        group.retracted += u64::from(count);
        let values = vec![("preemptions_total".into(), group.retracted as f64)];
        group.spread.push(sink, at_ns, width(found), values)?;
        let detail = Some(text.trim().to_string());
        sink.event(ServerEvent { at_ns, request_id: None, kind: EventKind::Preempted, phase: Some("decode"), detail });
        Ok(())
    }
}

fn width(found: &Stamped<'_>) -> i64 {
    if found.fine { SECOND_NS / 1000 } else { SECOND_NS }
}
