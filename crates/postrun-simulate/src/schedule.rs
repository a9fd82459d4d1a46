//! What the next step computes: decodes first, then prompts already begun, then the queue.
//!
//! # Rules
//! - A decode takes one token of the step's budget (with speculation, one and the draft), a prompt takes what is left.
//! - Who lacks a block makes the latest arrival that runs lose all of its blocks, until there is room or it was itself
//!   the latest. A step that preempted someone admits nobody.
//! - The queue is first come, first served: if its head does not fit, nobody behind it is admitted.
//! - Without chunked prefill a prompt is computed whole, in a step without decodes, and goes before decodes.

use crate::cost::StepWork;
use crate::engine::{Engine, Entry, Place};

/// A step that is about to run.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub entries: Vec<Entry>,
    pub work: StepWork,
}

/// A step in the making.
struct Draft {
    entries: Vec<Entry>,
    budget: u32,
    preempted: bool,
    t: i64,
}

impl Draft {
    fn push(&mut self, request: u32, tokens: u32, prefill: bool) {
        self.budget = self.budget.saturating_sub(tokens);
        self.entries.push(Entry { request, tokens, prefill });
    }

    fn drop_request(&mut self, request: u32) {
        if let Some(i) = self.entries.iter().position(|e| e.request == request) {
            self.budget += self.entries[i].tokens;
            self.entries.remove(i);
        }
    }
}

