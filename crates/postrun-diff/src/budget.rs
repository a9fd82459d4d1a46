//! A budget file, `postrun.toml`: limits that a candidate must keep.
//!
//! - `margin = 2` and `run_noise = 10`, in percent, set what `--margin` and `--run-noise` set.
//! - Each `[[limit]]` names a `metric`, a `stat` (p95 unless said otherwise; value for rates) and one or both of:
//! - `at_most = 500` (or `at_least`): a bound on the candidate, in the metric's unit (milliseconds for
//!   latencies, a share from 0 to 1 for `failure_rate`)
//! - `worse_by = 5`: a regression that is shown, and larger than this many percent
//!
//! A bound is held to the candidate's own figure, whether or not the runs are comparable and the base has it. A limit on what
//! is not recorded guards nothing, nor does an empty file, which is an error: the comparison is printed, the limit is listed as not judged, and the exit code is 2, with
//! `--strict` or without, because the gate is broken (1 where another limit is exceeded). A `worse_by` on a figure of which
//! nothing is decided is listed as not judged too, and counted on standard error; with `--strict` that is exit code 3, else 0. So it is with
//! `--fail-on regression` where the sides were asked different questions.

use crate::result::{Delta, DeltaScope, RunDiff};
use crate::side::Side;
use crate::verdict::DeltaVerdict;
use postrun_analysis::{METRICS, find_metric};
use postrun_schema::{Unit, did_you_mean};
use serde::Serialize;
use toml_edit::{Document, TableLike};

/// Statistics that can be named.
const STATS: [&str; 6] = ["mean", "p50", "p90", "p95", "p99", "value"];

/// A budget file that does not parse.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct BudgetError {
    /// File.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// One limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Metric id; `None`: every metric.
    pub metric: Option<&'static str>,
    /// Statistic; `None`: every one.
    pub stat: Option<String>,
    /// Highest value of the candidate, in the unit of the id.
    pub at_most: Option<f64>,
    /// Lowest value of the candidate.
    pub at_least: Option<f64>,
    /// Largest shown regression, as a share.
    pub worse_by: Option<f64>,
}

/// What a candidate must keep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budget {
    /// Equal within this share.
    pub margin: Option<f64>,
    /// Allowance for noise between runs, as a share.
    pub run_noise: Option<f64>,
    /// The limits.
    pub limits: Vec<Limit>,
}

/// A limit that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJudged {
    /// Which, and why.
    pub text: String,
    /// False: the figure is not there, and the limit guards nothing.
    pub recorded: bool,
}

/// A limit that was not kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breach {
    /// Metric id.
    pub metric: &'static str,
    /// Statistic.
    pub stat: String,
    /// One sentence.
    pub text: String,
}

impl Budget {
    /// Reads a budget file.
    pub fn from_toml(file: &str, text: &str) -> Result<Budget, BudgetError> {
        let fault = |at: usize, message: String| BudgetError {
            file: file.to_string(),
            line: text.get(..at.min(text.len())).unwrap_or(text).matches('\n').count() + 1,
            message,
        };
        let document = Document::parse(text).map_err(|e| {
            let message = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
            fault(e.span().map_or(0, |s| s.start), message)
        })?;
        let root: &dyn TableLike = document.as_table();
        let at = |table: &dyn TableLike, key: &str| {
            table.get_key_value(key).and_then(|(k, _)| k.span()).map_or(0, |s| s.start)
        };
        let known = |table: &dyn TableLike, names: &[&str]| match table.iter().find(|(k, _)| !names.contains(k)) {
            Some((k, _)) => {
                let near = did_you_mean(k, names.iter().copied());
                Err(fault(at(table, k), format!("unknown key {k:?}{near} (known: {})", names.join(", "))))
            }
            None => Ok(()),
        };
        let number = |table: &dyn TableLike, key: &str| -> Result<Option<f64>, BudgetError> {
            let Some(item) = table.get(key) else { return Ok(None) };
            let value = item.as_float().or_else(|| item.as_integer().map(|n| n as f64));
            match value.filter(|v| v.is_finite() && *v >= 0.0) {
                Some(v) => Ok(Some(v)),
                None => Err(fault(at(table, key), format!("{key} is a number, 0 or more"))),
            }
        };
        known(root, &["margin", "run_noise", "limit"])?;
        if root.is_empty() {
            let message =
                "this budget is empty and guards nothing; write a [[limit]] (see `postrun explain budget_file`)";
            return Err(fault(0, message.to_string()));
        }
        let mut out = Budget {
            margin: number(root, "margin")?.map(|p| p / 100.0),
            run_noise: number(root, "run_noise")?.map(|p| p / 100.0),
            limits: Vec::new(),
        };
        let Some(item) = root.get("limit") else { return Ok(out) };
        let Some(tables) = item.as_array_of_tables() else {
            return Err(fault(at(root, "limit"), "limits are written [[limit]], with two brackets".to_string()));
        };
        for table in tables.iter() {
            let table: &dyn TableLike = table;
            known(table, &["metric", "stat", "at_most", "at_least", "worse_by"])?;
            let start = table.iter().map(|(k, _)| at(table, k)).min().unwrap_or(0);
            let Some(name) = table.get("metric").and_then(|m| m.as_str()) else {
                return Err(fault(start, "this limit has no metric".to_string()));
            };
            let Some(metric) = find_metric(name) else {
                return Err(fault(
                    at(table, "metric"),
                    format!("no metric is called {name:?}{}", nearest_metric(name)),
                ));
            };
            let per_run = matches!(metric.compute, postrun_analysis::Compute::PerRun(_));
            let stat = table.get("stat").and_then(|s| s.as_str()).unwrap_or(if per_run { "value" } else { "p95" });
            if !STATS.contains(&stat) {
                return Err(fault(at(table, "stat"), no_statistic(stat)));
            }
            if per_run != (stat == "value") {
                let has = if per_run { "one value a run: stat = \"value\"" } else { "a distribution: stat = \"p95\"" };
                return Err(fault(at(table, "stat"), format!("{name} has no statistic {stat:?}; it has {has}")));
            }
            let limit = Limit {
                metric: Some(metric.id),
                stat: Some(stat.to_string()),
                at_most: number(table, "at_most")?,
                at_least: number(table, "at_least")?,
                worse_by: number(table, "worse_by")?.map(|p| p / 100.0),
            };
            if limit.at_most.is_none() && limit.at_least.is_none() && limit.worse_by.is_none() {
                return Err(fault(start, format!("the limit of {name} has neither at_most nor at_least nor worse_by")));
            }
            out.limits.push(limit);
        }
        Ok(out)
    }

