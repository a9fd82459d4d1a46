//! The event loop: one heap of events in order of time, and of making where times are equal.

use crate::client::ClientSide;
use crate::cost::{StepTime, step_time};
use crate::engine::{Emission, End, Engine, Place};
use crate::error::{Result, SimulateError};
use crate::rng::Stream;
use crate::run::{RequestRecord, Run, Sample, Stall, StallKind, Totals};
use crate::scenario::Scenario;
use crate::schedule::Plan;
use crate::validate::{MAX_SECONDS, MAX_STEPS};
use crate::windows::Windows;
use crate::workload::{self, Fate, Planned};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Due(u32),
    Arrives(u32),
    Queued(u32),
    StepEnds,
    Wakes,
    ClientDone(u32),
    TimesOut(u32),
}

struct Simulator<'a> {
    scenario: &'a Scenario,
    planned: &'a [Planned],
    heap: BinaryHeap<Reverse<(i64, u64, Event)>>,
    made: u64,
    engine: Engine<'a>,
    client: ClientSide<'a>,
    server_stalls: Windows,
    frontend_free_ns: i64,
    /// The step that runs, and when it started.
    current: Option<(Plan, i64, StepTime)>,
    wakes_at: Option<i64>,
    records: Vec<RequestRecord>,
    done: Vec<bool>,
    scrapes: Vec<Sample>,
    log_ticks: Vec<Sample>,
    totals: Totals,
}

/// Simulates one run.
pub fn simulate(scenario: &Scenario) -> Result<Run> {
    scenario.validate()?;
    let planned = workload::draw(scenario)?;
    let mut simulator = Simulator::new(scenario, &planned);
    simulator.run()?;
    Ok(simulator.into_run())
}

