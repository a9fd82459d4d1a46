//! Samples that wait on disk until it is known where their clock lies.
//!
//! In memory stay the names and, of the series that clocks are aligned by ([`Curve`]), the values. Of a curve with more
//! than [`MOST_POINTS`] values, ever fewer moments are kept: half of them, then a quarter and so on, chosen by the moment
//! itself, so that whatever the order of the file, all label sets keep the same moments and their sums stay whole. An
//! alignment then sees the whole recording, only less finely. What is written to disk is never thinned.

use crate::error::IngestError;
use crate::limits::MOST_SERIES;
use postrun_schema::{Series, find_series};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A series that clocks are aligned by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    Running,
    Waiting,
    OutputTokens,
    OutputTokenRate,
}

impl Curve {
    fn of(series: &str) -> Option<Curve> {
        Some(match series {
            "running" => Curve::Running,
            "waiting" => Curve::Waiting,
            "output_tokens_total" => Curve::OutputTokens,
            "output_tokens_per_s" => Curve::OutputTokenRate,
            _ => return None,
        })
    }
}

/// One series with one label set.
#[derive(Debug)]
pub(crate) struct Track {
    pub series: String,
    pub labels: Option<String>,
    /// The canonical series that it is.
    pub known: Option<&'static Series>,
    curve: Option<Curve>,
    has_values: bool,
}

/// Where a track stands in the list of its spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TrackId(u32);

impl TrackId {
    /// Stands for every series beyond the limit: nothing is kept of it.
    pub(crate) const LEFT_OUT: TrackId = TrackId(u32::MAX);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An append-only file of samples.
#[derive(Debug)]
pub(crate) struct SampleSpool {
    path: PathBuf,
    file: BufWriter<File>,
    tracks: Vec<Track>,
    position: HashMap<String, HashMap<String, TrackId>>,
    len: u64,
    /// First and last moment of any canonical series.
    span: Option<(i64, i64)>,
    curves: [Points; 4],
}

/// Bytes of a sample in the file: time, track, value.
const RECORD_BYTES: usize = 20;

impl SampleSpool {
    pub(crate) fn create(dir: &Path) -> Result<SampleSpool, IngestError> {
        // Only it, not what it lies in: an interrupt may just have removed that.
        std::fs::create_dir(dir).map_err(IngestError::io(&dir.display().to_string()))?;
        let path = dir.join("samples.spool");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(IngestError::io(&path.display().to_string()))?;
        Ok(SampleSpool {
            path,
            file: BufWriter::with_capacity(1 << 18, file),
            tracks: Vec::new(),
            position: HashMap::new(),
            len: 0,
            span: None,
            curves: Default::default(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The track of a series and label set, made where there is none yet. `None`: no more are kept.
    pub(crate) fn track(&mut self, series: &str, labels: Option<&str>) -> Option<TrackId> {
        let key = labels.unwrap_or_default();
        if let Some(id) = self.position.get(series).and_then(|sets| sets.get(key)) {
            return Some(*id);
        }
        if self.tracks.len() >= MOST_SERIES {
            return None;
        }
        let id = TrackId(self.tracks.len() as u32);
        self.tracks.push(Track {
            series: series.to_string(),
            labels: labels.map(String::from),
            known: find_series(series),
            curve: Curve::of(series),
            has_values: false,
        });
        self.position.entry(series.to_string()).or_default().insert(key.to_string(), id);
        Some(id)
    }

    /// The canonical series that a track is.
    pub(crate) fn known(&self, id: TrackId) -> Option<&'static Series> {
        self.tracks.get(id.index())?.known
    }

    pub(crate) fn push(&mut self, at_ns: i64, id: TrackId, value: f64) -> Result<(), IngestError> {
        let Some(track) = self.tracks.get_mut(id.index()) else { return Ok(()) };
        let mut record = [0u8; RECORD_BYTES];
        record[..8].copy_from_slice(&at_ns.to_le_bytes());
        record[8..12].copy_from_slice(&id.0.to_le_bytes());
        record[12..].copy_from_slice(&value.to_le_bytes());
        self.file.write_all(&record).map_err(|e| IngestError::io(&self.path.display().to_string())(e))?;
        self.len += 1;
        track.has_values = true;
        if track.known.is_some() {
            let (first, last) = self.span.unwrap_or((at_ns, at_ns));
            self.span = Some((first.min(at_ns), last.max(at_ns)));
        }
        if let Some(curve) = track.curve {
            self.curves[curve as usize].push(Point { at_ns, track: id.0, value });
        }
        Ok(())
    }

    /// `(time, sum over label sets)`, in time order; empty where the file has none. Of several values of one label set
    /// at one moment, the last counts.
    pub(crate) fn points(&self, curve: Curve) -> Vec<(i64, f64)> {
        self.curves[curve as usize].sums()
    }

    /// True where the file has values of a series.
    pub(crate) fn has(&self, series: &str) -> bool {
        self.tracks.iter().any(|track| track.has_values && track.series == series)
    }

    /// True where all it holds of the canonical series are figures of devices.
    pub(crate) fn is_of_devices(&self) -> bool {
        let mut known = self.tracks.iter().filter(|track| track.has_values).filter_map(|track| track.known).peekable();
        known.peek().is_some() && known.all(|series| series.name.starts_with("gpu_"))
    }

    /// First and last time of any canonical series.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// Calls `each` with every sample in the order of the file.
    pub(crate) fn drain(
        &mut self,
        mut each: impl FnMut(i64, TrackId, &Track, f64) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let io = IngestError::io(&self.path.display().to_string());
        self.file.flush().map_err(&io)?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0)).map_err(&io)?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut record = [0u8; RECORD_BYTES];
        for _ in 0..self.len {
            reader.read_exact(&mut record).map_err(&io)?;
            let at_ns = record[..8].try_into().map_or(0, i64::from_le_bytes);
            let id = TrackId(record[8..12].try_into().map_or(0, u32::from_le_bytes));
            let value = record[12..].try_into().map_or(f64::NAN, f64::from_le_bytes);
            if let Some(track) = self.tracks.get(id.index()) {
                each(at_ns, id, track, value)?;
            }
        }
        Ok(())
    }
}

/// Values kept of one curve, over all its label sets.
const MOST_POINTS: usize = 1 << 20;
/// Halvings after which a curve takes nothing more: a file with so many values at a single moment is no recording.
const MOST_HALVINGS: u32 = 32;

#[derive(Debug, Clone, Copy)]
struct Point {
    at_ns: i64,
    track: u32,
    value: f64,
}

/// Values of a curve in the order of the file.
#[derive(Debug, Default)]
struct Points {
    list: Vec<Point>,
    halvings: u32,
}

impl Points {
    fn push(&mut self, point: Point) {
        while self.list.len() >= MOST_POINTS && self.halvings < MOST_HALVINGS {
            self.halvings += 1;
            let halvings = self.halvings;
            self.list.retain(|p| stays(p.at_ns, halvings));
        }
        if self.list.len() < MOST_POINTS && stays(point.at_ns, self.halvings) {
            self.list.push(point);
        }
    }

