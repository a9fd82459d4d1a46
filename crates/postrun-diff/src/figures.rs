//! The figures of one run that are compared, each with what every stretch of the run adds to it.

use crate::shift::{SHIFTED, drawn_alone};
use crate::side::SideRun;
use crate::stats::curve::Curve;
use crate::stats::figure::{Figure, Sums};
use crate::verdict::Reason;
use postrun_analysis::{Better, GapSamples, METRICS, Samples, Summary, expected_beyond};

/// Percentiles that are compared.
pub(crate) const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];
/// Fewer values in a scope than this say nothing of a change.
pub(crate) const FEWEST: usize = 20;
/// Fewer values expected beyond a percentile than this, and it rests on single requests.
const FEWEST_BEYOND: f64 = 5.0;
/// A mean that so few values make rests on single requests.
const FEWEST_CARRIERS: f64 = 10.0;
/// Most stretches a run is cut into.
const MOST_STRETCHES: usize = 512;
/// Latencies that contain the wait for a server that may not keep up.
const WAITS: [&str; 5] = ["ttft_ms", "e2e_ms", "queue_ms", "server_ttft_ms", "e2e_per_output_token_ms"];
/// Metrics whose course decides how long blocks must be.
const SETS_LENGTH: [&str; 4] = ["ttft_ms", "tpot_ms", "e2e_ms", "queue_ms"];

/// Which figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub metric: &'static str,
    /// `mean`, `p50` …, `value`, `paired`.
    pub stat: String,
    /// `None`: the whole run.
    pub bucket: Option<usize>,
}

impl Key {
    /// True for a percentile that is drawn, and on which nothing is decided.
    pub(crate) fn drawn_alone(&self) -> bool {
        drawn_alone(&self.stat)
    }

    pub(crate) fn waits(&self) -> bool {
        WAITS.contains(&self.metric)
    }

    /// True for the wait in the client: where its number in flight is limited, it rises for the whole run.
    pub(crate) fn own_course(&self) -> bool {
        self.metric == "client_queue_ms"
    }

    /// True for a wait inside TTFT or before it, which may be next to nothing beside it.
    pub(crate) fn beside_ttft(&self) -> bool {
        ["queue_ms", "client_queue_ms"].contains(&self.metric)
    }

    pub(crate) fn sets_length(&self) -> bool {
        self.bucket.is_none()
            && SETS_LENGTH.contains(&self.metric)
            && ["mean", "p50", "p90"].contains(&self.stat.as_str())
    }

    pub(crate) fn better(&self) -> Better {
        METRICS.iter().find(|m| m.id == self.metric).map_or(Better::Neither, |m| m.better)
    }
}

/// A figure, or why it says nothing of a change.
pub(crate) struct Found {
    pub key: Key,
    pub value: f64,
    pub count: u64,
    pub figure: Result<Figure, Reason>,
}

/// How many stretches runs of these lengths are cut into.
pub(crate) fn stretches(rows: impl Iterator<Item = usize>) -> usize {
    rows.min().unwrap_or(0).min(MOST_STRETCHES)
}

/// All figures of a run with `buckets` prompt-length buckets; with `drawn`, more percentiles of the whole run.
pub(crate) fn figures(run: &SideRun, buckets: usize, stretches: usize, drawn: &[f64]) -> Vec<Found> {
    let s = &run.samples;
    let rows = s.ok.len();
    let cut = Cut { rows, stretches };
    let mut out = Vec::new();
    let more = [&PERCENTILES, drawn].concat();
    let percentiles = |metric: &str, bucket: Option<usize>| match bucket.is_none() && SHIFTED.contains(&metric) {
        true => more.as_slice(),
        false => &PERCENTILES,
    };
    let scopes = std::iter::once(None).chain((0..buckets).map(Some).filter(|_| buckets > 1));
    for bucket in scopes {
        let inside: Vec<usize> = (0..rows).filter(|i| bucket.is_none() || s.bucket[*i] == bucket).collect();
        // What describes the load belongs to the question, which `comparable` looks at, not to the answer.
        let answers = |id: &str| METRICS.iter().any(|m| m.id == id && m.better != Better::Neither);
        for (metric, column) in s.metrics.iter().filter(|(id, _)| answers(id)) {
            let key = (*metric, bucket, percentiles(metric, bucket));
            of_column(run, key, column, &inside, &cut, &mut out);
        }
        if let Some(gaps) = &s.gaps {
            of_gaps(run, gaps, (bucket, percentiles("itl_ms", bucket)), &inside, &cut, &mut out);
        }
    }
    rates(run, &cut, &mut out);
    out
}

/// Rows cut into stretches of equal size.
pub(crate) struct Cut {
    pub rows: usize,
    pub stretches: usize,
}

