//! The canonical series of the samples table, one curve each.
//!
//! Label sets (engines, devices) are put together as the series says: the latest value of each, summed or averaged.
//! Counters become the increase since the first sample, label set by label set, so that a restart adds what was counted
//! after it instead of taking away what was counted before. Where several files hold the same series, one is used: a file
//! whose clock is aligned before one that is not, then the one with more samples. Two files never add up, because they
//! may be two recordings of the same server.

use crate::error::AnalysisError;
use crate::frames::each_frame;
use polars::prelude::*;
use postrun_schema::{Across, Dataset, Series, SeriesKind, Table, find_series};
use std::collections::{BTreeMap, HashMap};

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

/// One sample. Label sets are numbered: a long recording has few of them and many samples.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at_ns: i64,
    labels: u32,
    value: f64,
}

/// Samples of one series from one file.
type OfSource = BTreeMap<String, Vec<Sample>>;

impl Tracks {
    /// Reads batch by batch: of a sample stay its time, its value and the number of its labels.
    pub(crate) fn load(dataset: &Dataset) -> Result<Tracks, AnalysisError> {
        let mut read = Reading::default();
        let columns = ["at_ns", "series", "labels", "value", "source"];
        each_frame(dataset, Table::Samples, &columns, |df| read.take(df))?;
        let aligned = |source: &str| {
            let known = dataset.manifest().sources.iter().find(|s| s.name == source);
            known.is_some_and(|s| s.aligned == Some(true))
        };
        let mut out = Tracks::default();
        for (name, candidates) in read.found {
            let best = candidates.into_iter().max_by_key(|(source, samples)| (aligned(source), samples.len()));
            if let (Some(series), Some((source, samples))) = (find_series(name), best) {
                let track = Track { aligned: aligned(&source), points: curve(series, samples) };
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

/// What was read so far.
#[derive(Default)]
struct Reading {
    found: BTreeMap<&'static str, OfSource>,
    labels: HashMap<String, u32>,
}

impl Reading {
    fn take(&mut self, df: &DataFrame) -> PolarsResult<()> {
        let (at, value) = (df.column("at_ns")?.i64()?, df.column("value")?.f64()?);
        let (series, labels, source) =
            (df.column("series")?.str()?, df.column("labels")?.str()?, df.column("source")?.str()?);
        for i in 0..df.height() {
            let known = series.get(i).and_then(find_series);
            if let (Some(at_ns), Some(value), Some(known)) = (at.get(i), value.get(i), known)
                && known.admits(value)
            {
                let labels = self.number(labels.get(i).unwrap_or_default());
                let sources = self.found.entry(known.name).or_default();
                let source = source.get(i).unwrap_or_default();
                let sample = Sample { at_ns, labels, value };
                match sources.get_mut(source) {
                    Some(samples) => samples.push(sample),
                    None => drop(sources.insert(source.to_string(), vec![sample])),
                }
            }
        }
        Ok(())
    }

    fn number(&mut self, labels: &str) -> u32 {
        if let Some(number) = self.labels.get(labels) {
            return *number;
        }
        let number = self.labels.len() as u32;
        self.labels.insert(labels.to_string(), number);
        number
    }
}

/// Puts the label sets of one series together.
fn curve(series: &Series, mut samples: Vec<Sample>) -> Vec<(i64, f64)> {
    samples.sort_by_key(|sample| sample.at_ns);
    let mut latest: BTreeMap<u32, f64> = BTreeMap::new();
    let mut increase = 0.0;
    let mut out: Vec<(i64, f64)> = Vec::new();
    for Sample { at_ns, labels, value } in samples {
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
            Some(last) if last.0 == at_ns => last.1 = now,
            _ => out.push((at_ns, now)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(series: &str, samples: &[(i64, &str, f64)]) -> Vec<(i64, f64)> {
        let mut read = Reading::default();
        let own = samples.iter().map(|&(at_ns, label, value)| Sample { at_ns, labels: read.number(label), value });
        let own = own.collect();
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
