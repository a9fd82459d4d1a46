//! Names of figures, and their values in a run.

use super::suggestion;
use crate::view::requests_answered;
use postrun_analysis::{BucketResult, Compute, METRICS, MetricSummary, RunAnalysis, find_metric};
use postrun_schema::Unit;

/// Statistics of a distribution.
const STATS: [&str; 10] = ["mean", "std", "min", "max", "p50", "p90", "p95", "p99", "p99.9", "count"];

/// Figures that are no metric's.
const OTHERS: [&str; 17] = [
    "kv_cache_usage.mean",
    "kv_cache_usage.max",
    "kv_cache_usage.share_over_90",
    "waiting.mean",
    "waiting.max",
    "running.mean",
    "running.max",
    "preemption.total",
    "preemption.requests_hit",
    "preemption.per_request",
    "requests.total",
    "requests.ok",
    "requests.failed",
    "requests.incomplete",
    "duration_s",
    "queue_share_of_ttft",
    "gpu_utilization.mean",
];
/// Figures of a bucket that are no metric's.
const OF_BUCKET: [&str; 3] = ["requests", "ok", "failed"];

/// Which bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bucket {
    /// `bucket[*]`: any, the same one throughout the condition.
    Any,
    /// `bucket[0..512]`, `bucket[2048..]`.
    Range(u32, Option<u32>),
}

/// A figure of the report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// As the user wrote it.
    pub name: String,
    pub bucket: Option<Bucket>,
    pub of: Of,
}

/// What a figure is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Of {
    /// A statistic of a distribution.
    Stat(&'static str, &'static str),
    /// A metric of the run.
    Value(&'static str),
    /// One of the others.
    Other(&'static str),
}

impl Figure {
    pub(crate) fn named(name: &str) -> Result<Figure, String> {
        let (bucket, rest) = match name.strip_prefix("bucket[") {
            Some(rest) => {
                let (range, rest) = rest.split_once(']').ok_or("a bucket is written bucket[0..512]")?;
                let rest = rest.strip_prefix('.').ok_or("after a bucket comes a figure: bucket[0..512].p95.ttft_ms")?;
                (Some(range_of(range)?), rest)
            }
            None => (None, name),
        };
        let of = match bucket {
            Some(_) => of_bucket(rest)?,
            None => of_run(rest)?,
        };
        Ok(Figure { name: name.to_string(), bucket, of })
    }

    /// Metric id for the report, statistic and unit.
    pub(crate) fn parts(&self) -> (String, &'static str, &'static str) {
        let (metric, stat) = match self.of {
            Of::Stat(stat, metric) => (metric, stat),
            Of::Value(metric) => (metric, "value"),
            Of::Other(name) => (name, "value"),
        };
        let unit = match metric {
            _ if stat == "count" => "",
            m if m.ends_with("_ms") => "ms",
            m if m.ends_with("_s") && !m.ends_with("per_s") => "s",
            m if find_metric(m).is_some_and(|m| m.id == metric && m.unit == Unit::Tokens) => "tokens",
            _ => "",
        };
        let metric = if self.bucket.is_some() { self.name.clone() } else { metric.to_string() };
        (metric, stat, unit)
    }

    /// Its value, times in milliseconds; else what is missing. `any` is the bucket that `bucket[*]` stands for.
    pub(crate) fn value(&self, run: &RunAnalysis, any: Option<&BucketResult>) -> Result<f64, String> {
        let found = match self.bucket {
            None => self.of_run(run),
            Some(Bucket::Any) => any.and_then(|b| self.in_bucket(b)),
            Some(Bucket::Range(lo, hi)) => {
                let bucket = run.buckets.iter().find(|b| b.lo == Some(lo) && b.hi == hi);
                let bucket = bucket.ok_or_else(|| no_such_bucket(&self.name, run))?;
                self.in_bucket(bucket)
            }
        };
        found.filter(|v| v.is_finite()).ok_or_else(|| self.missing(run))
    }

    fn of_run(&self, run: &RunAnalysis) -> Option<f64> {
        match self.of {
            Of::Stat(stat, metric) => stat_of(&run.metrics, metric, stat),
            Of::Value(metric) => run.value(metric),
            Of::Other(name) => other(name, run),
        }
    }

    fn in_bucket(&self, bucket: &BucketResult) -> Option<f64> {
        match self.of {
            Of::Stat(stat, metric) => stat_of(&bucket.metrics, metric, stat),
            Of::Value(_) => None,
            Of::Other("requests") => Some(bucket.requests as f64),
            Of::Other("ok") => Some(bucket.ok as f64),
            Of::Other(_) => Some(bucket.failed as f64),
        }
    }

    fn missing(&self, run: &RunAnalysis) -> String {
        let (Of::Stat(_, metric) | Of::Value(metric) | Of::Other(metric)) = self.of;
        let known = run.unavailable.iter().find(|u| u.metric == metric || u.metric.replace("_", ".") == metric);
        match known {
            Some(u) => format!("{}: {}; needs {}", self.name, u.missing, u.needed),
            None => format!("{}: no value in this run", self.name),
        }
    }
}

fn stat_of(metrics: &[MetricSummary], metric: &str, stat: &str) -> Option<f64> {
    let value = metrics.iter().find(|m| m.metric == metric)?.summary.stat(stat)?;
    let scale = if metric.ends_with("_ms") && stat != "count" { 1e-6 } else { 1.0 };
    Some(value * scale)
}

fn other(name: &str, run: &RunAnalysis) -> Option<f64> {
    let (s, r) = (&run.facts.server, &run.requests);
    let kv = || s.kv_cache_usage.as_ref();
    let preemption = || s.preemption.as_ref();
    match name {
        "kv_cache_usage.mean" => kv()?.mean,
        "kv_cache_usage.max" => kv()?.max,
        "kv_cache_usage.share_over_90" => kv()?.share_over_90,
        "waiting.mean" => s.waiting?.mean,
        "waiting.max" => s.waiting.map(|l| l.max),
        "running.mean" => s.running?.mean,
        "running.max" => s.running.map(|l| l.max),
        "preemption.total" => preemption()?.total,
        "preemption.requests_hit" => preemption()?.requests_hit.map(|n| n as f64),
        "preemption.per_request" => Some(preemption()?.total? / requests_answered(run)?),
        "requests.total" => Some(r.total as f64),
        "requests.ok" => Some(r.ok as f64),
        "requests.failed" => Some(r.failed as f64),
        "requests.incomplete" => Some(r.incomplete as f64),
        "duration_s" => run.facts.duration_s,
        "queue_share_of_ttft" => s.queue_share_of_ttft,
        "gpu_utilization.mean" => s.gpu_utilization,
        _ => None,
    }
}

fn no_such_bucket(name: &str, run: &RunAnalysis) -> String {
    let ends = |b: &BucketResult| Some(format!("{}..{}", b.lo?, b.hi.map_or(String::new(), |hi| hi.to_string())));
    let known: Vec<String> = run.buckets.iter().filter_map(ends).collect();
    match known.is_empty() {
        true => format!("{name}: requests with prompt lengths"),
        false => format!("{name}: a bucket of this run; they are {} (set them with --buckets)", known.join(", ")),
    }
}

fn range_of(text: &str) -> Result<Bucket, String> {
    if text.trim() == "*" {
        return Ok(Bucket::Any);
    }
    let wrong = || format!("{text:?} is no bucket: write bucket[0..512], bucket[2048..] or bucket[*] for any");
    let (lo, hi) = text.split_once("..").ok_or_else(wrong)?;
    let lo: u32 = lo.trim().parse().map_err(|_| wrong())?;
    let hi = match hi.trim() {
        "" => None,
        hi => Some(hi.parse::<u32>().map_err(|_| wrong())?),
    };
    if hi.is_some_and(|hi| hi <= lo) { Err(wrong()) } else { Ok(Bucket::Range(lo, hi)) }
}

fn distributions() -> impl Iterator<Item = &'static str> {
    METRICS.iter().filter(|m| !matches!(m.compute, Compute::PerRun(_))).map(|m| m.id)
}

