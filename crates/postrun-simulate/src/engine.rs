//! The engine's state: who waits, who runs, what each has computed; and what a finished step changes.

use crate::kv::Kv;
use crate::rng::{Rng, Stream};
use crate::run::{Phase, Preemption};
use crate::scenario::Scenario;
use crate::workload::{Fate, Planned};
use std::collections::VecDeque;

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Outside,
    Waiting,
    Running,
    Gone,
}

/// A request as the engine knows it.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub prompt: u32,
    pub output: u32,
    pub breaks_after: Option<u32>,
    pub prefix: Option<(u32, u32)>,
    pub place: Place,
    /// Order of arrival at the engine.
    pub order: u64,
    /// Tokens whose keys and values are in the cache.
    pub computed: u32,
    pub generated: u32,
    pub prefilling: bool,
    /// Copied out: keeps `computed`, and needs blocks before it goes on.
    pub swapped: bool,
    pub ready_ns: i64,
    /// Tokens not sent yet (stream interval).
    pub unsent: u32,
    pub open_preemption: Option<usize>,
    pub first_scheduled_ns: Option<i64>,
    pub cached: u32,
    pub preemptions: u32,
}

/// Part of a step: tokens of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub request: u32,
    pub tokens: u32,
    pub prefill: bool,
}

/// Tokens that one request put out in a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Emission {
    pub request: u32,
    /// Tokens of the chunk to send now; 0 where the stream interval is not full.
    pub tokens: u32,
    pub first: bool,
    pub end: Option<End>,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Broken,
}

