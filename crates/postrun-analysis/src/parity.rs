//! What the client reported, beside what its own recording says.
//!
//! Every figure that the client stored of its own run is computed again from the per-request records, by postrun's
//! definitions. They agree within 1e-6 (times within a nanosecond), or the report names the definition that differs: the
//! client's stopwatch around the run, a latency that runs to the closing chunk, prompts counted by another tokenizer.
//! A figure that the records cannot give is listed with the reason. A file that holds the client's summary only has
//! nothing to compare but rates, which follow from its totals and its duration.

use crate::convention::{Difference, find};
use crate::error::AnalysisError;
use crate::frames::{polars_error, table};
use crate::percentile::Rank;
use polars::prelude::*;
use postrun_schema::{Dataset, IssueCode, Table};
use serde::Serialize;

/// Largest relative difference that counts as agreement: files store full double precision, times are rounded to the
/// nanosecond.
const TOLERANCE: f64 = 1e-6;
/// Times are kept to the nanosecond.
const ROUNDING_MS: f64 = 1e-6;

/// A figure the client stored, and ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedFigure {
    /// postrun's metric id, or the tool's key.
    pub metric: String,
    /// Statistic: `value`, `mean`, `p99` …
    pub stat: String,
    /// The tool's own name of it.
    pub key: String,
    /// Unit of both values.
    pub unit: String,
    /// As stored; `None`: not a finite number.
    pub reported: Option<f64>,
    /// Recomputed; `None`: the recording cannot give it.
    pub computed: Option<f64>,
    /// Whether they agree; `None`: nothing to compare.
    pub agrees: Option<bool>,
    /// Why they differ or cannot be compared, or by which definition of the client's they agree.
    pub why: Option<String>,
}

impl ReportedFigure {
    /// True for a difference that no known definition accounts for.
    pub fn is_unexplained(&self) -> bool {
        self.agrees == Some(false) && self.why.as_deref() == Some(UNEXPLAINED)
    }
}

const UNEXPLAINED: &str = "differs, and no known definition accounts for it";

/// The rows of the `reported` table, not compared yet, with their convention.
pub(crate) fn load(dataset: &Dataset) -> Result<Vec<(ReportedFigure, String)>, AnalysisError> {
    let Some(frame) = table(dataset, Table::Reported)? else { return Ok(Vec::new()) };
    let read = || -> PolarsResult<Vec<(ReportedFigure, String)>> {
        let df = frame.collect()?;
        let text = |name: &str| -> PolarsResult<Vec<String>> {
            Ok(df.column(name)?.str()?.iter().map(|v| v.unwrap_or_default().to_string()).collect())
        };
        let (metric, stat, key, unit) = (text("metric")?, text("stat")?, text("key")?, text("unit")?);
        let convention = text("convention")?;
        let value: Vec<Option<f64>> = df.column("value")?.f64()?.iter().collect();
        let figure = |i: usize| ReportedFigure {
            metric: metric[i].clone(),
            stat: stat[i].clone(),
            key: key[i].clone(),
            unit: unit[i].clone(),
            reported: value[i],
            computed: None,
            agrees: None,
            why: None,
        };
        Ok((0..df.height()).map(|i| (figure(i), convention[i].clone())).collect())
    };
    read().map_err(polars_error(dataset))
}

/// Durations of a few nanoseconds, and a spread of nothing, are equal within the rounding of a time.
fn agree(ours: f64, theirs: f64, unit: &str) -> bool {
    let rounding = if unit == "ms" { ROUNDING_MS } else { 0.0 };
    (ours - theirs).abs() <= (TOLERANCE * theirs.abs().max(ours.abs())).max(rounding)
}

/// Our figures by metric and statistic, in the unit of the metric's id.
pub(crate) struct Ours<'a> {
    pub figure: &'a dyn Fn(&str, &str) -> Option<f64>,
    /// A percentile without interpolation.
    pub ranked: &'a dyn Fn(&str, &str, Rank) -> Option<f64>,
}

impl Ours<'_> {
    /// By the client's way of taking percentiles, where it is not ours. Of two ways, as versions of a client have them, the
    /// one that comes nearer.
    fn of(&self, figure: &ReportedFigure, ranks: &[Rank]) -> Option<f64> {
        let distance = |value: &f64| figure.reported.map_or(0.0, |theirs| (value - theirs).abs());
        let ranked = ranks.iter().filter_map(|rank| (self.ranked)(&figure.metric, &figure.stat, *rank));
        let nearest = ranked.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.or_else(|| (self.figure)(&figure.metric, &figure.stat))
    }
}

/// Compares each figure with ours.
pub(crate) fn compare(
    figures: Vec<(ReportedFigure, String)>,
    dataset: &Dataset,
    ok_requests: u64,
    has_rows: bool,
    ours_of: &Ours<'_>,
) -> Vec<ReportedFigure> {
    let has_issue = |code: IssueCode| dataset.manifest().issues.iter().any(|i| i.code == code);
    let judge = |(mut figure, convention): (ReportedFigure, String)| {
        let convention = find(&convention);
        let elsewhere = convention.filter(|c| c.not_computable);
        // Without records, only rates follow from what the file holds: the client's totals over its duration.
        if elsewhere.is_none() && (has_rows || figure.metric.ends_with("_per_s")) {
            figure.computed = ours_of.of(&figure, convention.map_or(&[], |c| c.ranks));
        }
        match (figure.computed, figure.reported) {
            (Some(ours), Some(theirs)) => {
                let other = convention.and_then(|c| (ours_of.figure)(c.otherwise?, &figure.stat));
                figure.agrees = Some(agree(ours, theirs, &figure.unit));
                if let (Some(other), Some(c), false) = (other, convention, agree(ours, theirs, &figure.unit))
                    && agree(other, theirs, &figure.unit)
                {
                    (figure.computed, figure.agrees, figure.why) = (Some(other), Some(true), Some(c.text.to_string()));
                } else if !agree(ours, theirs, &figure.unit) {
                    let difference =
                        Difference { computed: ours, reported: theirs, stat: &figure.stat, has_issue: &has_issue };
                    let explained = convention.filter(|c| (c.explains)(&difference));
                    figure.why = Some(explained.map_or(UNEXPLAINED, |c| c.text).to_string());
                } else if let Some(c) = convention.filter(|c| !c.ranks.is_empty() && figure.stat.starts_with('p')) {
                    // Recomputed the client's way: the report's own percentile is another number.
                    figure.why = Some(c.text.to_string());
                }
            }
            (_, None) => figure.why = Some("the client stored no finite number".to_string()),
            (None, Some(theirs)) => {
                let why = if let Some(c) = elsewhere {
                    c.text
                } else if !has_rows {
                    "the file holds the client's summary only, no per-request records"
                } else if ok_requests == 0 && theirs == 0.0 {
                    "no request succeeded; the client stores 0 where there is nothing to average"
                } else {
                    "the recording does not hold what it is made of (see unavailable)"
                };
                figure.why = Some(why.to_string());
            }
        }
        figure
    };
    figures.into_iter().map(judge).collect()
}
