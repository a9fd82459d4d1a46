//! llama.cpp's tasks: from a slot's start to its times and its release.

use super::line::Told;
use crate::error::IngestError;
use crate::server::recording::{ServerRequest, ServerSink};
use crate::text::lines::Line;
use crate::text::number::{decimal_scaled, number};
use postrun_schema::{IssueCode, label_text};
use std::collections::{BTreeSet, HashMap};

/// Process, slot and task.
type Key = (u32, i64, i64);

#[derive(Default)]
pub(super) struct Tasks {
    list: Vec<Task>,
    position: HashMap<Key, usize>,
    busy: BTreeSet<(u32, i64)>,
    /// The task whose times follow in lines of their own, by process.
    open: HashMap<u32, usize>,
    drafted: u64,
    accepted: u64,
}

#[derive(Default)]
struct Task {
    request: ServerRequest,
    computed_prompt: Option<u32>,
    whole_prompt: Option<u32>,
    tokens_at_release: Option<u32>,
    context_cut: bool,
    drafts: bool,
    printed_ns: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Prefill,
    Decode,
    Total,
}

impl Tasks {
    pub(super) fn read(
        &mut self,
        told: &Told<'_>,
        at_ns: Option<i64>,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let message = told.message.as_ref();
        match told.slot {
            Some((_, task)) if task < 0 => {}
            Some((slot, task)) => {
                let key = (told.instance, slot, task);
                self.of_slot(key, told, at_ns, sink)?;
                self.timing(Some(key), message, at_ns, line, sink);
            }
            None => {
                if let Some(message) = message.strip_prefix("print_timings: ") {
                    self.oldest(message, at_ns, line, sink);
                } else if self.open.contains_key(&told.instance) {
                    self.continued(told.instance, message, at_ns, line, sink);
                }
                if let Some((_, task)) = message.split_once("cancel task, id_task = ") {
                    self.cancelled(told.instance, task);
                }
            }
        }
        Ok(())
    }

    fn of_slot(
        &mut self,
        key: Key,
        told: &Told<'_>,
        at_ns: Option<i64>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let message = told.message.as_ref();
        if told.function == "print_timing" && message.is_empty() {
            let at = self.task(key);
            self.open.insert(key.0, at);
        } else if message.starts_with("processing task") {
            self.task(key);
            self.busy.insert((key.0, key.1));
            self.running(at_ns, sink)?;
        } else if message.starts_with("stop processing") || message == "slot released" {
            let length = value_of(message, "n_tokens = ").or_else(|| value_of(message, "n_past = "));
            let length = length.or_else(|| told.key("n_past").and_then(|n| u32::try_from(n).ok()));
            let cut = value_of(message, "truncated = ").or_else(|| told.key("truncated").map(|t| u32::from(t != 0)));
            let json_cut = told.keys.as_ref().and_then(|k| k.get("truncated")?.as_bool()).unwrap_or(false);
            if let Some(task) = self.at(key) {
                task.tokens_at_release = length;
                task.context_cut = json_cut || cut.is_some_and(|cut| cut != 0);
            }
            self.busy.remove(&(key.0, key.1));
            self.running(at_ns, sink)?;
        } else if message.starts_with("new prompt") {
            let whole = value_of(message, "task.n_tokens = ").or_else(|| value_of(message, "n_prompt_tokens = "));
            if let Some(task) = self.at(key) {
                task.whole_prompt = whole;
            }
        } else if message.starts_with("draft acceptance") {
            self.drafts(key, message, at_ns, sink)?;
        }
        Ok(())
    }

    fn drafts(
        &mut self,
        key: Key,
        message: &str,
        at_ns: Option<i64>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let Some((_, counts)) = message.split_once('(') else { return Ok(()) };
        let (accepted, generated) = counts.split_once(" accepted / ").unwrap_or_default();
        let accepted = accepted.trim().parse::<u32>();
        let generated = generated.split_once(" generated").map_or("", |(n, _)| n).trim().parse::<u32>();
        if let (Ok(accepted), Ok(generated)) = (accepted, generated) {
            self.accepted = self.accepted.saturating_add(u64::from(accepted));
            self.drafted = self.drafted.saturating_add(u64::from(generated));
            if let Some(task) = self.at(key) {
                task.drafts = true;
            }
        }
        let length = message.split_once("mean len = ").and_then(|(_, n)| n.trim().parse::<f64>().ok());
        if let Some((at_ns, length)) = at_ns.zip(length).filter(|(_, length)| length.is_finite() && *length >= 0.0) {
            let label = label_text([("slot", key.1.to_string().as_str())]);
            sink.sample(at_ns, "spec_decode_acceptance_length", label.as_deref(), length)?;
        }
        Ok(())
    }

    fn running(&self, at_ns: Option<i64>, sink: &mut ServerSink) -> Result<(), IngestError> {
        match at_ns {
            Some(at_ns) => sink.sample(at_ns, "running", None, self.busy.len() as f64),
            None => Ok(()),
        }
    }

    /// Lines that carry a time but no slot, behind the line that named it.
    fn continued(&mut self, instance: u32, message: &str, at_ns: Option<i64>, line: &Line<'_>, sink: &mut ServerSink) {
        let Some((span, ..)) = timing(message) else { return };
        let Some(at) = self.open.get(&instance).copied() else { return };
        self.set(at, message, at_ns, line, sink);
        if span == Span::Total {
            self.open.remove(&instance);
        }
    }