    /// The limits that `diff` does not keep, its candidate being this one.
    pub fn breaches(&self, diff: &RunDiff, candidate: &Side) -> Vec<Breach> {
        self.limits.iter().flat_map(|limit| limit.breaches(diff, candidate)).collect()
    }

    /// Limits that could not be judged: those on figures that are not recorded first, then those of whose figures nothing
    /// is decided.
    pub fn not_judged(&self, diff: &RunDiff, candidate: &Side) -> Vec<NotJudged> {
        let absent = self.limits.iter().filter_map(|l| Some((l.absent(diff, candidate)?, false)));
        let undecided = self.limits.iter().filter_map(|l| Some((l.undecided(diff)?, true)));
        absent.chain(undecided).map(|(text, recorded)| NotJudged { text, recorded }).collect()
    }
}

/// A value as a person reads it: milliseconds, percent of shares.
fn in_unit(metric: &str, value: f64) -> String {
    match METRICS.iter().find(|m| m.id == metric).map(|m| m.unit) {
        Some(Unit::Nanoseconds) => format!("{:.1} ms", value / 1e6),
        Some(Unit::Ratio) if value == 0.0 => "0 %".to_string(),
        Some(Unit::Ratio) => format!("{:.1} %", value * 100.0),
        _ => format!("{value}"),
    }
}

fn nearest_metric(name: &str) -> String {
    let near = did_you_mean(name, METRICS.iter().map(|m| m.id.trim_end_matches("_ms")));
    format!("{near} (`postrun list metrics` names them)")
}

fn no_statistic(stat: &str) -> String {
    let near = did_you_mean(stat, STATS);
    format!("{stat:?} is no statistic{near} (known: {})", STATS.join(", "))
}

impl Limit {
    /// From `regression`, `regression:METRIC>PCT` or `regression:STAT.METRIC>PCT`.
    pub fn regression(text: &str) -> Result<Limit, String> {
        let example = "examples: regression, 'regression:ttft>5', 'regression:p95.ttft_ms>5'";
        let any = Limit { metric: None, stat: None, at_most: None, at_least: None, worse_by: Some(0.0) };
        let Some(rest) = text.trim().strip_prefix("regression") else {
            return Err(format!("{text:?} is nothing to fail on; {example}"));
        };
        if rest.is_empty() {
            return Ok(any);
        }
        let parts = rest.strip_prefix(':').and_then(|r| r.split_once('>'));
        let Some((name, percent)) = parts else {
            return Err(match rest.strip_prefix(':').filter(|name| !name.trim().is_empty()) {
                Some(name) => format!(
                    "{text:?} does not say how much worse: write 'regression:{0}>5' to fail beyond 5 %, or 'regression:{0}>0' for \
                     any regression that is shown (in quotes: > is also the shell's)",
                    name.trim()
                ),
                None => format!("{text:?} is no limit; {example}"),
            });
        };
        let (stat, name) = name.trim().split_once('.').map_or((None, name.trim()), |(s, n)| (Some(s), n));
        if let Some(stat) = stat.filter(|s| !STATS.contains(s)) {
            return Err(no_statistic(stat));
        }
        let metric =
            find_metric(name).ok_or_else(|| format!("no metric is called {name:?}{}", nearest_metric(name)))?;
        let percent = percent.trim().trim_end_matches('%').trim_end();
        let share = percent.parse::<f64>().ok().filter(|p| p.is_finite() && *p >= 0.0);
        let worse_by = share.ok_or_else(|| format!("{percent:?} is no percentage; {example}"))? / 100.0;
        Ok(Limit { metric: Some(metric.id), stat: stat.map(String::from), worse_by: Some(worse_by), ..any })
    }

