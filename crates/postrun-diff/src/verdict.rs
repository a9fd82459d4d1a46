//! What is said of one change.

use serde::Serialize;

/// What is said of one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaVerdict {
    /// Better, beyond all noise.
    Better,
    /// Worse, beyond all noise.
    Worse,
    /// Different beyond all noise, where neither direction is good.
    Different,
    /// Shown to be equal within the margin.
    Same,
    /// Neither a change nor equality is shown.
    Inconclusive,
}

/// Why no more is said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// One recording on both sides.
    SameRecording,
    /// Beyond chance within a run, but not beyond that and what runs differ by together.
    RunNoise,
    /// A wait that changed by no more than the margin of the TTFT it is part of, or comes before.
    Negligible,
    /// A run has one value of it, and nothing says how it varies.
    OneValueARun,
    /// The scope has too few requests, or too few lie beyond the percentile.
    TooFewRequests,
    /// The figure has no spread that can be computed.
    NotANumber,
    /// A rate needs the times of requests.
    NoTimes,
    /// Some run lacks it.
    NotInEveryRun,
    /// It drifts within the runs, and a change of that size may be drift.
    Drift,
    /// The runs are too short to bound it.
    NotBounded,
    /// Requests of one run differ by as much.
    WithinRun,
    /// Another question was asked.
    NotComparable,
    /// Other shares of requests failed.
    FailuresDiffer,
}

impl Reason {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::SameRecording => "the same recording on both sides",
            Reason::RunNoise => "chance within a run and the allowance for noise between runs may together explain it",
            Reason::Negligible => "a change of next to nothing beside TTFT",
            Reason::OneValueARun => "one value a run",
            Reason::TooFewRequests => "too few requests (of a percentile: beyond it)",
            Reason::NotANumber => "no spread can be computed",
            Reason::NoTimes => "the times of single requests are not recorded",
            Reason::NotInEveryRun => "not in every run",
            Reason::Drift => "drifts within the runs, and a change of that size may be drift",
            Reason::NotBounded => "the runs are too short to bound it",
            Reason::WithinRun => "inside what chance moves within a run",
            Reason::NotComparable => "the workloads are not comparable",
            Reason::FailuresDiffer => "failure rates differ",
        }
    }
}