    fn sums(&self) -> Vec<(i64, f64)> {
        let mut sorted = self.list.clone();
        sorted.sort_by_key(|p| (p.at_ns, p.track));
        let mut out: Vec<(i64, f64)> = Vec::new();
        for (i, point) in sorted.iter().enumerate() {
            let replaced = sorted.get(i + 1).is_some_and(|next| (next.at_ns, next.track) == (point.at_ns, point.track));
            match out.last_mut() {
                _ if replaced => {}
                Some((at, sum)) if *at == point.at_ns => *sum += point.value,
                _ => out.push((point.at_ns, point.value)),
            }
        }
        out
    }
}

/// Whether a moment is among those that stay after so many halvings: one in two to their power, spread evenly.
fn stays(at_ns: i64, halvings: u32) -> bool {
    let mixed = (at_ns as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.leading_zeros() >= halvings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool() -> (SampleSpool, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        (SampleSpool::create(&dir.path().join("spool")).unwrap(), dir)
    }

    #[test]
    fn the_last_value_of_a_label_set_counts_and_label_sets_add_up() {
        let (mut spool, _dir) = spool();
        let mut track = |series, labels| spool.track(series, labels).unwrap();
        let (a, b) = (track("running", Some("engine=0")), track("running", Some("engine=1")));
        let other = track("mine", None);
        assert_eq!(track("running", Some("engine=0")), a);
        assert!(!spool.has("running"));
        for (at, id, value) in [(20, a, 3.0), (10, a, 1.0), (10, b, 5.0), (10, a, 2.0), (20, a, 4.0), (5, other, 9.0)] {
            spool.push(at, id, value).unwrap();
        }
        assert_eq!(spool.points(Curve::Running), [(10, 7.0), (20, 4.0)]);
        assert_eq!((spool.span(), spool.has("running"), spool.has("waiting")), (Some((10, 20)), true, false));
        let mut order = Vec::new();
        spool
            .drain(|at, _, track, value| {
                order.push((at, track.series.clone(), track.labels.is_some(), value));
                Ok(())
            })
            .unwrap();
        assert_eq!((order.len(), &order[5]), (6, &(5, "mine".to_string(), false, 9.0)));
    }

    #[test]
    fn a_long_curve_is_thinned_over_its_whole_length() {
        let mut points = Points::default();
        let moments = MOST_POINTS as i64 * 3 / 2;
        for track in 0..2 {
            for second in 0..moments {
                points.push(Point { at_ns: second * 1_000_000_000, track, value: 1.0 });
            }
        }
        let sums = points.sums();
        assert!(points.list.len() <= MOST_POINTS && sums.len() > MOST_POINTS / 4, "{}", sums.len());
        assert!(sums.iter().all(|(_, sum)| *sum == 2.0));
        assert!(sums.last().is_some_and(|(at, _)| *at > (moments - 100) * 1_000_000_000));
    }
}