    fn name(&self) -> String {
        [self.metric, self.stat.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The figures of the whole run that it is about.
    fn figures<'a>(&'a self, diff: &'a RunDiff) -> impl Iterator<Item = &'a Delta> {
        diff.deltas.iter().filter(|d| d.scope == DeltaScope::All && self.concerns(d))
    }

    /// What the candidate has, where no figure of both sides says it.
    fn of_candidate(&self, candidate: &Side) -> Option<f64> {
        let (metric, stat) = (self.metric?, self.stat.as_deref()?);
        candidate.mean(|r| r.run.figure(metric, stat))
    }

    /// That it guards nothing, since the figure is not there.
    fn absent(&self, diff: &RunDiff, candidate: &Side) -> Option<String> {
        let metric = self.metric?;
        let bounds_alone = self.worse_by.is_none() && self.of_candidate(candidate).is_some();
        if bounds_alone || self.figures(diff).next().is_some() {
            return None;
        }
        let left = diff.left_out.iter().find(|l| l.metric == metric && l.lacks != "both");
        let lacks = left.map_or("neither side has it".to_string(), |l| format!("the {} lacks it", l.lacks));
        // One of another name that is shown: `preemptions` of requests, `preemption_total` of the server.
        let stem = metric.split('_').next().unwrap_or(metric).trim_end_matches('s');
        let like = diff.deltas.iter().find(|d| d.metric != metric && d.metric.starts_with(stem));
        let hint = like.map(|d| format!(" (did you mean {}?)", d.metric)).unwrap_or_default();
        Some(format!("{}: {lacks}{hint}, so this limit guards nothing", self.name()))
    }

    fn undecided(&self, diff: &RunDiff) -> Option<String> {
        self.worse_by?;
        if self.metric.is_none() {
            let worse = diff.deltas.iter().any(|d| d.verdict == DeltaVerdict::Worse);
            let blind = !diff.comparable.comparable() && !worse;
            return blind.then(|| "regression: the sides were asked different questions".to_string());
        }
        let mut all = self.figures(diff).peekable();
        let reason = all.peek()?.reason.map(|r| format!(" ({})", r.text())).unwrap_or_default();
        all.all(|d| d.verdict == DeltaVerdict::Inconclusive).then(|| format!("{}: inconclusive{reason}", self.name()))
    }

    fn concerns(&self, d: &Delta) -> bool {
        self.metric.is_none_or(|m| m == d.metric) && self.stat.as_ref().is_none_or(|s| *s == d.stat)
    }

    /// Whether the candidate's own figure keeps the bounds.
    fn beyond(&self, metric: &'static str, stat: &str, value: f64) -> Vec<Breach> {
        let ms = METRICS.iter().any(|m| m.id == metric && m.unit == Unit::Nanoseconds);
        let value = if ms { value / 1e6 } else { value };
        let more = self.at_most.filter(|l| value > *l).map(|l| format!("more than {l}"));
        let less = self.at_least.filter(|l| value < *l).map(|l| format!("less than {l}"));
        let breach = |beyond: String| Breach {
            metric,
            stat: stat.to_string(),
            text: format!("{metric} {stat} is {value:.4}, {beyond}"),
        };
        more.into_iter().chain(less).map(breach).collect()
    }

    fn breaches(&self, diff: &RunDiff, candidate: &Side) -> Vec<Breach> {
        let mut out: Vec<Breach> =
            self.figures(diff).flat_map(|d| self.beyond(d.metric, &d.stat, d.candidate)).collect();
        if let (true, Some(metric), Some(stat)) = (self.figures(diff).next().is_none(), self.metric, &self.stat) {
            let value = self.of_candidate(candidate);
            out.extend(value.map(|v| self.beyond(metric, stat, v)).unwrap_or_default());
        }
        for d in diff.deltas.iter().filter(|d| self.concerns(d)) {
            let by = d.change_share.map_or(f64::INFINITY, f64::abs);
            if let Some(limit) = self.worse_by.filter(|l| d.verdict == DeltaVerdict::Worse && by > *l) {
                let scope = match d.scope {
                    DeltaScope::All => String::new(),
                    DeltaScope::Bucket { lo, .. } => format!(" of prompts from {lo} tokens on"),
                };
                let limit = limit * 100.0;
                let worse = match d.change_share {
                    Some(share) => format!("worse by {:.1} %, more than {limit:.1} %", share.abs() * 100.0),
                    None => format!("worse from 0 on, by more than {limit:.1} %"),
                };
                let values = (d.change_share.is_none() || d.metric == "failure_rate")
                    .then(|| format!(" ({} → {})", in_unit(d.metric, d.base), in_unit(d.metric, d.candidate)));
                let text = format!("{} {}{scope} is {worse}{}", d.metric, d.stat, values.unwrap_or_default());
                out.push(Breach { metric: d.metric, stat: d.stat.clone(), text });
            }
        }
        out
    }
}