    /// The oldest form names no slot: each prompt time begins another request.
    fn oldest(&mut self, message: &str, at_ns: Option<i64>, line: &Line<'_>, sink: &mut ServerSink) {
        match timing(message) {
            Some((Span::Prefill, ..)) => {
                self.list.push(Task::default());
                self.open.insert(0, self.list.len() - 1);
            }
            Some(_) if self.open.contains_key(&0) => {}
            _ => return,
        }
        self.continued(0, message, at_ns, line, sink);
    }

    fn timing(&mut self, key: Option<Key>, message: &str, at_ns: Option<i64>, line: &Line<'_>, sink: &mut ServerSink) {
        if let Some(key) = key.filter(|_| timing(message).is_some()) {
            let at = self.task(key);
            self.set(at, message, at_ns, line, sink);
        }
    }

    fn set(&mut self, at: usize, message: &str, at_ns: Option<i64>, line: &Line<'_>, sink: &mut ServerSink) {
        let (Some((span, time, tokens)), Some(task)) = (timing(message), self.list.get_mut(at)) else { return };
        let ns = match time {
            Some(ns) if ns >= 0 => Some(ns),
            Some(_) => {
                sink.issue(IssueCode::NegativeDuration, || line.place(), || format!("{message:.60}"));
                None
            }
            None => {
                sink.issue(IssueCode::NonFiniteValue, || line.place(), || format!("{message:.60}"));
                None
            }
        };
        match span {
            Span::Prefill => (task.request.prefill_ns, task.computed_prompt) = (ns, tokens),
            Span::Decode => (task.request.decode_ns, task.request.output_tokens) = (ns, tokens),
            Span::Total => task.request.inference_ns = ns,
        }
        task.printed_ns = task.printed_ns.or(at_ns);
    }

    fn cancelled(&mut self, instance: u32, task: &str) {
        let Some(task) = number(task).and_then(|(n, _)| n.parse::<i64>().ok()) else { return };
        let at = self.position.iter().find(|(key, _)| key.0 == instance && key.2 == task).map(|(_, at)| *at);
        if let Some(task) = at.and_then(|at| self.list.get_mut(at)) {
            task.request.error = Some("cancelled".to_string());
        }
    }

    fn at(&mut self, key: Key) -> Option<&mut Task> {
        let at = self.task(key);
        self.list.get_mut(at)
    }

    fn task(&mut self, key: Key) -> usize {
        if let Some(at) = self.position.get(&key) {
            return *at;
        }
        self.list.push(Task::default());
        self.position.insert(key, self.list.len() - 1);
        self.list.len() - 1
    }

    /// Another server begins: its task numbers mean other tasks.
    pub(super) fn forget(&mut self) {
        self.position.clear();
        self.busy.clear();
        self.open.clear();
    }

    /// Hands the requests over.
    pub(super) fn finish(self, sink: &mut ServerSink) {
        if self.drafted > 0 {
            sink.fact("draft_tokens", self.drafted.to_string());
            sink.fact("draft_tokens_accepted", self.accepted.to_string());
        }
        for task in self.list {
            if let Some(request) = task.into_request() {
                sink.request(request);
            }
        }
    }
}

impl Task {
    /// `None`: a start without an end tells nothing.
    fn into_request(self) -> Option<ServerRequest> {
        let mut request = self.request;
        let timed = [request.prefill_ns, request.decode_ns, request.inference_ns].iter().any(Option::is_some);
        if !timed && request.error.is_none() {
            return None;
        }
        let from_release = || {
            let length = self.tokens_at_release.filter(|_| !self.context_cut && !self.drafts)?;
            length.checked_add(1)?.checked_sub(request.output_tokens?)
        };
        let computed = self.computed_prompt;
        let whole = self.whole_prompt.or_else(from_release).filter(|whole| computed.is_none_or(|n| n <= *whole));
        request.prompt_tokens = whole;
        request.cached_tokens = whole.zip(computed).map(|(whole, computed)| whole - computed);
        request.last_token_ns = self.printed_ns.filter(|_| request.decode_ns.is_some());
        request.first_token_ns = request.last_token_ns.zip(request.decode_ns).and_then(|(end, d)| end.checked_sub(d));
        request.first_scheduled_ns =
            request.first_token_ns.zip(request.prefill_ns).and_then(|(at, p)| at.checked_sub(p));
        Some(request)
    }
}

/// `prompt eval time = 789.03 ms / 27 tokens (…)`: what it is, the time where it is one, and the tokens.
fn timing(message: &str) -> Option<(Span, Option<i64>, Option<u32>)> {
    let starts = [
        ("prompt eval time", Span::Prefill),
        ("generation eval time", Span::Decode),
        ("eval time", Span::Decode),
        ("total time", Span::Total),
    ];
    let message = message.trim_start();
    let (rest, span) = starts.iter().find_map(|(start, span)| Some((message.strip_prefix(start)?, *span)))?;
    let (value, rest) = number(rest.trim_start().strip_prefix('=')?.trim_start())?;
    let rest = rest.strip_prefix(" ms")?;
    let tokens = rest.strip_prefix(" / ").and_then(|rest| {
        let (tokens, unit) = number(rest.trim_start())?;
        ["tokens", "runs"].iter().any(|word| unit.trim_start().starts_with(word)).then(|| tokens.parse().ok())?
    });
    Some((span, decimal_scaled(&value, 6), tokens))
}

fn value_of(message: &str, mark: &str) -> Option<u32> {
    number(message.split_once(mark)?.1)?.0.parse().ok()
}
