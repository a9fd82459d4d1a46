//! The requests table in memory: the columns that whole-run figures need, and every per-request metric.

use crate::error::AnalysisError;
use crate::frames::{columns_of, each_frame};
use crate::metric::{Compute, Metric};
use crate::metrics::METRICS;
use crate::window::Window;
use polars::prelude::*;
use postrun_schema::{Dataset, Table};
use std::collections::BTreeSet;

/// Three years: no time of a benchmark is larger, and sums of them never overflow.
pub const CREDIBLE_NS: i64 = 100_000_000_000_000_000;

/// What is kept of each request, besides what its metrics read.
const COLUMNS: [&str; 9] =
    ["phase", "status", "streamed", "prompt_tokens", "output_tokens", "chunks", "sent_ns", "ttft_ns", "e2e_ns"];

/// One row a request, in the dataset's order.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Part of the measurement (not warm-up, cool-down or probe).
    pub measured: Vec<bool>,
    pub status: Vec<Outcome>,
    pub prompt_tokens: Vec<Option<u32>>,
    pub output_tokens: Vec<Option<u32>>,
    pub chunks: Vec<Option<u32>>,
    /// `Some(false)`: the answer came in one piece.
    pub streamed: Vec<Option<bool>>,
    pub sent_ns: Vec<Option<i64>>,
    pub ttft_ns: Vec<Option<i64>>,
    pub e2e_ns: Vec<Option<i64>>,
    /// Values of each per-request metric of the registry, by registry position; NaN where null.
    pub values: Vec<Vec<f64>>,
    /// Columns with at least one value.
    pub present: BTreeSet<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Failed,
    Incomplete,
}

impl Requests {
    pub(crate) fn load(dataset: &Dataset) -> Result<Requests, AnalysisError> {
        let required = required_columns();
        let metrics: Vec<(&Metric, Expr)> = per_request().collect();
        let mut columns: BTreeSet<&str> = required.iter().chain(&COLUMNS).copied().collect();
        columns.extend(metrics.iter().flat_map(|(_, expr)| columns_of(expr)));
        let columns: Vec<&str> = columns.into_iter().collect();
        let mut out = Requests { values: vec![Vec::new(); METRICS.len()], ..Requests::default() };
        each_frame(dataset, Table::Requests, &columns, |df| {
            out.present.extend(required.iter().filter(|c| df.column(c).is_ok_and(|c| c.null_count() < c.len())));
            out.take(df)
        })?;
        Ok(out)
    }

