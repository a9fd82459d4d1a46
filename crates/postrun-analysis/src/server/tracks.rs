//! The canonical series of the samples table, one curve each.
//!
//! Label sets (engines, devices) are put together as the series says: the latest value of each, summed or averaged.
//! Counters become the increase since the first sample, label set by label set, so that a restart adds what was counted
//! after it instead of taking away what was counted before. Where several files hold the same series, one is used: a file
//! whose clock is aligned before one that is not, then the one with more samples. Two files never add up, because they
//! may be two recordings of the same server.

use crate::error::AnalysisError;
use crate::frames::{polars_error, table};
use polars::prelude::*;
use postrun_schema::{Across, Dataset, SERIES, Series, SeriesKind, Table};
use std::collections::BTreeMap;

/// One series over the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Track {
    /// Its times lie on the run's time.
    pub aligned: bool,
    /// `(since the run's origin, value)`, in time order, one a moment.
    pub points: Vec<(i64, f64)>,
}

/// All series that postrun understands.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    by_name: BTreeMap<&'static str, Track>,
}

/// One sample: time, labels, value.
type Sample = (i64, Option<String>, f64);

impl Tracks {
    pub(crate) fn load(dataset: &Dataset) -> Result<Tracks, AnalysisError> {
        let Some(frame) = table(dataset, Table::Samples)? else { return Ok(Tracks::default()) };
        let names: Vec<&str> = SERIES.iter().map(|s| s.name).collect();
        let wanted = lit(polars::prelude::Series::new("names".into(), names)).implode(false);
        let frame = frame.filter(col("series").is_in(wanted, false));
        let columns = ["at_ns", "series", "labels", "value", "source"].map(col);
        let df = frame.select(columns).collect().map_err(polars_error(dataset))?;
        let aligned = |source: &str| {
            let known = dataset.manifest().sources.iter().find(|s| s.name == source);
            known.is_some_and(|s| s.aligned == Some(true))
        };
        let mut found: BTreeMap<(String, String), Vec<Sample>> = BTreeMap::new();
        each_row(&df, |series, source, sample| {
            found.entry((series.to_string(), source.to_string())).or_default().push(sample);
        })
        .map_err(polars_error(dataset))?;
        let mut out = Tracks::default();
        for series in SERIES {
            let candidates = found.iter().filter(|((name, _), _)| name == series.name);
            let best = candidates.max_by_key(|((_, source), samples)| (aligned(source), samples.len()));
            if let Some(((_, source), samples)) = best {
                let track = Track { aligned: aligned(source), points: curve(series, samples.clone()) };
                out.by_name.insert(series.name, track);
            }
        }
        Ok(out)
    }

    pub(crate) fn get(&self, series: &str) -> Option<&Track> {
        self.by_name.get(series)
    }

    pub(crate) fn take(&mut self, series: &str) -> Option<Track> {
        self.by_name.remove(series)
    }
}

fn each_row(df: &DataFrame, mut each: impl FnMut(&str, &str, Sample)) -> PolarsResult<()> {
    let (at, value) = (df.column("at_ns")?.i64()?, df.column("value")?.f64()?);
    let (series, labels, source) =
        (df.column("series")?.str()?, df.column("labels")?.str()?, df.column("source")?.str()?);
    for i in 0..df.height() {
        if let (Some(at), Some(value), Some(series)) = (at.get(i), value.get(i), series.get(i))
            && value.is_finite()
        {
            each(series, source.get(i).unwrap_or_default(), (at, labels.get(i).map(String::from), value));
        }
    }
    Ok(())
}

/// Puts the label sets of one series together.
fn curve(series: &Series, mut samples: Vec<Sample>) -> Vec<(i64, f64)> {
    samples.sort_by_key(|(at, _, _)| *at);
    let mut latest: BTreeMap<Option<String>, f64> = BTreeMap::new();
    let mut increase = 0.0;
    let mut out: Vec<(i64, f64)> = Vec::new();
    for (at, labels, value) in samples {
        let before = latest.insert(labels, value);
        increase += match before {
            Some(before) if value >= before => value - before,
            // It fell: the server started again and has counted this much since.
            Some(_) => value.max(0.0),
            None => 0.0,
        };
        let sum: f64 = latest.values().sum();
        let now = match (series.kind, series.across) {
            (SeriesKind::Counter, _) => increase,
            (SeriesKind::Gauge, Across::Sum) => sum,
            (SeriesKind::Gauge, Across::Mean) => sum / latest.len() as f64,
        };
        match out.last_mut() {
            Some(last) if last.0 == at => last.1 = now,
            _ => out.push((at, now)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrun_schema::find_series;

    fn of(series: &str, samples: &[(i64, &str, f64)]) -> Vec<(i64, f64)> {
        let own = samples.iter().map(|(at, label, v)| (*at, Some(label.to_string()), *v)).collect();
        curve(find_series(series).unwrap(), own)
    }

    #[test]
    fn engines_add_up_and_shares_average() {
        let two = [(0, "a", 1.0), (0, "b", 3.0), (10, "a", 2.0), (10, "b", 4.0)];
        assert_eq!(of("running", &two), [(0, 4.0), (10, 6.0)]);
        assert_eq!(of("kv_cache_usage", &two), [(0, 2.0), (10, 3.0)]);
    }

    #[test]
    fn a_counter_goes_on_across_a_restart() {
        let restarted = [(0, "a", 5.0), (10, "a", 9.0), (20, "a", 2.0), (30, "a", 3.0)];
        assert_eq!(of("preemptions_total", &restarted), [(0, 0.0), (10, 4.0), (20, 6.0), (30, 7.0)]);
        // Each engine by itself: one that falls is not hidden by another that rises.
        let two = [(0, "a", 5.0), (0, "b", 0.0), (10, "a", 1.0), (10, "b", 8.0)];
        assert_eq!(of("preemptions_total", &two), [(0, 0.0), (10, 9.0)]);
    }
}