impl Cut {
    pub(crate) fn stretch(&self, row: usize) -> usize {
        row * self.stretches / self.rows.max(1)
    }
}

fn of_column(
    run: &SideRun,
    (metric, bucket, percentiles): (&'static str, Option<usize>, &[f64]),
    column: &[f64],
    inside: &[usize],
    cut: &Cut,
    out: &mut Vec<Found>,
) {
    let known: Vec<usize> = inside.iter().copied().filter(|i| column[*i].is_finite()).collect();
    let mut values: Vec<f64> = known.iter().map(|i| column[*i]).collect();
    let n = values.len();
    let Some(curve) = Curve::of(&mut values) else { return };
    let weights = run.samples.weights.iter().find(|(id, _)| *id == metric).map(|(_, w)| w);
    let weight = |i: usize| weights.and_then(|w| w.get(i)).copied().unwrap_or(1.0);
    let curve = match weights {
        Some(_) => weighted_curve(known.iter().map(|i| (column[*i], weight(*i))).collect()).unwrap_or(curve),
        None => curve,
    };
    // By another convention: its own percentiles, whatever their method.
    let theirs = summary_of(run, metric, bucket).filter(|_| run.run.convention.is_another());
    let sums = |over: &dyn Fn(f64) -> f64| {
        let mut sums = Sums::new(cut.stretches);
        known.iter().for_each(|i| sums.add(cut.stretch(*i), over(column[*i]) * weight(*i), weight(*i)));
        sums
    };
    let mut push = |stat: String, value: f64, figure: Option<Figure>, enough: bool| {
        let figure = match enough {
            true => figure.ok_or(Reason::NotANumber),
            false => Err(Reason::TooFewRequests),
        };
        out.push(Found { key: Key { metric, stat, bucket }, value, count: n as u64, figure });
    };
    let mean = sums(&|v| v).ratio(n as f64);
    let carries = carriers(&values) >= FEWEST_CARRIERS;
    let plain = values.iter().sum::<f64>() / n as f64;
    push("mean".to_string(), theirs.map_or(plain, |s| s.mean), mean, n >= FEWEST && carries);
    for p in percentiles {
        let q = p / 100.0;
        let value = theirs.and_then(|s| s.percentile(*p)).map_or_else(|| exact(&values, q), |p| p.value);
        let figure = sums(&|v| f64::from(v <= value)).percentile(q, value, curve.clone());
        push(format!("p{p}"), value, figure, n >= FEWEST && expected_beyond(n as u64, *p) >= FEWEST_BEYOND);
    }
}

/// The distribution of a metric over the whole run or in a bucket.
fn summary_of<'a>(run: &'a SideRun, metric: &str, bucket: Option<usize>) -> Option<&'a Summary> {
    match bucket {
        None => run.run.metric(metric),
        Some(b) => run.run.buckets.get(b)?.metrics.iter().find(|m| m.metric == metric).map(|m| &m.summary),
    }
}

/// The quantiles of values that stand for more than one each.
fn weighted_curve(mut values: Vec<(f64, f64)>) -> Option<Curve> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|(_, w)| w).sum();
    let mut seen = 0.0;
    let mut points: Vec<(f64, f64)> = values.first().map(|(v, _)| (0.0, *v)).into_iter().collect();
    for (value, weight) in values.iter().filter(|(_, w)| *w > 0.0) {
        seen += weight;
        points.push((seen / all, *value));
    }
    Curve::from_points(points)
}

/// Over how many equal values as much would be spread (Kish's effective size): few where single ones make the sum.
fn carriers(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
    if squares > 0.0 { sum * sum / squares } else { values.len() as f64 }
}

/// The percentile of sorted values, linear between them as everywhere.
fn exact(sorted: &[f64], q: f64) -> f64 {
    let h = (sorted.len().saturating_sub(1)) as f64 * q;
    let low = h.floor() as usize;
    match (sorted.get(low), sorted.get(low + 1)) {
        (Some(a), Some(b)) => a + (b - a) * (h - low as f64),
        (Some(a), None) => *a,
        _ => f64::NAN,
    }
}

