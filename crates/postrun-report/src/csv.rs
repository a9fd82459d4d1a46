//! The report as one long CSV table: a row a figure, so that a spreadsheet or a data frame can pivot it.

use crate::markup::steers;
use crate::report::Reports;
use crate::wording::unit_name;
use postrun_analysis::{MetricSummary, RunValue};

/// Columns: `run, scope, prompt_tokens_from, prompt_tokens_below, metric, stat, value, low, high, few_samples, unit`.
///
/// Scope is `whole` (or `window`), `steady`, `bucket`, or `client` for what the client itself reported. Times are in
/// milliseconds where the metric's name says so. `low` and `high` are the 95 % interval of a percentile, `few_samples`
/// marks one that rests on single requests.
pub fn to_csv(reports: &Reports) -> String {
    let mut out = Out {
        text: "run,scope,prompt_tokens_from,prompt_tokens_below,metric,stat,value,low,high,few_samples,unit\n"
            .to_string(),
        label: String::new(),
    };
    for run in reports.runs.iter().map(|r| &r.run) {
        out.label = csv_field(&run.manifest.label);
        let whole = if run.window.is_some() { "window" } else { "whole" };
        let counts = [("total", run.requests.total), ("ok", run.requests.ok), ("failed", run.requests.failed)];
        for (stat, n) in counts.into_iter().filter(|_| run.counts_requests()) {
            out.row((whole, None, None), "requests", stat, n as f64, "requests");
        }
        if let Some(n) = run.facts.arrivals {
            out.row((whole, None, None), "requests", "sent", n as f64, "requests");
        }
        if let Some(seconds) = run.facts.duration_s {
            out.row((whole, None, None), "duration_s", "value", seconds, "s");
        }
        out.values(whole, &run.values);
        out.distributions((whole, None, None), &run.metrics);
        if let Ok(steady) = &run.steady {
            let edges = [("start_s", steady.window.start_ns), ("end_s", steady.window.end_ns)];
            for (metric, ns) in edges {
                out.row(("steady", None, None), metric, "value", ns as f64 / 1e9, "s");
            }
            out.row(("steady", None, None), "requests", "ok", steady.requests as f64, "requests");
            out.values("steady", &steady.values);
            out.distributions(("steady", None, None), &steady.metrics);
        }
        for bucket in &run.buckets {
            let scope = ("bucket", bucket.lo, bucket.hi);
            for (stat, n) in [("total", bucket.requests), ("ok", bucket.ok), ("failed", bucket.failed)] {
                out.row(scope, "requests", stat, n as f64, "requests");
            }
            out.distributions(scope, &bucket.metrics);
        }
        for f in &run.reported {
            if let Some(value) = f.reported {
                out.row(("client", None, None), &f.metric, &f.stat, value, &f.unit);
            }
        }
    }
    out.text
}

type Scope = (&'static str, Option<u32>, Option<u32>);

struct Out {
    text: String,
    label: String,
}

impl Out {
    fn values(&mut self, scope: &'static str, values: &[RunValue]) {
        for v in values {
            self.row((scope, None, None), v.metric, "value", v.value, unit_name(v.metric));
        }
    }

    fn distributions(&mut self, scope: Scope, metrics: &[MetricSummary]) {
        for m in metrics {
            let (scale, unit) = if unit_name(m.metric) == "ms" { (1e-6, "ms") } else { (1.0, unit_name(m.metric)) };
            let s = m.summary.scaled(scale);
            self.row(scope, m.metric, "count", s.count as f64, "values");
            for (stat, value) in [("mean", s.mean), ("std", s.std), ("min", s.min), ("max", s.max)] {
                self.row(scope, m.metric, stat, value, unit);
            }
            for p in &s.percentiles {
                let end = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
                let rest = format!("{},{},{},{unit}", end(p.low), end(p.high), p.few_samples);
                self.line(scope, m.metric, &format!("p{}", p.p), p.value, &rest);
            }
        }
    }

    fn row(&mut self, scope: Scope, metric: &str, stat: &str, value: f64, unit: &str) {
        self.line(scope, metric, stat, value, &format!(",,,{unit}"));
    }

    fn line(&mut self, (scope, lo, hi): Scope, metric: &str, stat: &str, value: f64, rest: &str) {
        let edge = |e: Option<u32>| e.map(|e| e.to_string()).unwrap_or_default();
        let start = format!("{},{scope},{},{}", self.label, edge(lo), edge(hi));
        self.text.push_str(&format!("{start},{},{stat},{value},{rest}\n", csv_field(metric)));
    }
}

/// A text as a cell: quoted where it has to be, never the start of a spreadsheet formula, and with `�` for what would
/// steer the terminal or the editor that shows the file. Line breaks and tabs stay.
pub fn csv_field(text: &str) -> String {
    let shown = |c: char| if steers(c) && !matches!(c, '\n' | '\r' | '\t') { '\u{fffd}' } else { c };
    let text: String = text.chars().map(shown).collect();
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_tame() {
        assert_eq!(csv_field("a,b"), "\"a,b\"");
        assert_eq!(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(csv_field("=1+1"), "'=1+1");
        assert_eq!(csv_field("a\u{1b}[31m\u{202e}b\nc\td"), "\"a\u{fffd}[31m\u{fffd}b\nc\td\"");
    }
}
