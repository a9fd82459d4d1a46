//! What a metric is.

use crate::facts::RunFacts;
use polars::prelude::Expr;
use postrun_schema::{Doc, Table, Unit};

/// One metric: a file under `metrics/` and a line in its registry.
pub struct Metric {
    /// Stable id with its display unit: `ttft_ms`.
    pub id: &'static str,
    /// Short name for a table: `TTFT`.
    pub label: &'static str,
    /// Unit of the values computed here.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// Columns without which it cannot be computed.
    pub requires: &'static [(Table, &'static str)],
    /// Its page: *Definition · Needs · Caveats*.
    pub doc: Doc,
    /// How.
    pub compute: Compute,
}

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither: it describes the load.
    Neither,
}

/// How a metric comes about.
pub enum Compute {
    /// One value a request: an expression over the requests table that gives a float, null where undefined.
    PerRequest(fn() -> Expr),
    /// One value a gap between token-bearing chunks.
    PerGap(GapValue),
    /// One value a send that follows another.
    BetweenSends,
    /// One value a run.
    PerRun(fn(&RunFacts) -> Option<f64>),
}

/// What a gap counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapValue {
    /// The gap itself, once.
    Chunk,
    /// The gap divided by the tokens of the later chunk.
    Token,
}
