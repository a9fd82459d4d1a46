//! Simulates a benchmark run: a continuous-batching LLM server and a load generator in front of it, step by step.
//!
//! A [`Scenario`] says what is simulated, [`simulate`] yields a [`Run`] in which everything is known, and [`write`] puts it
//! into the files a real run leaves behind (a vLLM benchmark result, a server log, scrapes of metrics, request spans),
//! with the truth beside them. [`scenarios`] is a library of runs with known causes, on which diagnosis is evaluated;
//! [`effects`] measures what each cause does to the figures, by taking it away.
//!
//! # The model
//! Time is whole nanoseconds and goes from event to event: a request is due, arrives, is queued; a step ends; the client
//! is done. A step computes tokens (`schedule.rs`) and takes the sum of its parts (`cost.rs`): CPU work, a fixed part on
//! the device, a part per decoding request, per token of context read, per prompt token. Nothing else makes a request
//! slow; queueing, preemption and uneven gaps follow from it.
//!
//! # What it is not
//! One engine, one device, text only. Requests have no priorities; the server has no warm-up of its own unless told so.
//! A preempted request finds nothing of itself in the prefix cache. A stall stops everything of the server. CPU and device work
//! do not overlap.
//!
//! The same scenario gives the same bytes: there is no clock, and no order of a hash table (`rng.rs`).

mod cause;
mod client;
mod cost;
mod counterfactual;
mod defaults;
mod engine;
#[cfg(test)]
mod engine_test;
mod error;
mod evidence;
mod kv;
mod lengths;
mod rng;
mod run;
mod scenario;
mod scenarios;
mod schedule;
mod simulator;
mod stats;
mod summary;
mod validate;
mod windows;
mod without;
mod workload;
pub mod write;

pub use cause::{CAUSES, Cause};
pub use counterfactual::{Effect, effects, primary};
pub use error::{Result, SimulateError};
pub use evidence::{consequences, supports};
pub use lengths::{Lengths, Part};
pub use run::{Phase, Preemption, RequestRecord, Run, Stall, StallKind};
pub use scenario::{
    Arrivals, Change, Client, Clocks, Disturbances, Failures, KvCache, Load, Network, PreemptionMode, Prefix, Ramp,
    Recording, Scenario, Server, Speculation, Stalls, StepCost, WarmUp,
};
pub use scenarios::{LabelledScenario, Split, calibration, scenarios};
pub use simulator::simulate;
pub use summary::Summary;
