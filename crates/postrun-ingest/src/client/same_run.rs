//! Whether a summary can be of the requests beside it: what both hold is compared before anything is taken.

use arrow_array::{Array, Float64Array, Int64Array, StringArray};
use postrun_schema::{Manifest, PendingRun, ReportedRow, SchemaError, Table, column, counted};
use std::collections::BTreeMap;

/// Latencies that are of the same requests differ by rounding and by which chunk or line ends them, not by more.
const APART: f64 = 0.01;
/// All off by one factor: the same requests in another unit, or altered, which `postrun parity` shows figure by figure.
const ONE_FACTOR: f64 = 0.02;
/// A figure as printed may lack more digits than the share above allows.
const ROUNDING_MS: f64 = 0.5;

/// One latency over the answered requests, in milliseconds.
#[derive(Default)]
struct Spread {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        let first = self.count == 0;
        self.count += 1;
        self.sum += value;
        self.min = if first { value } else { self.min.min(value) };
        self.max = if first { value } else { self.max.max(value) };
    }

    fn stat(&self, stat: &str) -> Option<f64> {
        let value = match stat {
            "mean" => self.sum / self.count as f64,
            "min" => self.min,
            "max" => self.max,
            _ => return None,
        };
        (self.count > 0).then_some(value)
    }
}

/// What the records say of the figures that a summary may hold.
#[derive(Default)]
struct Records {
    ok: u64,
    ttft: Spread,
    to_last_token: Spread,
    to_stream_end: Spread,
}

impl Records {
    fn read(run: &PendingRun) -> Result<Records, SchemaError> {
        let mut out = Records::default();
        let names = ["phase", "status", "ttft_ns", "e2e_ns", "stream_end_ns"];
        run.read(Table::Requests, &names, |batch| {
            let texts = |name| column::<StringArray>(&batch, name);
            let (Some(phases), Some(states)) = (texts("phase"), texts("status")) else { return Ok(()) };
            let at = |name: &str, i: usize| {
                let times = column::<Int64Array>(&batch, name).filter(|times| times.is_valid(i))?;
                Some(times.value(i) as f64 / 1e6)
            };
            for i in (0..batch.num_rows()).filter(|i| phases.value(*i) == "measured" && states.value(*i) == "ok") {
                out.ok += 1;
                at("ttft_ns", i).into_iter().for_each(|ms| out.ttft.add(ms));
                at("e2e_ns", i).into_iter().for_each(|ms| out.to_last_token.add(ms));
                at("stream_end_ns", i).or(at("e2e_ns", i)).into_iter().for_each(|ms| out.to_stream_end.add(ms));
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The values that a figure of the summary may have; none where it is no figure that the records give.
    fn of(&self, row: &ReportedRow) -> Vec<f64> {
        let spreads: &[&Spread] = match row.metric.as_str() {
            "ttft_ms" => &[&self.ttft],
            "e2e_ms" => &[&self.to_last_token, &self.to_stream_end],
            _ => return Vec::new(),
        };
        spreads.iter().filter_map(|spread| spread.stat(&row.stat)).filter(|value| *value > 0.0).collect()
    }
}

/// What a summary says that cannot be of this run; `None`: nothing. Of a summary of some of the requests only the model is
/// compared, and neither are figures where the records are not all there.
pub(super) fn contradiction(
    run: &PendingRun,
    summary: &Manifest,
    reported: &[ReportedRow],
    of_the_whole: bool,
) -> Result<Option<String>, SchemaError> {
    if let (Some(ours), Some(theirs)) = (&run.manifest.model, &summary.model)
        && !same_model(ours, theirs)
    {
        return Ok(Some(format!("it is of the model {theirs}, the requests are of {ours}")));
    }
    let (completed, failed) = (summary.counted.completed, summary.counted.failed);
    let more = summary.counted.requests().is_some_and(|all| all > run.measured);
    if !of_the_whole || run.measured == 0 || more {
        return Ok(None);
    }
    let records = Records::read(run)?;
    if let (Some(completed), Some(failed)) = (completed, failed) {
        let ours = (records.ok, run.measured - records.ok.min(run.measured));
        if completed.saturating_add(failed) < run.measured || completed > records.ok {
            let of = |(ok, failed): (u64, u64)| format!("{} and {failed} failed", counted(ok, "answer"));
            return Ok(Some(format!("it counts {}, the records have {}", of((completed, failed)), of(ours))));
        }
    }
    Ok(other_figures(&records, reported))
}

fn same_model(a: &str, b: &str) -> bool {
    let name = |model: &str| {
        let whole = model.trim_end_matches('/').to_lowercase();
        whole.rsplit('/').next().map(String::from).unwrap_or(whole)
    };
    name(a) == name(b)
}

/// Two or more latencies of which none is that of the records, each off by a factor of its own.
fn other_figures(records: &Records, reported: &[ReportedRow]) -> Option<String> {
    let mut ratios: Vec<f64> = Vec::new();
    let mut first = None;
    for row in reported {
        let Some(theirs) = row.value.filter(|value| value.is_finite() && *value > 0.0) else { continue };
        let ours = records.of(row);
        let Some(nearest) = ours.into_iter().min_by(|a, b| (a - theirs).abs().total_cmp(&(b - theirs).abs())) else {
            continue;
        };
        if (nearest - theirs).abs() <= ROUNDING_MS.max(APART * nearest) {
            return None;
        }
        ratios.push(theirs / nearest);
        first.get_or_insert_with(|| format!("its {} is {theirs:.1} ms, of the records {nearest:.1} ms", row.key));
    }
    let (low, high) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
    (ratios.len() > 1 && high > low * (1.0 + ONE_FACTOR)).then_some(first).flatten()
}

/// How many figures of a summary a run holds too, as its client stored them: those that are the same, and all of them.
pub(super) fn agreement(summary: &[ReportedRow], run: &PendingRun) -> Result<(usize, usize), SchemaError> {
    let mut known: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    run.read(Table::Reported, &["metric", "stat", "value"], |batch| {
        let texts = |name| column::<StringArray>(&batch, name);
        let values = column::<Float64Array>(&batch, "value");
        let (Some(metrics), Some(stats), Some(values)) = (texts("metric"), texts("stat"), values) else {
            return Ok(());
        };
        for i in (0..batch.num_rows()).filter(|i| values.is_valid(*i) && !metrics.value(*i).is_empty()) {
            let name = (metrics.value(i).to_string(), stats.value(i).to_string());
            known.entry(name).or_default().push(values.value(i));
        }
        Ok(())
    })?;
    let (mut same, mut both) = (0, 0);
    for row in summary {
        let others = known.get(&(row.metric.clone(), row.stat.clone()));
        let (Some(value), Some(others)) = (row.value, others) else { continue };
        both += 1;
        let near = |other: &f64| (other - value).abs() <= (COPY_APART * other.abs()).max(COPY_ROUNDING);
        same += usize::from(others.iter().any(near));
    }
    Ok((same, both))
}

/// A copy has two decimals at least.
const COPY_ROUNDING: f64 = 0.006;
const COPY_APART: f64 = 1e-4;
