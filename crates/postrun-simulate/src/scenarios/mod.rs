//! Labelled runs: each with the cause it was made to show, for tuning or held out.
//!
//! Held-out runs use machines, loads and lengths that no tuning run uses. Rates are chosen by how many requests they
//! keep decoding at a time (Little's law), so that a load means the same on a fast machine and on a slow one.

mod calibration;
mod decode;
mod healthy;
mod machine;
mod memory;
mod numbers;
mod pairs;
mod prefill;
mod queueing;
mod traffic;

use crate::cause::Cause;
use crate::scenario::Scenario;
pub use calibration::calibration;
use machine::Machine;
use serde::Serialize;

/// What a run may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Thresholds may be set by it.
    Tuning,
    /// For the evaluation alone.
    HeldOut,
}

/// A scenario and what it was made to show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelledScenario {
    /// Name, unique and usable as that of a folder.
    pub name: String,
    /// Causes, that for which the run was made first; empty if healthy. Which is the primary one is measured: [`crate::effects`].
    pub causes: Vec<Cause>,
    /// What it may be used for.
    pub split: Split,
    /// The scenario; carries name and causes too.
    pub scenario: Scenario,
    /// The same machine with nothing injected: what [`Scenario::without`] goes back to.
    pub ordinary: Scenario,
}

/// All labelled runs.
pub fn scenarios() -> Vec<LabelledScenario> {
    let mut list = List::default();
    healthy::add(&mut list);
    prefill::add(&mut list);
    decode::add(&mut list);
    memory::add(&mut list);
    queueing::add(&mut list);
    traffic::add(&mut list);
    numbers::add(&mut list);
    pairs::add(&mut list);
    list.all
}

#[derive(Default)]
struct List {
    all: Vec<LabelledScenario>,
}

impl List {
    /// Adds a run; its name is that of its causes, its split and a number, its seed its position.
    fn add(&mut self, machine: &Machine, causes: &[Cause], mut scenario: Scenario) {
        let split = machine.split;
        let of_kind = self.all.iter().filter(|l| l.causes == causes && l.split == split).count() + 1;
        let stem = match causes {
            [] => "healthy".to_string(),
            causes => causes.iter().map(|c| c.id()).collect::<Vec<_>>().join("+"),
        };
        let letter = if split == Split::Tuning { 't' } else { 'h' };
        let name = format!("{stem}-{letter}{of_kind}");
        let position = self.all.len() as u32;
        scenario.seed = 1000 + u64::from(position);
        // No two runs have the same clocks: nothing may rest on how they stand to each other.
        scenario.clocks.start_unix_s += f64::from(position) * 5431.5;
        scenario.clocks.client_zero_s = 700.25 + f64::from(position * 7919 % 90_001);
        scenario.clocks.server_ahead_ms = f64::from(position * 37 % 400) - 200.0;
        scenario.name.clone_from(&name);
        scenario.causes = causes.to_vec();
        let ordinary = machine.ordinary();
        self.all.push(LabelledScenario { name, causes: causes.to_vec(), split, scenario, ordinary });
    }
}

#[cfg(test)]
mod scenarios_test;
