//! What the client reported, beside what its own recording says.
//!
//! Every figure that the client stored of its own run is computed again from the per-request records, by the client's own
//! definition of it: its first token, its end of a request, its tokens, its weights and its percentiles. They agree
//! within 1e-6 (times within a nanosecond; the last decimal where the client rounds), or the report says why not.
//! A figure that the records cannot give is no agreement: it is listed with the fact that nobody recorded, such as the client's
//! stopwatch around the run, the end of each response, or the prompt lengths of its tokenizer. Where postrun's nearest
//! figure lies on the wrong side of it, the missing fact is no excuse, and the figure differs. A file that holds the
//! client's summary only has nothing to compare but rates, which follow from its totals and its duration.

use crate::convention::computed::Computed;
use crate::convention::facts::Fact;
use crate::convention::recipe::{From, Itl, POSTRUN, Recipe, Start, Which};
use crate::convention::{Convention, Difference, find};
use crate::error::AnalysisError;
use crate::frames::each_frame;
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
    /// Why they differ or cannot be compared.
    pub why: Option<String>,
    /// Id of the definition by which the client computed it.
    pub definition: String,
}

impl ReportedFigure {
    /// Ours against theirs, as a share of theirs; `None` where it is no number.
    pub fn difference(&self) -> Option<f64> {
        let (ours, theirs) = self.computed.zip(self.reported)?;
        Some((ours - theirs) / theirs).filter(|share| share.is_finite())
    }

    /// True unless it is of other requests than the answered ones, or counts from another start: of several figures of one
    /// metric this is the one to show.
    pub fn is_plain(&self) -> bool {
        let recipe = find(&self.definition).map_or(POSTRUN, |by| by.recipe);
        recipe.which == Which::Ok && recipe.start == Start::Send
    }

    /// True where time up to the first token is part of the figure, which is no part of the metric it is nearest to: it is
    /// not to be shown as that metric.
    pub fn includes_ttft(&self) -> bool {
        let recipe = find(&self.definition).map_or(POSTRUN, |by| by.recipe);
        match self.metric.as_str() {
            "itl_ms" => recipe.itl == Itl::RequestMeanWithTtft,
            "tpot_ms" => recipe.from == From::Start,
            _ => false,
        }
    }

    /// True where `postrun parity` alone recomputes it.
    pub fn is_left_to_parity(&self) -> bool {
        self.agrees.is_none() && self.why.as_deref() == Some(Fact::Curve.why().as_str())
    }

    /// True for a difference that no known definition accounts for.
    pub fn is_unexplained(&self) -> bool {
        self.agrees == Some(false) && self.why.as_deref() == Some(UNEXPLAINED)
    }
}

const UNEXPLAINED: &str = "differs, and no known definition accounts for it";

/// The rows of the `reported` table, not compared yet, with their convention.
pub(crate) fn load(dataset: &Dataset) -> Result<Vec<(ReportedFigure, String)>, AnalysisError> {
    let mut out = Vec::new();
    let columns = ["metric", "stat", "key", "unit", "convention", "value"];
    each_frame(dataset, Table::Reported, &columns, |df| {
        let text = |name: &str| df.column(name)?.str();
        let (metric, stat, key, unit) = (text("metric")?, text("stat")?, text("key")?, text("unit")?);
        let (convention, value) = (text("convention")?, df.column("value")?.f64()?);
        let at = |column: &StringChunked, i: usize| column.get(i).unwrap_or_default().to_string();
        out.extend((0..df.height()).map(|i| {
            let convention = at(convention, i);
            let figure = ReportedFigure {
                metric: at(metric, i),
                stat: at(stat, i),
                key: at(key, i),
                unit: at(unit, i),
                reported: value.get(i),
                computed: None,
                agrees: None,
                why: None,
                definition: definition_and_rounding(&convention).0.to_string(),
            };
            (figure, convention)
        }));
        Ok(())
    })?;
    Ok(out)
}

/// Takes `chunk_gaps@0.005` apart: the id of a definition, and the largest rounding of this figure.
fn definition_and_rounding(convention: &str) -> (&str, f64) {
    let (id, rounding) = convention.split_once('@').unwrap_or((convention, ""));
    (id, rounding.parse().ok().filter(|r: &f64| r.is_finite() && *r > 0.0).unwrap_or(0.0))
}

/// Durations of a few nanoseconds, and a spread of nothing, are equal within the rounding of a time.
fn agree(ours: f64, theirs: f64, unit: &str, rounding: f64) -> bool {
    let rounding = rounding.max(if unit == "ms" { ROUNDING_MS } else { 0.0 });
    (ours - theirs).abs() <= (TOLERANCE * theirs.abs().max(ours.abs())).max(rounding)
}

/// What the figures are compared with.
pub(crate) struct Ours<'a> {
    pub dataset: &'a Dataset,
    pub ok_requests: u64,
    /// Whether there are per-request records.
    pub has_rows: bool,
    pub computed: &'a Computed<'a>,
}

/// Compares each figure with what the records give by the client's definition of it.
pub(crate) fn compare(figures: Vec<(ReportedFigure, String)>, ours: &Ours<'_>) -> Vec<ReportedFigure> {
    let judge = |(figure, convention): (ReportedFigure, String)| {
        let (id, rounding) = definition_and_rounding(&convention);
        ours.judge(figure, find(id), rounding)
    };
    figures.into_iter().map(judge).collect()
}