fn of_gaps(
    run: &SideRun,
    gaps: &GapSamples,
    (bucket, percentiles): (Option<usize>, &[f64]),
    inside: &[usize],
    cut: &Cut,
    out: &mut Vec<Found>,
) {
    let summary = summary_of(run, "itl_ms", bucket);
    let (below, curve) = match bucket {
        None => (&gaps.below, Some(&gaps.curve)),
        Some(b) => (&gaps.below_in_bucket, gaps.bucket_curves.get(b)),
    };
    let Some(curve) = curve.and_then(|points| Curve::from_points(points.clone())) else { return };
    let with: Vec<usize> = inside.iter().copied().filter(|i| gaps.count[*i] > 0).collect();
    let count: u64 = with.iter().map(|i| u64::from(gaps.count[*i])).sum();
    // Gaps of one request are not independent: the requests are counted.
    let n = with.len();
    let sums = |over: &dyn Fn(usize) -> f64| {
        let mut sums = Sums::new(cut.stretches);
        with.iter().for_each(|i| sums.add(cut.stretch(*i), over(*i), f64::from(gaps.count[*i])));
        sums
    };
    let mut push = |stat: String, value: f64, figure: Option<Figure>| {
        let figure = if n >= FEWEST { figure.ok_or(Reason::NotANumber) } else { Err(Reason::TooFewRequests) };
        out.push(Found { key: Key { metric: "itl_ms", stat, bucket }, value, count, figure });
    };
    if let Some(mean) = sums(&|i| gaps.sum_ns[i]).ratio(n as f64) {
        push("mean".to_string(), mean.value, Some(mean));
    }
    for p in percentiles {
        let Some(k) = gaps.percentiles.iter().position(|x| x == p) else { continue };
        let Some(value) = summary.and_then(|s| s.percentile(*p)).map(|p| p.value) else { continue };
        let figure = sums(&|i| f64::from(below[k][i])).percentile(p / 100.0, value, curve.clone());
        push(format!("p{p}"), value, figure);
    }
}

/// Rates by the time between one end and the next, and the share of failures.
fn rates(run: &SideRun, cut: &Cut, out: &mut Vec<Found>) {
    let s = &run.samples;
    let mut ended: Vec<(i64, usize)> =
        s.end_ns.iter().enumerate().filter_map(|(i, e)| Some((e.filter(|_| s.ok[i])?, i))).collect();
    ended.sort_unstable();
    let timed = ended.len() as u64 >= run.run.requests.ok;
    let tokens = |column: &[Option<u32>], i: usize| column[i].map_or(0.0, f64::from);
    let amounts: [(&'static str, &dyn Fn(usize) -> f64); 4] = [
        ("requests_per_s", &|_| 1.0),
        ("output_tokens_per_s", &|i| tokens(&s.output_tokens, i)),
        ("prompt_tokens_per_s", &|i| tokens(&s.prompt_tokens, i)),
        ("total_tokens_per_s", &|i| tokens(&s.output_tokens, i) + tokens(&s.prompt_tokens, i)),
    ];
    for (metric, amount) in amounts {
        let Some(value) = run.run.value(metric) else { continue };
        let mut sums = Sums::new(cut.stretches);
        for (k, pair) in ended.windows(2).enumerate() {
            let row = k * cut.rows / ended.len().max(1);
            sums.add(cut.stretch(row), amount(pair[1].1), (pair[1].0 - pair[0].0) as f64 / 1e9);
        }
        // The rate itself is the run's own, over the client's duration.
        let figure = sums.ratio(ended.len() as f64).map(|f| Figure {
            adds: f.adds.iter().map(|a| a * value / f.value).collect(),
            value,
            ..f
        });
        let figure = match ended.len() >= FEWEST {
            true => figure.ok_or(Reason::NoTimes),
            false if timed => Err(Reason::TooFewRequests),
            false => Err(Reason::NoTimes),
        };
        out.push(Found {
            key: Key { metric, stat: "value".to_string(), bucket: None },
            value,
            count: ended.len() as u64,
            figure,
        });
    }
    if let Some(value) = run.run.value("failure_rate").filter(|_| cut.rows > 0 && !run.run.is_workload()) {
        let mut sums = Sums::new(cut.stretches);
        (0..cut.rows).for_each(|i| sums.add(cut.stretch(i), f64::from(!s.ok[i]), 1.0));
        let figure = sums.ratio(cut.rows as f64).filter(|_| cut.rows >= FEWEST).ok_or(Reason::TooFewRequests);
        let key = Key { metric: "failure_rate", stat: "value".to_string(), bucket: None };
        out.push(Found { key, value, count: cut.rows as u64, figure });
    }
}

/// Quantiles of a column from 1 to 99 %, for plots of two runs over each other; `None` of values that a convention weighs.
pub(crate) fn quantiles(samples: &Samples, metric: &str) -> Option<Vec<f64>> {
    let (_, column) = samples.metrics.iter().find(|(id, _)| *id == metric)?;
    if samples.weights.iter().any(|(id, _)| *id == metric) {
        return None;
    }
    let mut values: Vec<f64> = column.iter().copied().filter(|v| v.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| (1..100).map(|q| exact(&values, f64::from(q) / 100.0)).collect())
}
