//! Single requests of a run as plain columns, for comparisons of runs: what was asked, when, and every per-request value.
//!
//! One row a measured request, in the order of sending (of the file, where send times are not recorded). Gaps between chunks
//! stay in their file: of each request only their number, their sum and how many lie at or below the percentiles of its scope
//! are kept, and of each scope a histogram of fine logarithmic bins. Of a run that was analysed by another convention
//! (`Options::rows`) the values are those of its definitions.

use crate::bucket::BucketEdges;
use crate::chunk_scan::ChunkScan;
use crate::convention::facts::Columns;
use crate::convention::redefined::gap_rule;
use crate::error::AnalysisError;
use crate::frames::each_frame;
use crate::in_flight::InFlight;
use crate::metrics::METRICS;
use crate::moments::gap;
use crate::requests::{Outcome, Requests};
use crate::run::RunAnalysis;
use postrun_schema::{Dataset, Table};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bins of the histogram of gaps in each doubling.
const BINS: f64 = 256.0;
/// Doublings from a nanosecond on; the last bin holds whatever is longer than half a day.
const DOUBLINGS: usize = 46;

/// The rows of one run. Columns of equal length; NaN or `None` where a value is not known.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// Answered.
    pub ok: Vec<bool>,
    /// Since the origin of the run.
    pub sent_ns: Vec<Option<i64>>,
    /// When the last token came.
    pub end_ns: Vec<Option<i64>>,
    /// Length of the prompt.
    pub prompt_tokens: Vec<Option<u32>>,
    /// Length of the answer.
    pub output_tokens: Vec<Option<u32>>,
    /// Requests in flight when it was sent, itself included.
    pub in_flight: Vec<u64>,
    /// Which prompt-length bucket, counted from the shortest.
    pub bucket: Vec<Option<usize>>,
    /// A number for its id, where every request has one.
    pub ids: Option<Vec<u64>>,
    /// Values of each per-request metric that the run has, by metric id; failed requests have none.
    pub metrics: Vec<(&'static str, Vec<f64>)>,
    /// For how many the values of a metric stand, where a convention weighs them.
    pub weights: Vec<(&'static str, Vec<f64>)>,
    /// Gaps between chunks; `None` without chunk times.
    pub gaps: Option<GapSamples>,
}

/// Gaps between chunks by request and by scope.
#[derive(Debug, Clone, Default)]
pub struct GapSamples {
    /// Percentiles that were counted, 0 to 100.
    pub percentiles: Vec<f64>,
    /// Number of gaps of each row.
    pub count: Vec<u32>,
    /// Their sum in nanoseconds.
    pub sum_ns: Vec<f64>,
    /// By percentile, by row: gaps at or below that percentile of the whole run.
    pub below: Vec<Vec<u32>>,
    /// The same for the percentile of the row's bucket.
    pub below_in_bucket: Vec<Vec<u32>>,
    /// Quantiles of all gaps: rising positions from 0 to 1, each with its value in nanoseconds.
    pub curve: Vec<(f64, f64)>,
    /// Quantiles by bucket.
    pub bucket_curves: Vec<Vec<(f64, f64)>>,
}

/// Edges that suit the prompts of all these runs together.
pub fn shared_edges(datasets: &[&Dataset]) -> Result<BucketEdges, AnalysisError> {
    let mut lengths = Vec::new();
    for dataset in datasets {
        let r = Requests::load(dataset)?;
        lengths.extend((0..r.len()).filter(|i| r.measured[*i]).filter_map(|i| r.prompt_tokens[i]));
    }
    Ok(BucketEdges::automatic(&lengths))
}

/// The rows of `dataset`, of which `run` is the analysis with buckets at `edges`.
pub fn samples(dataset: &Dataset, run: &RunAnalysis, edges: &BucketEdges) -> Result<Samples, AnalysisError> {
    let r = Requests::load(dataset)?;
    let in_flight = InFlight::of(&r);
    let mut order: Vec<usize> = (0..r.len()).filter(|i| r.measured[*i]).collect();
    order.sort_by_key(|i| (r.sent_ns[*i].unwrap_or(i64::MAX), *i));
    let bucket = |i: &usize| r.prompt_tokens[*i].map(|length| edges.0.partition_point(|e| *e <= length).max(1) - 1);
    let value = |column: &[f64], i: usize| if r.counts(i) { column[i] } else { f64::NAN };
    let metrics = METRICS.iter().filter_map(|m| {
        let column = match run.rows.iter().find(|c| c.metric == m.id) {
            Some(own) => Some(own.values.as_slice()).filter(|values| values.iter().any(|v| v.is_finite())),
            None => r.metric(m.id),
        }?;
        Some((m.id, order.iter().map(|i| value(column, *i)).collect()))
    });
    let weights = run.rows.iter().filter_map(|c| {
        let column = c.weights.as_ref()?;
        Some((c.metric, order.iter().map(|i| column[*i]).collect()))
    });
    let mut out = Samples {
        ok: order.iter().map(|i| r.status[*i] == Outcome::Ok).collect(),
        sent_ns: order.iter().map(|i| r.sent_ns[*i]).collect(),
        end_ns: order.iter().map(|i| r.end_ns(*i)).collect(),
        prompt_tokens: order.iter().map(|i| r.prompt_tokens[*i]).collect(),
        output_tokens: order.iter().map(|i| r.output_tokens[*i]).collect(),
        in_flight: order.iter().map(|i| r.sent_ns[*i].map_or(0, |at| in_flight.level(at))).collect(),
        bucket: order.iter().map(bucket).collect(),
        ids: ids(dataset, &order)?,
        metrics: metrics.collect(),
        weights: weights.collect(),
        gaps: None,
    };
    out.gaps = gap_samples(dataset, &r, run, &order, &out.bucket, edges)?;
    Ok(out)
}

/// A number for each id; `None` where one lacks.
fn ids(dataset: &Dataset, order: &[usize]) -> Result<Option<Vec<u64>>, AnalysisError> {
    let mut all = Vec::new();
    each_frame(dataset, Table::Requests, &["request_id"], |df| {
        let number = |id: &str| {
            let mut hasher = DefaultHasher::new();
            id.hash(&mut hasher);
            hasher.finish()
        };
        all.extend(df.column("request_id")?.str()?.iter().map(|id| id.map(number)));
        Ok(())
    })?;
    Ok(order.iter().map(|i| all.get(*i).copied().flatten()).collect())
}

fn gap_samples(
    dataset: &Dataset,
    r: &Requests,
    run: &RunAnalysis,
    order: &[usize],
    buckets: &[Option<usize>],
    edges: &BucketEdges,
) -> Result<Option<GapSamples>, AnalysisError> {
    // Some clients call a mean a request inter-token latency: it has no gaps.
    let Some(whole) = run.metric("itl_ms").filter(|_| run.convention.itl_is_gaps()) else { return Ok(None) };
    let Some(scan) = ChunkScan::new(dataset, r)? else { return Ok(None) };
    let rule = gap_rule(run.convention);
    let columns = if run.convention.is_another() { Columns::load(dataset)? } else { Columns::default() };
    let percentiles: Vec<f64> = whole.percentiles.iter().map(|p| p.p).collect();
    let limits: Vec<f64> = whole.percentiles.iter().map(|p| p.value).collect();
    let of_bucket = |lo: &u32| {
        let bucket = run.buckets.iter().find(|b| b.lo == Some(*lo))?;
        let summary = &bucket.metrics.iter().find(|m| m.metric == "itl_ms")?.summary;
        Some(summary.percentiles.iter().map(|p| p.value).collect::<Vec<f64>>())
    };
    let bucket_limits: Vec<Option<Vec<f64>>> = edges.0.iter().map(of_bucket).collect();
    let rows = order.len();
    let mut row_of = vec![usize::MAX; r.len()];
    order.iter().enumerate().for_each(|(row, i)| row_of[*i] = row);
    let mut out = GapSamples {
        count: vec![0; rows],
        sum_ns: vec![0.0; rows],
        below: vec![vec![0; rows]; percentiles.len()],
        below_in_bucket: vec![vec![0; rows]; percentiles.len()],
        percentiles,
        ..GapSamples::default()
    };
    let mut bins = vec![Histogram::new(); edges.0.len()];
    let mut unknown = Histogram::new();
    scan.run(|chunks| {
        let Some(row) = row_of.get(chunks.request).copied().filter(|row| *row < rows) else { return };
        let bucket = buckets[row];
        let own = bucket.and_then(|b| bucket_limits.get(b)?.as_deref());
        let bins = bucket.and_then(|b| bins.get_mut(b)).unwrap_or(&mut unknown);
        let mut add = |ns: u64, times: u32| {
            let value = ns as f64;
            out.count[row] += times;
            out.sum_ns[row] += value * f64::from(times);
            for (k, limit) in limits.iter().enumerate() {
                out.below[k][row] += if value <= *limit { times } else { 0 };
            }
            for (k, limit) in own.unwrap_or_default().iter().enumerate() {
                out.below_in_bucket[k][row] += if value <= *limit { times } else { 0 };
            }
            bins.add(value, u64::from(times));
        };
        chunks.at_ns.windows(2).for_each(|times| add(gap(times[0], times[1]), 1));
        rule.extra(columns.first_byte(chunks.request), chunks, |_, gap, times| {
            add(gap, u32::try_from(times).unwrap_or(u32::MAX));
        });
    })?;
    out.bucket_curves = bins.iter().map(Histogram::curve).collect();
    bins.iter().for_each(|b| unknown.merge(b));
    out.curve = unknown.curve();
    Ok(Some(out))
}

/// Counts of values in logarithmic bins.
#[derive(Clone)]
struct Histogram(Vec<u64>);

impl Histogram {
    fn new() -> Histogram {
        Histogram(vec![0; DOUBLINGS * BINS as usize + 1])
    }

    fn add(&mut self, value: f64, times: u64) {
        let bin = if value < 1.0 { 0 } else { (value.log2() * BINS) as usize + 1 };
        let last = self.0.len() - 1;
        self.0[bin.min(last)] += times;
    }

    fn merge(&mut self, other: &Histogram) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
    }

    /// The upper ends of the bins that hold values, with the share of values up to each.
    fn curve(&self) -> Vec<(f64, f64)> {
        let all: u64 = self.0.iter().sum();
        let (mut seen, mut out) = (0u64, Vec::new());
        for (bin, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            if seen == 0 {
                out.push((0.0, if bin == 0 { 0.0 } else { ((bin - 1) as f64 / BINS).exp2() }));
            }
            seen += count;
            out.push((seen as f64 / all as f64, (bin as f64 / BINS).exp2()));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_keeps_quantiles_to_a_third_of_a_percent() {
        let mut h = Histogram::new();
        (1..=1000).for_each(|v| h.add(f64::from(v) * 1e6, 1));
        let curve = h.curve();
        let median = curve.iter().find(|(at, _)| *at >= 0.5).unwrap().1;
        assert!((median / 500e6 - 1.0).abs() < 0.003, "{median}");
        assert_eq!(curve.last().unwrap().0, 1.0);
        assert!(Histogram::new().curve().is_empty());
    }
}
