//! Compares runs: is it really different, where, and is it the system or the workload?
//!
//! # How a change is decided
//! A figure is *worse* or *better* where the whole interval of its change lies beyond 0, *same* where it lies inside the margin
//! (2 % unless said otherwise), else *inconclusive*; *different* is a change of what describes the load. Figures are compared
//! as ratios; shares, and what can be 0, as differences. Each inconclusive figure has a reason. Fewer than 20 requests, fewer than 5 expected beyond a percentile, or a
//! mean that fewer than 10 values make, decide nothing.
//!
//! # Intervals
//! Requests of one run share queues, so blocks of the run are resampled, not requests (circular block bootstrap, blocks as
//! long as the data ask for). Where a queue does not settle within the run, latencies that contain it get the interval of a random
//! walk. All intervals hold together with 95 %: 3 of the 5 % are for the whole run, 1 for the prompt-length buckets, 1 for the count
//! of preemptions, whose spread comes from how they bunch over the run.
//!
//! # Noise between runs
//! No interval inside a run sees how much runs of one configuration differ: the run is the unit of replication. With repeats
//! Student's interval over runs is given where it is wider. With one run a side a stated allowance is added: 25 % unless
//! `--run-noise` or the budget file says otherwise, `--noise-from` takes it from the runs named there, or earlier repeats beside the
//! base show less. What lies inside it is inconclusive.
//!
//! # Earlier repeats beside the base
//! Repeats are taken at their upper bound: the spread of the figure whose runs differ most, at the end of its 95 % confidence interval
//! (χ²), times 1.96 √2 for two runs. That is 12 times the spread of three runs, 8 times that of four, 5 times that of eight.
//!
//! Unasked, what lies in the base's folder is used where at least three runs there repeat the base and were recorded before it, and
//! the candidate after it: the same client, model, server settings, load, number of requests, failures and lengths. The base is one of the
//! runs that are judged, so another build that passes for a repeat makes the bound larger, and it never exceeds the 25 %.
//! Copies (the same file, the same time, or the same figures) count once, and those of the base or the candidate not at all. Without
//! recording times that can be ordered nothing is used. At most 24 neighbours and 64 MiB are read. The first lines say which runs
//! were used, what they show and what would stand without them; `--run-noise 25` takes no notice of them. Two such repeats are
//! named on standard error, for `--noise-from`.
//!
//! # Large and undecided
//! A figure that at least doubled or halved, and on which nothing is decided, is named with the reason: a latency that drifts over
//! its run consists of so few independent stretches that even ten times as much may be drift. Repeats tell: drift of one run is
//! independent of that of the next.
//!
//! # Pairs
//! Where both runs sent the same requests in the same order (the same ids, or the same sequence of lengths), blocks hold the same
//! requests on both sides, and each metric has a statistic *paired*: its geometric mean over the pairs, whose ratio is the
//! change of a typical request.
//!
//! # Two clients
//! Both sides are held to one set of definitions: postrun's, or those of `--convention NAME`; every figure is then that of `postrun
//! report --convention NAME`. A metric for which one recording lacks a fact is left out by name. What is compared over time, the parts of
//! a latency on the server and the findings are postrun's own.
//!
//! # Workload or system
//! The change of a mean is split by requests of like prompt and output lengths (prompt-length buckets, thirds of the output lengths):
//! *workload* is what other shares of these do, *system* what changed within them. Only lengths that both sides have are split; what
//! the others do is a third part, *not comparable*, and the three add up to the change. Where less than half of a side's requests have lengths that the
//! other side has too, nothing is split. Requests of all runs of a side are taken together, so these means are arithmetic.
//!
//! # Pictures
//! The page (`-o diff.html`) and `--charts` show how far each percentile moved, from the 5th on: a flat line is a change of all
//! requests, a rise to the right one of the tail. At the percentiles of the table the intervals are the table's; between them they
//! are made in the same way, and not corrected for anew. A percentile beyond which no request lies is not drawn.
//!
//! # The same question
//! Other lengths, arrivals, concurrency or ways of counting let no verdict be given; other failure rates let no
//! improvement be claimed. What is most often changed on purpose (model, server) is named.

mod budget;
mod comparable;
mod counts;
mod deltas;
mod figures;
mod findings;
mod large;
mod mix;
mod noise;
mod paired;
mod pairing;
mod per_run;
mod result;
mod shift;
mod side;
mod stats;
mod trend;
mod verdict;
mod why;

pub use budget::{Breach, Budget, BudgetError, Limit, NotJudged};
pub use comparable::{Comparability, Difference, Weight};
pub use deltas::{DEFAULT_MARGIN, DEFAULT_RUN_NOISE, Settings};
pub use findings::{Changed, FindingChanges};
pub use mix::{Mix, MixCell, NotSplit};
pub use noise::{Earlier, Noise, earlier_repeats, may_have_earlier, noise_of_repeats};
pub use pairing::Pairing;
pub use result::{Delta, DeltaScope, Distribution, EarlierRepeats, Left, Method, Overall, RunDiff, SideFacts, diff};
pub use shift::{DRAWN_PERCENTILES, Shift};
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
