//! The report as one long CSV table: a row a figure, so that a spreadsheet or a data frame can pivot it.

use postrun_analysis::{METRICS, MetricSummary, RunAnalysis, RunValue};
use postrun_schema::Unit;

/// Columns: `run, scope, prompt_tokens_from, prompt_tokens_below, metric, stat, value, unit`.
/// Scope is `run`, `steady` or `bucket`. Times are in milliseconds.
pub fn to_csv(runs: &[RunAnalysis]) -> String {
    let mut out = String::from("run,scope,prompt_tokens_from,prompt_tokens_below,metric,stat,value,unit\n");
    for run in runs {
        let label = &run.manifest.label;
        let counts = [("total", run.requests.total), ("ok", run.requests.ok), ("failed", run.requests.failed)];
        for (stat, n) in counts {
            line(&mut out, label, ("run", None, None), "requests", stat, n as f64, "requests");
        }
        if let Some(seconds) = run.facts.duration_s {
            line(&mut out, label, ("run", None, None), "duration_s", "value", seconds, "s");
        }
        values(&mut out, label, "run", &run.values);
        distributions(&mut out, label, ("run", None, None), &run.metrics);
        if let Ok(steady) = &run.steady {
            values(&mut out, label, "steady", &steady.values);
            distributions(&mut out, label, ("steady", None, None), &steady.metrics);
        }
        for bucket in &run.buckets {
            let scope = ("bucket", bucket.lo, bucket.hi);
            line(&mut out, label, scope, "requests", "total", bucket.requests as f64, "requests");
            distributions(&mut out, label, scope, &bucket.metrics);
        }
    }
    out
}

type Scope = (&'static str, Option<u32>, Option<u32>);

fn values(out: &mut String, label: &str, scope: &'static str, values: &[RunValue]) {
    for v in values {
        line(out, label, (scope, None, None), v.metric, "value", v.value, unit_of(v.metric));
    }
}

fn distributions(out: &mut String, label: &str, scope: Scope, metrics: &[MetricSummary]) {
    for m in metrics {
        let (scale, unit) = if unit_of(m.metric) == "ms" { (1e-6, "ms") } else { (1.0, unit_of(m.metric)) };
        let s = m.summary.scaled(scale);
        line(out, label, scope, m.metric, "count", s.count as f64, "");
        for (stat, value) in [("mean", s.mean), ("std", s.std), ("min", s.min), ("max", s.max)] {
            line(out, label, scope, m.metric, stat, value, unit);
        }
        for p in &s.percentiles {
            line(out, label, scope, m.metric, &format!("p{}", p.p), p.value, unit);
        }
    }
}

fn unit_of(id: &str) -> &'static str {
    match METRICS.iter().find(|m| m.id == id).map(|m| m.unit) {
        Some(Unit::Nanoseconds) => "ms",
        Some(Unit::Tokens) => "tokens",
        Some(Unit::Requests) => "requests",
        Some(Unit::TokensPerSecond) => "tok/s",
        Some(Unit::RequestsPerSecond) => "req/s",
        Some(Unit::ChunksPerSecond) => "chunks/s",
        _ => "",
    }
}

fn line(out: &mut String, label: &str, (scope, lo, hi): Scope, metric: &str, stat: &str, value: f64, unit: &str) {
    let edge = |e: Option<u32>| e.map(|e| e.to_string()).unwrap_or_default();
    let row = format!("{},{scope},{},{},{metric},{stat},{value},{unit}\n", field(label), edge(lo), edge(hi));
    out.push_str(&row);
}

/// Quoted where it has to be. A label cannot start a formula: it is one word of letters and digits.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