impl Ours<'_> {
    fn judge(&self, mut figure: ReportedFigure, by: Option<&Convention>, rounding: f64) -> ReportedFigure {
        let Some(theirs) = figure.reported else {
            figure.why = Some("the client stored no finite number".to_string());
            return figure;
        };
        let recipe = by.map_or(POSTRUN, |by| by.recipe);
        let elsewhere = by.filter(|by| by.not_computable);
        let get = |metric: &str, recipe: &Recipe| self.computed.stat(metric, &figure.stat, recipe);
        // Without records, only rates follow from what the file holds: the client's totals over its duration.
        let possible = elsewhere.is_none() && (self.has_rows || figure.metric.ends_with("_per_s"));
        let value = possible.then(|| get(&figure.metric, &recipe)).flatten();
        let last_decimal = by.map_or(0.0, |by| by.rounding).max(rounding);
        // Of a summary alone the duration has the last decimal of a figure too.
        let rounding = match self.computed.facts.duration_s.filter(|_| !self.has_rows) {
            Some(seconds) => last_decimal * (1.0 + theirs.abs() / seconds),
            None => last_decimal,
        };
        let same = |ours: f64| agree(ours, theirs, &figure.unit, rounding);
        if let Some(ours) = value.filter(|ours| same(*ours)) {
            (figure.computed, figure.agrees) = (Some(ours), Some(true));
            return figure;
        }
        let other = by.and_then(|by| get(by.otherwise?, &POSTRUN)).filter(|other| same(*other));
        if let (Some(other), Some(by)) = (other, by) {
            (figure.computed, figure.agrees, figure.why) = (Some(other), Some(true), Some(by.text.to_string()));
            return figure;
        }
        let older = by.and_then(|by| get(&figure.metric, by.older.as_ref()?)).filter(|_| possible);
        if let Some(ours) = older.filter(|ours| same(*ours)) {
            (figure.computed, figure.agrees) = (Some(ours), Some(true));
            return figure;
        }
        // The nearest there is: by it is judged whether what is missing can be all of the difference.
        let nearest = value.or_else(|| possible.then(|| get(&figure.metric, &POSTRUN)).flatten());
        if let Some(nearest) = nearest.filter(|nearest| same(*nearest)) {
            (figure.computed, figure.agrees) = (Some(nearest), Some(true));
            return figure;
        }
        let missing = possible.then(|| self.computed.missing(&figure.metric, &recipe)).flatten();
        let lacks = match missing {
            // Not for want of a fact.
            Some(fact @ (Fact::Curve | Fact::RoomForGaps)) => Some(fact.why()),
            _ => by.and_then(|by| by.lacks).map(|fact| format!("not recorded: {fact}")).or(missing.map(Fact::why)),
        };
        let explained =
            by.filter(|by| nearest.is_none_or(|computed| self.explains(by, computed, theirs, &figure.stat)));
        match (nearest, lacks, explained) {
            (Some(_), Some(fact), Some(by)) => {
                figure.why = Some(if by.text.is_empty() { fact } else { format!("{fact}; {}", by.text) });
            }
            (Some(computed), None, Some(by)) => {
                (figure.computed, figure.agrees, figure.why) = (Some(computed), Some(false), Some(by.text.to_string()));
            }
            (Some(computed), _, None) => {
                (figure.computed, figure.agrees) = (Some(computed), Some(false));
                figure.why = Some(self.losses().unwrap_or_else(|| UNEXPLAINED.to_string()));
            }
            (None, lacks, _) => figure.why = Some(self.not_recomputed(&figure.stat, theirs, elsewhere, lacks)),
        }
        figure
    }

    fn explains(&self, by: &Convention, computed: f64, reported: f64, stat: &str) -> bool {
        let issues = &self.dataset.manifest().issues;
        let affected = |code: IssueCode| issues.iter().filter(|i| i.code == code).map(|i| i.count).sum();
        (by.explains)(&Difference { computed, reported, stat, affected: &affected })
    }

    /// What is missing of the recording: the figures of the whole run cannot follow from the rest.
    fn losses(&self) -> Option<String> {
        // A file that holds nothing was never a part of this run.
        let lost = self.dataset.manifest().issues.iter().filter(|i| i.code != IssueCode::FileNotUsed);
        let losses: Vec<&str> = lost.filter_map(|i| i.code.loss()).collect();
        (!losses.is_empty()).then(|| format!("the recording is not whole: {}", losses.join("; ")))
    }

    fn not_recomputed(&self, stat: &str, theirs: f64, elsewhere: Option<&Convention>, lacks: Option<String>) -> String {
        match (elsewhere, lacks) {
            (Some(by), _) => by.text.to_string(),
            _ if !self.has_rows => "the file holds the client's summary only, no per-request records".to_string(),
            _ if self.ok_requests == 0 && theirs == 0.0 && stat != "value" => {
                "no request succeeded; the client stores 0 where there is nothing to average".to_string()
            }
            (None, Some(lacks)) => lacks,
            (None, None) => "the recording does not hold what it is made of (see unavailable)".to_string(),
        }
    }
}
