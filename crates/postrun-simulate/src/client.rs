//! The load generator and the way to it: when it sends, when a chunk gets there, when it is read.
//!
//! The client is one thread. Each send and each chunk costs CPU time; what comes while it is busy or stalled waits. Its
//! own limit on requests under way is waited for before the send is stamped; the pool of connections after it, as with
//! clients that open a connection inside the timed part.

use crate::rng::{Rng, Stream};
use crate::run::RequestRecord;
use crate::scenario::Scenario;
use crate::windows::Windows;
use std::collections::VecDeque;

/// State of the client and of the network.
pub(crate) struct ClientSide<'a> {
    scenario: &'a Scenario,
    cpu_free_ns: i64,
    pub stalls: Windows,
    pub holds: Windows,
    slots: u32,
    connections: u32,
    waiting_slot: VecDeque<u32>,
    waiting_connection: VecDeque<u32>,
    /// Latest arrival on each connection: chunks do not overtake each other.
    latest: Vec<i64>,
}

impl<'a> ClientSide<'a> {
    pub(crate) fn new(scenario: &'a Scenario, requests: usize) -> ClientSide<'a> {
        ClientSide {
            scenario,
            cpu_free_ns: 0,
            stalls: Windows::new(&scenario.client.stalls, scenario.seed, Stream::ClientStall),
            holds: Windows::new(&scenario.network.holds, scenario.seed, Stream::NetworkHold),
            slots: scenario.load.max_concurrency.unwrap_or(u32::MAX),
            connections: scenario.client.connections.unwrap_or(u32::MAX),
            waiting_slot: VecDeque::new(),
            waiting_connection: VecDeque::new(),
            latest: vec![i64::MIN; requests],
        }
    }

    fn use_cpu(&mut self, t: i64, cost_us: f64) -> i64 {
        let from = self.stalls.release(t.max(self.cpu_free_ns));
        self.cpu_free_ns = self.stalls.end_of(from, (cost_us * 1e3) as i64);
        self.cpu_free_ns
    }

    /// A request is due: it takes its place before the concurrency limit.
    pub(crate) fn due(&mut self, request: u32, t: i64, record: &mut RequestRecord) {
        record.entered_ns = self.stalls.release(t.max(self.cpu_free_ns));
        self.waiting_slot.push_back(request);
    }

    /// Sends what the limits allow at `t`; returns the requests that leave the client.
    pub(crate) fn send(&mut self, t: i64, records: &mut [RequestRecord]) -> Vec<u32> {
        while self.slots > 0 {
            let Some(request) = self.waiting_slot.pop_front() else { break };
            self.slots -= 1;
            records[request as usize].sent_ns = self.use_cpu(t, self.scenario.client.send_cpu_us);
            self.waiting_connection.push_back(request);
        }
        let mut leaving = Vec::new();
        while self.connections > 0 {
            let Some(request) = self.waiting_connection.pop_front() else { break };
            self.connections -= 1;
            let record = &mut records[request as usize];
            record.left_client_ns = record.sent_ns.max(t);
            leaving.push(request);
        }
        leaving
    }

    /// A request ended: its slot and its connection are free.
    pub(crate) fn release(&mut self) {
        self.slots = self.slots.saturating_add(1);
        self.connections = self.connections.saturating_add(1);
    }

    /// Delay of one message of a connection.
    pub(crate) fn delay(&self, request: u32, message: u64) -> i64 {
        let network = &self.scenario.network;
        let mut rng = Rng::new(self.scenario.seed, Stream::Jitter, (u64::from(request) << 24) | message);
        ((network.delay_us + network.jitter_us * rng.exponential()) * 1e3) as i64
    }

    /// When the client has read a message that left the server at `left`; adds up what held it on the way.
    pub(crate) fn read(&mut self, request: u32, left: i64, message: u64, record: &mut RequestRecord) -> i64 {
        let direct = left + self.delay(request, message);
        let held = self.hold(request, direct);
        let arrived = held.max(self.latest[request as usize]);
        self.latest[request as usize] = arrived;
        record.held_ns += held - direct;
        let cost = self.scenario.client.chunk_cpu_us;
        // What arrives much later must not take the CPU before its time.
        let read = if held > direct + 1_000_000 {
            self.stalls.release(arrived + (cost * 1e3) as i64)
        } else {
            self.use_cpu(arrived, cost)
        };
        let read = read.max(record.chunks.last().map_or(read, |(t, _)| *t + 1 + (cost * 1e3) as i64));
        record.unread_ns += read - arrived;
        read
    }

    fn hold(&mut self, request: u32, t: i64) -> i64 {
        let seed = self.scenario.seed;
        let mut t = t;
        if let Some((number, end)) = self.holds.at(t) {
            let address = ((number as u64) << 32) | u64::from(request);
            if Rng::new(seed, Stream::HoldShare, address).uniform() < self.scenario.network.hold_share {
                t = end;
            }
        }
        let period = (self.scenario.network.flush_ms * 1e6) as i64;
        if period > 0 {
            let phase = (Rng::new(seed, Stream::FlushPhase, u64::from(request)).uniform() * period as f64) as i64;
            t = (t - phase).div_euclid(period) * period + phase + period;
        }
        t
    }
}
