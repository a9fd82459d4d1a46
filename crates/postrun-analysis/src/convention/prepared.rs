//! Figures of more than one request at a time, made before the others: of the numbers in the `extras` table, of curves,
//! of rates between events and of estimates.
//!
//! One number is in memory at a time; the curves of one definition share the requests they are drawn from.

use super::estimates;
use super::event_rates;
use super::facts::{Columns, Fact};
use super::load_curves::{self, LoadCurve, Streams};
use super::recipe::{Absent, Idle, Recipe};
use super::texts;
use super::weighted::{Weighted, summarise};
use super::{Convention, find};
use crate::error::AnalysisError;
use crate::frames::each_frame;
use crate::parity::ReportedFigure;
use crate::requests::{Outcome, Requests};
use crate::summary::Summary;
use postrun_schema::{Dataset, Extra, Table, find_extra};
use std::collections::BTreeMap;

/// What they are made from.
pub(crate) struct Sources<'a> {
    pub dataset: &'a Dataset,
    pub requests: &'a Requests,
    pub columns: &'a Columns,
    pub percentiles: &'a [f64],
    /// Whether curves over time are drawn.
    pub curves: bool,
}

/// Curves by name, each with what is asked of its idle time, for every definition.
type Curves = BTreeMap<Recipe, BTreeMap<&'static str, (&'static LoadCurve, Vec<Idle>)>>;

/// Summaries in the unit of the number or the curve.
#[derive(Default)]
pub(crate) struct Prepared(BTreeMap<Recipe, BTreeMap<&'static str, Result<Summary, Fact>>>);

/// The number or the estimate that a figure of the run is made of, or the figure itself.
pub(crate) fn made_of(metric: &str) -> &str {
    match metric {
        "context_overflows" => "context_overflow",
        "images_per_s" => "images",
        "videos_per_s" => "videos",
        "audios_per_s" => "audios",
        "sampled_concurrency_share" => "sampled_concurrency",
        itself => itself,
    }
}

impl Prepared {
    /// What the client's figures are made of.
    pub(crate) fn of(sources: &Sources<'_>, reported: &[(ReportedFigure, String)]) -> Result<Prepared, AnalysisError> {
        let mut prepared = Prepared::default();
        let mut curves: Curves = BTreeMap::new();
        for (figure, definition) in reported {
            let Some(Convention { recipe, .. }) = find(definition) else { continue };
            let name = made_of(&figure.metric);
            if prepared.get(name, recipe).is_some() {
                continue;
            }
            if let Some(extra) = find_extra(name) {
                let summary = numbers(sources, extra, recipe)?.ok_or(Fact::OwnNumber);
                prepared.0.entry(*recipe).or_default().insert(extra.name, summary);
            }
            if let Some(figure) = texts::find(name) {
                let summary = match figure.is_of_a_curve() && !sources.curves {
                    true => Err(Fact::Curve),
                    false => {
                        let extras = figure.of.iter().filter_map(|name| find_extra(name));
                        let numbers = extras.map(|extra| by_request(sources, extra)).collect::<Result<Vec<_>, _>>()?;
                        let (of, manifest) = ((sources.requests, sources.columns), sources.dataset.manifest());
                        texts::summary(figure, &numbers, of, manifest, sources.percentiles, recipe)
                    }
                };
                prepared.0.entry(*recipe).or_default().insert(figure.id, summary);
            }
            if let Some(estimate) = estimates::find(name) {
                let values = (estimate.values)(sources.requests, sources.columns);
                let mut values: Vec<Weighted> = values.into_iter().map(|value| (value, 1.0)).collect();
                let summary = summarise(&mut values, sources.percentiles, recipe).ok_or(estimate.needs);
                prepared.0.entry(*recipe).or_default().insert(estimate.id, summary);
            }
            if let Some(rate) = event_rates::find(name) {
                let (of, manifest) = ((sources.requests, sources.columns), sources.dataset.manifest());
                let summary = match sources.curves {
                    true => event_rates::summary(rate, of, manifest, sources.percentiles, recipe),
                    false => Err(Fact::Curve),
                };
                prepared.0.entry(*recipe).or_default().insert(rate.id, summary);
            }
            if let Some(curve) = load_curves::find(name) {
                // Curves that differ in their idle time alone are drawn once.
                let busy = Recipe { idle: Idle::Counted, ..*recipe };
                let (_, wanted) = curves.entry(busy).or_default().entry(curve.id).or_insert((curve, Vec::new()));
                if !wanted.contains(&recipe.idle) {
                    wanted.push(recipe.idle);
                }
            }
        }
        for (recipe, curves) in curves {
            let streams = match sources.curves {
                true => Streams::read(sources.dataset, sources.requests, sources.columns, &recipe)?,
                false => Err(Fact::Curve),
            };
            for (curve, wanted) in curves.into_values() {
                let drawn = streams.as_ref().map(|streams| (streams, curve.draw(streams))).map_err(|fact| *fact);
                for idle in wanted {
                    let summary = match &drawn {
                        Ok((streams, steps)) => Ok(curve.summary(steps, streams, idle, sources.percentiles)),
                        Err(fact) => Err(*fact),
                    };
                    prepared.0.entry(Recipe { idle, ..recipe }).or_default().insert(curve.id, summary);
                }
            }
        }
        Ok(prepared)
    }

    /// By the name of a number or a curve. `None`: nobody asked for it.
    pub(crate) fn get(&self, name: &str, recipe: &Recipe) -> Option<&Result<Summary, Fact>> {
        self.0.get(recipe)?.get(name)
    }
}

/// One number by request.
fn by_request(sources: &Sources<'_>, extra: &Extra) -> Result<Vec<Option<f64>>, AnalysisError> {
    let mut by_request: Vec<Option<f64>> = vec![None; sources.requests.len()];
    each_frame(sources.dataset, Table::Extras, &["request", "name", "value"], |df| {
        let (requests, names) = (df.column("request")?.u32()?, df.column("name")?.str()?);
        for ((request, name), value) in requests.iter().zip(names.iter()).zip(df.column("value")?.f64()?.iter()) {
            let own = request.filter(|_| name == Some(extra.name));
            if let Some(slot) = own.and_then(|i| by_request.get_mut(i as usize)) {
                *slot = value.filter(|v| v.is_finite());
            }
        }
        Ok(())
    })?;
    Ok(by_request)
}

/// The distribution of one number over the requests that take part; `None`: none of them has it.
fn numbers(sources: &Sources<'_>, extra: &Extra, recipe: &Recipe) -> Result<Option<Summary>, AnalysisError> {
    let requests = sources.requests;
    let takes_part = |i: usize| requests.measured[i] && recipe.which.admits(requests.status[i] == Outcome::Ok);
    let by_request = by_request(sources, extra)?;
    let of = |(i, value): (usize, Option<f64>)| match recipe.absent {
        _ if !takes_part(i) => None,
        Absent::Left => value,
        Absent::Zero => Some(value.unwrap_or(0.0)),
    };
    let mut values: Vec<Weighted> =
        by_request.into_iter().enumerate().filter_map(of).map(|value| (value, 1.0)).collect();
    Ok(summarise(&mut values, sources.percentiles, recipe))
}