/// What `/metrics` counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub prompt_tokens: u64,
    pub computed_prompt_tokens: u64,
    pub generation_tokens: u64,
    pub prefix_queries: u64,
    pub prefix_hits: u64,
    pub repeated_tokens: u64,
    pub preemptions: u64,
    pub finished: u64,
    pub aborted: u64,
    pub drafts: u64,
    pub draft_tokens: u64,
    pub accepted_tokens: u64,
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Engine<'a> {
    pub scenario: &'a Scenario,
    pub kv: Kv,
    pub live: Vec<Live>,
    pub waiting: VecDeque<u32>,
    /// By order of arrival.
    pub running: Vec<u32>,
    pub counters: Counters,
    pub preemptions: Vec<Preemption>,
    pub served: u32,
    arrivals: u64,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(scenario: &'a Scenario, planned: &[Planned]) -> Engine<'a> {
        let groups = if planned.iter().any(|p| p.prefix.is_some()) { scenario.prefix.groups } else { 0 };
        Engine {
            scenario,
            kv: Kv::new(scenario.kv.block_size, scenario.kv.num_blocks, planned.len(), groups),
            live: planned.iter().map(Live::new).collect(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            counters: Counters::default(),
            preemptions: Vec::new(),
            served: 0,
            arrivals: 0,
        }
    }

    pub(crate) fn enqueue(&mut self, request: u32) {
        let live = &mut self.live[request as usize];
        if live.place == Place::Outside {
            live.place = Place::Waiting;
            live.order = self.arrivals;
            self.arrivals += 1;
            self.waiting.push_back(request);
        }
    }

    /// Drops a request that its client gave up.
    pub(crate) fn abort(&mut self, request: u32) {
        let place = std::mem::replace(&mut self.live[request as usize].place, Place::Gone);
        if matches!(place, Place::Waiting | Place::Running) {
            self.waiting.retain(|r| *r != request);
            self.running.retain(|r| *r != request);
            self.kv.free(request as usize);
            self.counters.aborted += 1;
        }
    }

    /// Takes a running request off the device and puts it in front of the queue.
    pub(crate) fn preempt(&mut self, request: u32, t: i64) {
        let recompute = self.scenario.server.preemption == crate::scenario::PreemptionMode::Recompute;
        self.running.retain(|r| *r != request);
        self.waiting.push_front(request);
        self.kv.free(request as usize);
        let live = &mut self.live[request as usize];
        let phase = if live.generated == 0 { Phase::Prefill } else { Phase::Decode };
        let lost_tokens = if recompute { live.computed } else { 0 };
        live.place = Place::Waiting;
        live.preemptions += 1;
        live.swapped = !recompute && live.computed > 0;
        if recompute {
            live.computed = 0;
            live.prefilling = true;
        }
        // A second preemption before any progress closes the first.
        if let Some(open) = live.open_preemption.replace(self.preemptions.len()) {
            let last = &mut self.preemptions[open];
            last.to_ns = last.to_ns.or(Some(t));
            last.recovered_ns = Some(t);
        }
        self.counters.preemptions += 1;
        self.preemptions.push(Preemption { request, from_ns: t, to_ns: None, recovered_ns: None, phase, lost_tokens });
    }

    /// Applies a finished step; returns what each request put out, in order.
    pub(crate) fn finish_step(&mut self, entries: &[Entry], t: i64) -> Vec<Emission> {
        entries.iter().filter_map(|entry| self.finish_entry(entry, t)).collect()
    }

    fn finish_entry(&mut self, entry: &Entry, t: i64) -> Option<Emission> {
        let index = entry.request as usize;
        if self.live[index].place != Place::Running {
            return None;
        }
        let mut new_tokens = 1;
        if entry.prefill {
            let live = &mut self.live[index];
            live.computed += entry.tokens;
            let goal = live.prompt + live.generated;
            self.counters.computed_prompt_tokens += u64::from(entry.tokens);
            if let Some((group, tokens)) =
                live.prefix.filter(|(_, n)| self.scenario.prefix.caching && live.computed >= *n)
            {
                self.kv.publish(index, group, tokens);
            }
            if self.live[index].computed < goal {
                return None;
            }
            self.live[index].prefilling = false;
        } else {
            new_tokens = self.accepted(entry);
            self.live[index].computed += new_tokens;
        }
        Some(self.emit(entry.request, new_tokens, t))
    }

    /// Tokens a decode step gives: one, and with speculation the draft up to the first wrong token.
    fn accepted(&mut self, entry: &Entry) -> u32 {
        let drafted = entry.tokens.saturating_sub(1);
        if drafted == 0 {
            return 1;
        }
        let live = &self.live[entry.request as usize];
        let address = (u64::from(entry.request) << 24) | u64::from(live.generated);
        let mut rng = Rng::new(self.scenario.seed, Stream::Acceptance, address);
        let right = (0..drafted).take_while(|_| rng.uniform() < self.scenario.speculation.acceptance).count() as u32;
        self.counters.drafts += 1;
        self.counters.draft_tokens += u64::from(drafted);
        self.counters.accepted_tokens += u64::from(right);
        1 + right
    }

    fn emit(&mut self, request: u32, new_tokens: u32, t: i64) -> Emission {
        let interval = self.scenario.server.stream_interval;
        let live = &mut self.live[request as usize];
        let first = live.generated == 0;
        let limit = live.breaks_after.unwrap_or(live.output).min(live.output);
        let new_tokens = new_tokens.min(limit - live.generated);
        live.generated += new_tokens;
        live.unsent += new_tokens;
        if let Some(open) = live.open_preemption.take() {
            self.preemptions[open].recovered_ns = Some(t);
        }
        let end = match live.generated >= limit {
            true if live.breaks_after.is_some() => Some(End::Broken),
            true => Some(End::Complete),
            false => None,
        };
        let send = first || end.is_some() || live.unsent >= interval;
        let tokens = if send { std::mem::take(&mut live.unsent) } else { 0 };
        self.counters.generation_tokens += u64::from(new_tokens);
        if first {
            self.counters.prompt_tokens += u64::from(live.prompt);
            self.served += 1;
        }
        match end {
            Some(End::Complete) => {
                live.place = Place::Gone;
                self.running.retain(|r| *r != request);
                self.kv.free(request as usize);
                self.counters.finished += 1;
            }
            Some(End::Broken) => self.abort(request),
            None => {}
        }
        Emission { request, tokens, first, end }
    }
}

impl Live {
    fn new(planned: &Planned) -> Live {
        Live {
            prompt: planned.prompt,
            output: planned.output,
            breaks_after: match planned.fate {
                Fate::BreaksAfter(n) => Some(n),
                _ => None,
            },
            prefix: planned.prefix,
            place: Place::Outside,
            order: 0,
            computed: 0,
            generated: 0,
            prefilling: true,
            swapped: false,
            ready_ns: 0,
            unsent: 0,
            open_preemption: None,
            first_scheduled_ns: None,
            cached: 0,
            preemptions: 0,
        }
    }
}
