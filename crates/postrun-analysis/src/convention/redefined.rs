//! The metrics of a report under the convention that was asked for.

use super::client::ClientConvention;
use super::computed::Computed;
use super::facts::Fact;
use super::quantity;
use super::recipe::{POSTRUN, Recipe};
use super::weighted::{Weighted, summarise};
use crate::gap_rule::GapRule;
use crate::metric::{Compute, Metric};
use crate::metrics::METRICS;
use crate::summary::Summary;

/// Values of single requests of one metric that another convention defines, in the dataset's order.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestColumn {
    /// Metric id.
    pub metric: &'static str,
    /// In the metric's unit, NaN where a request has none; empty where the recording lacks a fact that the definition needs.
    pub values: Vec<f64>,
    /// For how many each value stands; `None`: for one.
    pub weights: Option<Vec<f64>>,
}

/// A metric by another definition.
struct Column {
    recipe: Recipe,
    /// By request.
    values: Vec<Option<Weighted>>,
    missing: Option<Fact>,
}

/// Every metric that the convention defines otherwise, by position in the registry.
#[derive(Default)]
pub(crate) struct Redefined {
    columns: Vec<Option<Column>>,
    runs: Vec<(&'static str, Option<f64>, Option<Fact>)>,
}

impl Redefined {
    pub(crate) fn by(client: &ClientConvention, computed: &Computed<'_>) -> Redefined {
        let column = |metric: &&'static Metric| {
            let recipe = client.definition(metric.id)?.recipe;
            let missing = computed.missing(metric.id, &recipe);
            let by_gap = matches!(metric.compute, Compute::PerGap(_)) && GapRule::of(&recipe).is_some();
            if matches!(metric.compute, Compute::PerRun(_)) || (by_gap && missing.is_none()) {
                return None;
            }
            let quantity = quantity::find(metric.id).filter(|_| missing.is_none());
            let values = quantity.map_or(Vec::new(), |quantity| computed.column(quantity, &recipe));
            Some(Column { recipe, values, missing })
        };
        let run = |metric: &&'static Metric| {
            let recipe = client.definition(metric.id).filter(|_| matches!(metric.compute, Compute::PerRun(_)))?.recipe;
            let missing = computed.missing(metric.id, &recipe);
            let value = computed.run(metric.id, &recipe).filter(|_| missing.is_none());
            Some((metric.id, value, missing))
        };
        Redefined { columns: METRICS.iter().map(column).collect(), runs: METRICS.iter().filter_map(run).collect() }
    }

    /// The values of single requests.
    pub(crate) fn rows(&self) -> Vec<RequestColumn> {
        let row = |(column, metric): (&Option<Column>, &&'static Metric)| {
            let values = &column.as_ref()?.values;
            let value = |v: &Option<Weighted>| v.map_or(f64::NAN, |(value, _)| value);
            let weight = |v: &Option<Weighted>| v.map_or(0.0, |(_, weight)| weight);
            let weigh = values.iter().flatten().any(|(_, weight)| *weight != 1.0);
            Some(RequestColumn {
                metric: metric.id,
                values: values.iter().map(value).collect(),
                weights: weigh.then(|| values.iter().map(weight).collect()),
            })
        };
        self.columns.iter().zip(METRICS).filter_map(row).collect()
    }

    /// What is known of a part of the run: clients define their rates over all of it.
    pub(crate) fn of_a_part(&self) -> Redefined {
        let runs = self.runs.iter().map(|(id, _, missing)| (*id, None, *missing));
        Redefined { columns: Vec::new(), runs: runs.collect() }
    }

    /// True where the metric at this position is not postrun's own.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.columns.get(position).is_some_and(Option::is_some)
    }

    /// The value of request `i`, NaN where it has none; `None`: not redefined.
    pub(crate) fn value(&self, position: usize, i: usize) -> Option<f64> {
        let column = self.columns.get(position)?.as_ref()?;
        Some(column.values.get(i).copied().flatten().map_or(f64::NAN, |(value, _)| value))
    }

    /// The distribution over some requests.
    pub(crate) fn summary(&self, position: usize, rows: &[usize], percentiles: &[f64]) -> Option<Summary> {
        let column = self.columns.get(position)?.as_ref()?;
        let mut values: Vec<Weighted> = rows.iter().filter_map(|i| column.values.get(*i).copied().flatten()).collect();
        summarise(&mut values, percentiles, &column.recipe)
    }

    /// A figure of the run; `None`: not redefined, `Some(None)`: not to be had.
    pub(crate) fn run(&self, metric: &str) -> Option<Option<f64>> {
        self.runs.iter().find(|(id, ..)| *id == metric).map(|(_, value, _)| *value)
    }

    /// The fact for want of which a metric has no value.
    pub(crate) fn missing(&self, metric: &str) -> Option<Fact> {
        let of_run = self.runs.iter().find(|(id, ..)| *id == metric).and_then(|(.., missing)| *missing);
        let position = METRICS.iter().position(|m| m.id == metric);
        of_run.or_else(|| self.columns.get(position?)?.as_ref()?.missing)
    }
}

/// The rule by which the report's gaps are pooled.
pub(crate) fn gap_rule(client: &ClientConvention) -> GapRule {
    let recipe = client.definition("itl_ms").map_or(POSTRUN, |definition| definition.recipe);
    GapRule::of(&recipe).unwrap_or_default()
}