    fn take(&mut self, df: &DataFrame) -> PolarsResult<()> {
        let text = |name: &str| df.column(name)?.str();
        let u32s = |name: &str| df.column(name)?.u32();
        let i64s = |name: &str| -> PolarsResult<Vec<Option<i64>>> {
            Ok(df.column(name)?.i64()?.iter().map(|v| v.filter(|v| v.abs() <= CREDIBLE_NS)).collect())
        };
        self.measured.extend(text("phase")?.iter().map(|p| p == Some("measured")));
        self.status.extend(text("status")?.iter().map(|s| match s {
            Some("ok") => Outcome::Ok,
            Some("error") => Outcome::Failed,
            _ => Outcome::Incomplete,
        }));
        self.prompt_tokens.extend(u32s("prompt_tokens")?.iter());
        self.output_tokens.extend(u32s("output_tokens")?.iter());
        self.chunks.extend(u32s("chunks")?.iter());
        self.streamed.extend(df.column("streamed")?.bool()?.iter());
        self.sent_ns.extend(i64s("sent_ns")?);
        self.ttft_ns.extend(i64s("ttft_ns")?);
        self.e2e_ns.extend(i64s("e2e_ns")?);
        let metrics = metric_values(df)?;
        for (values, metric) in self.values.iter_mut().zip(METRICS) {
            if matches!(metric.compute, Compute::PerRequest(_)) {
                values.extend(metrics.column(metric.id)?.f64()?.iter().map(|v| v.unwrap_or(f64::NAN)));
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.measured.len()
    }

    /// Values of a per-request metric, NaN where null; `None`: no request has one.
    pub(crate) fn metric(&self, id: &str) -> Option<&[f64]> {
        let at = METRICS.iter().position(|m| m.id == id)?;
        self.values.get(at).map(Vec::as_slice).filter(|values| values.iter().any(|v| v.is_finite()))
    }

    /// Measured and ok: what latency metrics are made of.
    pub(crate) fn counts(&self, i: usize) -> bool {
        self.measured[i] && self.status[i] == Outcome::Ok
    }

    /// The instant that decides whether a request belongs to a window: its first token, else its end, else (failed)
    /// its send.
    pub(crate) fn decisive_ns(&self, i: usize) -> Option<i64> {
        let after = self.ttft_ns[i].or(self.e2e_ns[i]).unwrap_or(0);
        Some(self.sent_ns[i]?.saturating_add(after))
    }

    /// When its last token came.
    pub(crate) fn end_ns(&self, i: usize) -> Option<i64> {
        Some(self.sent_ns[i]?.saturating_add(self.e2e_ns[i]?))
    }

    /// True if request `i` is part of the measurement and belongs to `window` (`None`: to the whole run).
    pub(crate) fn belongs(&self, i: usize, window: Option<Window>) -> bool {
        self.measured[i]
            && match window {
                None => true,
                Some(window) => self.decisive_ns(i).is_some_and(|at| window.contains(at)),
            }
    }

    /// True if request `i` enters the latency metrics of `window` (`None`: of the whole run).
    pub(crate) fn in_scope(&self, i: usize, window: Option<Window>) -> bool {
        self.status[i] == Outcome::Ok && self.belongs(i, window)
    }

    /// When the first measured request was sent, whatever became of it.
    pub(crate) fn first_send_ns(&self) -> Option<i64> {
        (0..self.len()).filter(|i| self.measured[*i]).filter_map(|i| self.sent_ns[i]).min()
    }

    /// First send to last token or last send, of all measured requests; `None`: no send is known.
    pub(crate) fn extent(&self) -> Option<Window> {
        let start_ns = self.first_send_ns()?;
        let sends = (0..self.len()).filter(|i| self.measured[*i]).filter_map(|i| self.sent_ns[i]);
        Some(Window { start_ns, end_ns: sends.fold(self.span().map_or(start_ns, |s| s.end_ns), i64::max) })
    }

    /// First send and last token of the ok requests.
    pub(crate) fn span(&self) -> Option<Window> {
        let mut span: Option<Window> = None;
        for i in (0..self.len()).filter(|i| self.counts(*i)) {
            if let (Some(sent), Some(end)) = (self.sent_ns[i], self.end_ns(i)) {
                let old = span.unwrap_or(Window { start_ns: sent, end_ns: end });
                span = Some(Window { start_ns: old.start_ns.min(sent), end_ns: old.end_ns.max(end) });
            }
        }
        span
    }
}

/// The metrics that each request has a value of, in registry order.
pub(crate) fn per_request() -> impl Iterator<Item = (&'static Metric, Expr)> {
    METRICS.iter().filter_map(|m| match m.compute {
        Compute::PerRequest(expr) => Some((*m, expr())),
        _ => None,
    })
}

/// The values of those metrics for the requests of `df`, a column of floats each.
pub(crate) fn metric_values(df: &DataFrame) -> PolarsResult<DataFrame> {
    let wanted: Vec<Expr> = per_request().map(|(metric, e)| e.cast(DataType::Float64).alias(metric.id)).collect();
    df.clone().lazy().select(wanted).collect()
}

fn required_columns() -> BTreeSet<&'static str> {
    let all = METRICS.iter().flat_map(|m| m.requires.iter());
    all.filter(|(t, _)| *t == Table::Requests).map(|(_, c)| *c).collect()
}