impl<'a> Simulator<'a> {
    fn new(scenario: &'a Scenario, planned: &'a [Planned]) -> Simulator<'a> {
        let record = |(i, p): (usize, &Planned)| RequestRecord {
            request: i as u32,
            prompt_tokens: p.prompt,
            output_tokens: p.output,
            due_ns: p.due_ns,
            ..RequestRecord::default()
        };
        let mut simulator = Simulator {
            scenario,
            planned,
            heap: BinaryHeap::new(),
            made: 0,
            engine: Engine::new(scenario, planned),
            client: ClientSide::new(scenario, planned.len()),
            server_stalls: Windows::new(&scenario.disturbances.server_stalls, scenario.seed, Stream::ServerStall),
            frontend_free_ns: 0,
            current: None,
            wakes_at: None,
            records: planned.iter().enumerate().map(record).collect(),
            done: vec![false; planned.len()],
            scrapes: Vec::new(),
            log_ticks: Vec::new(),
            totals: Totals::default(),
        };
        for (i, p) in planned.iter().enumerate() {
            simulator.push(p.due_ns, Event::Due(i as u32));
        }
        simulator
    }

    fn push(&mut self, t: i64, event: Event) {
        self.made += 1;
        self.heap.push(Reverse((t, self.made, event)));
    }

    fn run(&mut self) -> Result<()> {
        while let Some(Reverse((t, _, event))) = self.heap.pop() {
            if t as f64 > MAX_SECONDS * 1e9 || self.totals.steps > MAX_STEPS {
                let steps = self.totals.steps;
                return Err(SimulateError::TooLarge(format!(
                    "not done after {} s and {steps} steps",
                    t / 1_000_000_000
                )));
            }
            self.sample_until(t);
            match event {
                Event::Due(i) => {
                    self.client.due(i, t, &mut self.records[i as usize]);
                    self.send(t);
                }
                Event::Arrives(i) => self.arrives(i, t),
                Event::Queued(i) => {
                    if !self.done[i as usize] {
                        self.records[i as usize].queued_ns = Some(t);
                        self.engine.enqueue(i);
                        self.start_step(t);
                    }
                }
                Event::StepEnds => self.step_ends(t),
                Event::Wakes => {
                    self.wakes_at = None;
                    self.start_step(t);
                }
                Event::ClientDone(i) => self.client_done(i, t),
                Event::TimesOut(i) => self.times_out(i, t),
            }
        }
        let end = self.records.iter().map(|r| r.done_ns).max().unwrap_or(0);
        self.sample_until(end + 3_000_000_000);
        Ok(())
    }

    fn send(&mut self, t: i64) {
        for i in self.client.send(t, &mut self.records) {
            let left = self.records[i as usize].left_client_ns;
            self.push(left + self.client.delay(i, 0), Event::Arrives(i));
            if let Some(timeout) = self.scenario.client.timeout_ms {
                let at = self.records[i as usize].sent_ns + (timeout * 1e6) as i64;
                self.push(at.max(left), Event::TimesOut(i));
            }
        }
    }

    fn arrives(&mut self, i: u32, t: i64) {
        let server = &self.scenario.server;
        self.records[i as usize].arrival_ns = Some(t);
        let error = match self.planned[i as usize].fate {
            Fate::Http500 => Some("Internal Server Error"),
            Fate::Refused => Some("Bad Request"),
            Fate::Served | Fate::BreaksAfter(_) => None,
        };
        if let Some(error) = error {
            let left = t + (server.frontend_us * 1e3) as i64;
            self.fail(i, left, error);
            return;
        }
        let work = server.frontend_us + server.tokenize_us_per_token * f64::from(self.planned[i as usize].prompt);
        let from = t.max(self.frontend_free_ns);
        self.frontend_free_ns = self.server_stalls.end_of(from, (work * 1e3) as i64);
        self.totals.frontend_ns += (work * 1e3) as i64;
        self.push(self.frontend_free_ns, Event::Queued(i));
    }

    fn fail(&mut self, i: u32, left: i64, error: &str) {
        let record = &mut self.records[i as usize];
        record.error = Some(error.to_string());
        let read = self.client.read(i, left, 1 << 23, record);
        record.done_ns = read;
        self.push(read, Event::ClientDone(i));
    }

    fn client_done(&mut self, i: u32, t: i64) {
        if !std::mem::replace(&mut self.done[i as usize], true) {
            self.client.release();
            self.send(t);
        }
    }

    fn times_out(&mut self, i: u32, t: i64) {
        let record = &mut self.records[i as usize];
        // What the client has read by now is known; chunks on their way are lost.
        let over = self.done[i as usize] || (record.done_ns > 0 && record.done_ns <= t);
        if over {
            return;
        }
        record.error = Some("TimeoutError".to_string());
        record.chunks.retain(|(at, _)| *at <= t);
        record.done_ns = t;
        self.engine.abort(i);
        self.client_done(i, t);
    }

    fn start_step(&mut self, t: i64) {
        if self.current.is_some() || self.wakes_at.is_some_and(|at| at > t) {
            return;
        }
        let released = self.server_stalls.release(t);
        if released > t {
            self.wake(released);
            return;
        }
        let Some(plan) = self.engine.plan(t) else {
            if let Some(ready) = self.engine.next_ready(t) {
                self.wake(ready);
            }
            return;
        };
        let time = step_time(self.scenario, &plan.work, t, self.engine.served, self.totals.steps);
        let end = self.server_stalls.end_of(t, time.total);
        self.current = Some((plan, t, time));
        self.push(end, Event::StepEnds);
    }

    fn wake(&mut self, t: i64) {
        self.wakes_at = Some(t);
        self.push(t, Event::Wakes);
    }

    fn step_ends(&mut self, t: i64) {
        let Some((plan, from, time)) = self.current.take() else { return };
        self.add_up(&plan, t - from, &time);
        let emissions = self.engine.finish_step(&plan.entries, t);
        for (position, emission) in emissions.iter().enumerate() {
            self.deliver(emission, t, position);
        }
        self.start_step(t);
    }

    fn deliver(&mut self, emission: &Emission, t: i64, position: usize) {
        let i = emission.request;
        let live = &self.engine.live[i as usize];
        let record = &mut self.records[i as usize];
        record.generated_tokens = live.generated;
        record.last_token_ns = Some(t);
        if emission.first {
            record.first_token_ns = Some(t);
        }
        let left = t + (self.scenario.server.output_us * 1e3) as i64 * (position as i64 + 1);
        if emission.tokens > 0 {
            let message = record.chunks.len() as u64 + 1;
            let read = self.client.read(i, left, message, record);
            record.chunks.push((read, emission.tokens));
        }
        match emission.end {
            Some(End::Complete) => {
                record.done_ns = record.chunks.last().map_or(t, |(read, _)| *read);
                let done = record.done_ns;
                self.push(done, Event::ClientDone(i));
            }
            Some(End::Broken) => self.fail(i, left, "ClientPayloadError: Response payload is not completed"),
            None => {}
        }
    }

    fn add_up(&mut self, plan: &Plan, length: i64, time: &StepTime) {
        let totals = &mut self.totals;
        let (length_f, decodes) = (length as f64, f64::from(plan.work.decodes));
        let used = self.engine.kv.used();
        totals.steps += 1;
        totals.busy_ns += length;
        totals.cpu_ns += time.cpu;
        totals.decodes_ns += decodes * length_f;
        totals.running_ns += self.engine.running.len() as f64 * length_f;
        let share = f64::from(used) / f64::from(self.engine.kv.total);
        totals.kv_ns += share * length_f;
        totals.kv_high_ns += if share >= 0.9 { length } else { 0 };
        totals.kv_peak = totals.kv_peak.max(used);
        totals.gaps_ns += decodes * length_f;
        totals.gaps_by_prefill_ns += decodes * time.by_prefill as f64;
        totals.gaps_by_stall_ns += decodes * (length - time.total).max(0) as f64;
    }

    /// Takes the scrapes and log lines due before `t`; the first of each comes `idle_s` before the start.
    fn sample_until(&mut self, t: i64) {
        let recording = &self.scenario.recording;
        let idle = (recording.idle_s * 1e9) as i64;
        for (period, log) in [(recording.scrape_s, false), (recording.log_s, true)] {
            let period = (period * 1e9) as i64;
            loop {
                let taken = if log { self.log_ticks.len() } else { self.scrapes.len() };
                let at = taken as i64 * period - idle;
                if at >= t {
                    break;
                }
                let sample = self.sample(at);
                if log { self.log_ticks.push(sample) } else { self.scrapes.push(sample) }
            }
        }
    }

    fn sample(&self, at_ns: i64) -> Sample {
        Sample {
            at_ns,
            running: self.engine.running.len() as u32,
            waiting: self.engine.waiting.len() as u32,
            used_blocks: self.engine.kv.used(),
            counters: self.engine.counters,
        }
    }

    fn into_run(mut self) -> Run {
        for (record, live) in self.records.iter_mut().zip(&self.engine.live) {
            debug_assert!(live.place == Place::Gone || !record.ok());
            record.first_scheduled_ns = live.first_scheduled_ns;
            record.cached_tokens = live.cached;
            record.preemptions = live.preemptions;
        }
        let end = self.records.iter().map(|r| r.done_ns).max().unwrap_or(0);
        let mut stalls = Vec::new();
        for (kind, windows) in [
            (StallKind::Server, &self.server_stalls),
            (StallKind::Network, &self.client.holds),
            (StallKind::Client, &self.client.stalls),
        ] {
            stalls.extend(windows.between(0, end).into_iter().map(|(from_ns, to_ns)| Stall { kind, from_ns, to_ns }));
        }
        Run {
            scenario: self.scenario.clone(),
            requests: self.records,
            preemptions: self.engine.preemptions,
            stalls,
            duration_ns: end,
            scrapes: self.scrapes,
            log_ticks: self.log_ticks,
            totals: self.totals,
            counters: self.engine.counters,
        }
    }
}
