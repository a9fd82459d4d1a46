//! Compares runs: is it really different, where, and is it the system or the workload?
//!
//! Entry point: [`diff`], from two [`Side`]s (one run each, or repeats) to a [`RunDiff`], which is plain data. [`trend`]
//! orders many runs and finds where they changed.
//!
//! # How a change is decided
//! Every figure is compared as a ratio with an interval; a figure is *worse* or *better* where the whole interval lies beyond 0,
//! *same* where it lies inside the margin (2 % unless said otherwise), else *inconclusive*. All intervals hold together with
//! 95 %, split between the whole run (3 of the 5 %), the prompt-length buckets and the count of preemptions (1 each). They come from a circular
//! block bootstrap over time; where a queue does not settle within the run, latencies that contain it get the interval of a
//! random walk. The run is the unit of replication: with repeats the spread between runs widens every interval, with one
//! run a side a stated allowance does (25 % unless said otherwise).

mod budget;
mod comparable;
mod counts;
mod deltas;
mod figures;
mod findings;
mod mix;
mod noise;
mod paired;
mod pairing;
mod per_run;
mod result;
mod side;
mod stats;
mod trend;
mod verdict;
mod why;

pub use budget::{Breach, Budget, BudgetError, Limit};
pub use comparable::{Comparability, Difference, Weight};
pub use deltas::{DEFAULT_MARGIN, DEFAULT_RUN_NOISE, Settings};
pub use findings::{Changed, FindingChanges};
pub use mix::{Mix, MixCell};
pub use noise::noise_of_repeats;
pub use pairing::Pairing;
pub use result::{Delta, DeltaScope, Distribution, Left, Method, Overall, RunDiff, SideFacts, diff};
pub use side::{Side, SideRun};
pub use trend::{Order, Trend, TrendPoint, TrendSeries, trend};
pub use verdict::{DeltaVerdict, Reason};
pub use why::{Part, Why};

/// A page of `postrun explain`, by its id.
pub static PAGES: [(&str, postrun_schema::Doc); 3] = [
    ("diff", postrun_schema::Doc::from_source(include_str!("lib.rs"))),
    ("trend", postrun_schema::Doc::from_source(include_str!("trend.rs"))),
    ("budget_file", postrun_schema::Doc::from_source(include_str!("budget.rs"))),
];
