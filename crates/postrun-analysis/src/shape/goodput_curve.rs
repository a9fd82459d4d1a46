//! How many requests would meet the objectives if these were stricter or laxer.
//!
//! For each request the factor by which an objective would have to be multiplied so that the request just meets it. The
//! share at factor 1 is the goodput of the report.

use super::Sources;

/// Objectives from a tenth to ten times as lax.
const DECADES: i32 = 1;
const STEPS_A_DECADE: i32 = 40;

/// Share of the requests that meet the objectives, by how lax these are.
#[derive(Debug, Clone, PartialEq)]
pub struct GoodputCurve {
    /// Requests of the scope, failed ones included: they meet nothing.
    pub requests: u64,
    /// Factors on the objectives, rising.
    pub factors: Vec<f64>,
    /// Share that meets all of them, at each factor.
    pub all: Vec<f64>,
    /// Each objective by itself.
    pub each: Vec<ObjectiveCurve>,
}

/// One objective by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveCurve {
    /// Metric id.
    pub metric: &'static str,
    /// The limit at factor 1, in nanoseconds.
    pub at_most_ns: f64,
    /// Share that meets it, at each factor.
    pub shares: Vec<f64>,
}

pub(super) fn of(from: &Sources<'_>) -> Option<GoodputCurve> {
    let (r, objectives) = (from.requests, from.objectives);
    let requests = (0..r.len()).filter(|i| r.belongs(*i, from.window)).count();
    let measurable = objectives.iter().all(|o| o.measured_in(r));
    if objectives.is_empty() || requests == 0 || !measurable {
        return None;
    }
    let factors: Vec<f64> = (-DECADES * STEPS_A_DECADE..=DECADES * STEPS_A_DECADE)
        .map(|k| 10f64.powf(f64::from(k) / f64::from(STEPS_A_DECADE)))
        .collect();
    let shares = |mut needed: Vec<f64>| {
        needed.sort_by(f64::total_cmp);
        factors.iter().map(|f| needed.partition_point(|n| n <= f) as f64 / requests as f64).collect::<Vec<f64>>()
    };
    let needed = |o: &crate::objective::Objective| -> Vec<f64> {
        from.rows().map(|i| o.value(r, from.redefined, i).map_or(f64::INFINITY, |v| v / o.at_most_ns)).collect()
    };
    let single: Vec<Vec<f64>> = objectives.iter().map(needed).collect();
    let worst = |k: usize| single.iter().map(|list| list[k]).fold(0.0, f64::max);
    let all = shares((0..from.rows().count()).map(worst).collect());
    let each = objectives.iter().zip(single);
    let each =
        each.map(|(o, list)| ObjectiveCurve { metric: o.metric, at_most_ns: o.at_most_ns, shares: shares(list) });
    Some(GoodputCurve { requests: requests as u64, all, each: each.collect(), factors })
}
