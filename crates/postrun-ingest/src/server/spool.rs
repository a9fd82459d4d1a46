//! Samples that wait on disk until it is known where their clock lies.

use crate::error::IngestError;
use postrun_schema::find_series;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where a series and its labels stand in the spool's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    series: u32,
    /// 0: no labels.
    labels: u32,
}

/// An append-only file of samples. In memory: the names, and the canonical series, which are needed to align clocks.
#[derive(Debug)]
pub(crate) struct SampleSpool {
    path: PathBuf,
    file: BufWriter<File>,
    series: Names,
    labels: Names,
    len: u64,
    /// Times and sums over all labels of canonical series; one point a moment.
    canonical: BTreeMap<&'static str, BTreeMap<i64, (f64, u32)>>,
}

#[derive(Debug, Default)]
struct Names {
    list: Vec<String>,
    position: HashMap<String, u32>,
}

impl Names {
    fn position(&mut self, name: &str) -> u32 {
        if let Some(at) = self.position.get(name) {
            return *at;
        }
        let at = self.list.len() as u32;
        self.list.push(name.to_string());
        self.position.insert(name.to_string(), at);
        at
    }
}

/// Points kept of one canonical series; beyond, the series is thinned by taking no more of it.
const MOST_POINTS: usize = 1 << 20;

impl SampleSpool {
    pub(crate) fn create(dir: &Path) -> Result<SampleSpool, IngestError> {
        std::fs::create_dir_all(dir).map_err(IngestError::io(&dir.display().to_string()))?;
        let path = dir.join("samples.spool");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(IngestError::io(&path.display().to_string()))?;
        let file = BufWriter::with_capacity(1 << 18, file);
        let (series, labels) = (Names::default(), Names::default());
        Ok(SampleSpool { path, file, series, labels, len: 0, canonical: BTreeMap::new() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn push(
        &mut self,
        at_ns: i64,
        series: &str,
        labels: Option<&str>,
        value: f64,
    ) -> Result<(), IngestError> {
        let key =
            Key { series: self.series.position(series), labels: labels.map_or(0, |l| self.labels.position(l) + 1) };
        let mut record = [0u8; 24];
        record[..8].copy_from_slice(&at_ns.to_le_bytes());
        record[8..12].copy_from_slice(&key.series.to_le_bytes());
        record[12..16].copy_from_slice(&key.labels.to_le_bytes());
        record[16..].copy_from_slice(&value.to_le_bytes());
        let io = IngestError::io(&self.path.display().to_string());
        self.file.write_all(&record).map_err(io)?;
        self.len += 1;
        if let Some(known) = find_series(series) {
            let points = self.canonical.entry(known.name).or_default();
            if points.len() < MOST_POINTS || points.contains_key(&at_ns) {
                let point = points.entry(at_ns).or_insert((0.0, 0));
                point.0 += value;
                point.1 += 1;
            }
        }
        Ok(())
    }

    /// `(time, sum over labels)` of a canonical series, in time order; empty where the file has none.
    pub(crate) fn points(&self, series: &str) -> Vec<(i64, f64)> {
        let points = self.canonical.get(series);
        points.into_iter().flatten().map(|(at, (sum, _))| (*at, *sum)).collect()
    }

    /// First and last time of any canonical series.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let firsts = self.canonical.values().filter_map(|p| p.first_key_value()).map(|(at, _)| *at).min()?;
        let lasts = self.canonical.values().filter_map(|p| p.last_key_value()).map(|(at, _)| *at).max()?;
        Some((firsts, lasts))
    }

    /// Calls `each` with every sample in the order of the file.
    pub(crate) fn drain(
        &mut self,
        mut each: impl FnMut(i64, &str, Option<&str>, f64) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let io = IngestError::io(&self.path.display().to_string());
        self.file.flush().map_err(&io)?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0)).map_err(&io)?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut record = [0u8; 24];
        let word = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).unwrap_or(0);
        for _ in 0..self.len {
            reader.read_exact(&mut record).map_err(&io)?;
            let at_ns = record[..8].try_into().map(i64::from_le_bytes).unwrap_or(0);
            let value = record[16..].try_into().map(f64::from_le_bytes).unwrap_or(f64::NAN);
            let series = self.series.list.get(word(&record[8..12]) as usize).map_or("", String::as_str);
            let labels = match word(&record[12..16]) {
                0 => None,
                at => self.labels.list.get(at as usize - 1).map(String::as_str),
            };
            each(at_ns, series, labels, value)?;
        }
        Ok(())
    }
}