fn values() -> impl Iterator<Item = &'static str> {
    METRICS.iter().filter(|m| matches!(m.compute, Compute::PerRun(_))).map(|m| m.id)
}

/// `p95.ttft_ms`, where it is one.
fn stat(name: &str) -> Option<Result<Of, String>> {
    let (stat, metric) = match name.strip_prefix("p99.9.") {
        Some(metric) => ("p99.9", metric),
        None => name.split_once('.')?,
    };
    let known = STATS.iter().find(|s| **s == stat)?;
    let found = distributions().find(|id| *id == metric);
    Some(found.map(|id| Of::Stat(known, id)).ok_or_else(|| {
        let of_run = values().any(|id| id == metric);
        let hint = if of_run { "; it has one value a run".to_string() } else { suggestion(metric, distributions()) };
        format!("no distribution is called {metric:?}{hint}")
    }))
}

fn of_run(name: &str) -> Result<Of, String> {
    if let Some(of) = OTHERS.iter().find(|o| **o == name) {
        return Ok(Of::Other(of));
    }
    if let Some(of) = stat(name) {
        return of;
    }
    if let Some(id) = values().find(|id| *id == name) {
        return Ok(Of::Value(id));
    }
    if let Some(id) = distributions().find(|id| *id == name) {
        return Err(format!("{id} has many values: say which, such as p95.{id}"));
    }
    Err(unknown(name, OTHERS.iter().copied().chain(values())))
}

fn of_bucket(name: &str) -> Result<Of, String> {
    if let Some(of) = OF_BUCKET.iter().find(|o| **o == name) {
        return Ok(Of::Other(of));
    }
    stat(name).unwrap_or_else(|| Err(unknown(name, OF_BUCKET)))
}

fn unknown(name: &str, others: impl IntoIterator<Item = &'static str>) -> String {
    let mut known: Vec<String> = others.into_iter().map(String::from).collect();
    // The statistic may be right and the metric not, or the other way round.
    let stat = name.split_once('.').map_or("p95", |(stat, _)| stat);
    let nearest = STATS.iter().map(|s| (strsim::jaro_winkler(s, stat), *s)).max_by(|a, b| a.0.total_cmp(&b.0));
    let stat = nearest.map_or("p95", |(_, s)| s);
    known.extend(distributions().map(|id| format!("{stat}.{id}")));
    format!("no figure is called {name:?}{}", suggestion(name, known.iter().map(String::as_str)))
}