impl Engine<'_> {
    /// Plans the step that starts at `t`; none if there is nothing to compute.
    pub(crate) fn plan(&mut self, t: i64) -> Option<Plan> {
        // A step that only preempted is planned once more: now there is room.
        for _ in 0..2 {
            let budget = self.scenario.server.max_num_batched_tokens;
            let mut draft = Draft { entries: Vec::new(), budget, preempted: false, t };
            if self.scenario.server.chunked_prefill {
                self.plan_decodes(&mut draft);
                self.plan_begun_prompts(&mut draft);
                self.admit(&mut draft);
            } else {
                self.admit(&mut draft);
                if draft.entries.is_empty() {
                    self.plan_decodes(&mut draft);
                }
            }
            if !draft.entries.is_empty() {
                let work = self.work_of(&draft.entries);
                return Some(Plan { entries: draft.entries, work });
            }
            if !draft.preempted {
                return None;
            }
        }
        None
    }

    /// When a request that is being copied back can go on, if one is.
    pub(crate) fn next_ready(&self, t: i64) -> Option<i64> {
        self.running.iter().map(|r| self.live[*r as usize].ready_ns).filter(|ready| *ready > t).min()
    }

    fn plan_decodes(&mut self, draft: &mut Draft) {
        let width = 1 + self.scenario.speculation.draft_tokens;
        let mut i = 0;
        while let Some(request) = self.running.get(i).copied() {
            let live = &self.live[request as usize];
            if live.prefilling || live.ready_ns > draft.t {
                i += 1;
                continue;
            }
            let tokens = width.min(live.output - live.generated).max(1);
            if draft.budget < tokens {
                return;
            }
            if self.make_room(request, live.computed + tokens, draft) {
                draft.push(request, tokens, false);
                i += 1;
            }
        }
    }

    fn plan_begun_prompts(&mut self, draft: &mut Draft) {
        let mut i = 0;
        while let Some(request) = self.running.get(i).copied() {
            let live = &self.live[request as usize];
            if !live.prefilling || live.ready_ns > draft.t {
                i += 1;
                continue;
            }
            let chunk = (live.prompt + live.generated - live.computed).min(draft.budget);
            if chunk == 0 {
                return;
            }
            if self.make_room(request, live.computed + chunk, draft) {
                draft.push(request, chunk, true);
                i += 1;
            }
        }
    }

    /// Finds blocks for a running request, at the cost of the latest arrivals; false if it lost its own.
    fn make_room(&mut self, request: u32, tokens: u32, draft: &mut Draft) -> bool {
        while !self.kv.grow(request as usize, tokens) {
            let Some(victim) = self.running.last().copied() else { return false };
            self.preempt(victim, draft.t);
            draft.drop_request(victim);
            draft.preempted = true;
            if victim == request {
                return false;
            }
        }
        true
    }

    fn admit(&mut self, draft: &mut Draft) {
        let limit = self.scenario.server.max_num_seqs as usize;
        while !draft.preempted && draft.budget > 0 && self.running.len() < limit {
            let Some(request) = self.waiting.front().copied() else { return };
            if !self.admit_one(request, draft) {
                return;
            }
        }
    }

    fn admit_one(&mut self, request: u32, draft: &mut Draft) -> bool {
        let server = &self.scenario.server;
        let index = request as usize;
        let fresh = !self.live[index].swapped;
        let hit = if fresh { self.look_up_prefix(index) } else { 0 };
        let live = &self.live[index];
        let computed = if fresh { hit } else { live.computed };
        let goal = live.prompt + live.generated;
        let rest = goal - computed;
        let chunk = if server.chunked_prefill { rest.min(draft.budget) } else { rest };
        let too_long = chunk > draft.budget && !draft.entries.is_empty();
        let room = match (fresh, server.lazy_admission) {
            (true, true) => computed + chunk,
            (true, false) => goal,
            (false, _) => computed + 1,
        };
        if too_long || !self.kv.grow(index, room) {
            self.kv.free(index);
            return false;
        }
        self.waiting.pop_front();
        self.start(request, computed, fresh.then_some(hit), draft.t);
        if fresh {
            draft.push(request, chunk, true);
        }
        true
    }

    fn start(&mut self, request: u32, computed: u32, hit: Option<u32>, t: i64) {
        let per_block = self.scenario.server.swap_us_per_block * 1e3;
        let copy = (f64::from(computed.div_ceil(self.kv.block_size)) * per_block) as i64;
        let repeated = self.count_lookup(request as usize, hit);
        let live = &mut self.live[request as usize];
        live.place = Place::Running;
        live.computed = computed;
        if hit.is_none() {
            live.swapped = false;
            live.ready_ns = t + copy;
        }
        if live.first_scheduled_ns.is_none() {
            live.first_scheduled_ns = Some(t);
            live.cached = hit.unwrap_or(0);
            self.counters.repeated_tokens += repeated;
        }
        if let Some(open) = live.open_preemption {
            self.preemptions[open].to_ns = Some(t);
        }
        let order = live.order;
        let at = self.running.partition_point(|r| self.live[*r as usize].order < order);
        self.running.insert(at, request);
    }

    fn look_up_prefix(&mut self, index: usize) -> u32 {
        match self.live[index].prefix {
            Some((group, _)) if self.scenario.prefix.caching => self.kv.attach(index, group, self.live[index].prompt),
            _ => 0,
        }
    }

    /// Counts a first look-up; returns the tokens that an endless cache would have found.
    fn count_lookup(&mut self, index: usize, hit: Option<u32>) -> u64 {
        let live = &self.live[index];
        if live.first_scheduled_ns.is_some() || !self.scenario.prefix.caching {
            return 0;
        }
        self.counters.prefix_queries += u64::from(live.prompt);
        self.counters.prefix_hits += u64::from(hit.unwrap_or(0));
        match live.prefix {
            Some((group, tokens)) if self.kv.seen_before(group) => u64::from(tokens),
            _ => 0,
        }
    }

    fn work_of(&self, entries: &[Entry]) -> StepWork {
        let mut work = StepWork::default();
        for entry in entries {
            let before = f64::from(self.live[entry.request as usize].computed);
            if entry.prefill {
                let tokens = f64::from(entry.tokens);
                work.prefills += 1;
                work.prefill_tokens += u64::from(entry.tokens);
                work.pairs += tokens * (before + tokens / 2.0);
            } else {
                work.decodes += 1;
                work.drafts += entry.tokens - 1;
                work.context += before as u64 + 1;
            }
        }
        work
    }
}
