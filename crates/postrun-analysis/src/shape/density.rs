//! Two quantities against each other: single points where they are few, counts in a grid where they are many.

use super::Sources;

/// Up to so many requests each is a point.
const POINTS: usize = 600;
const COLUMNS: usize = 48;
const ROWS: usize = 30;
/// From this ratio of largest to smallest on an axis is logarithmic.
const LOG_FROM: f64 = 12.0;

/// TTFT against prompt tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// Requests with both values.
    pub requests: u64,
    /// Prompt tokens.
    pub x: DensityAxis,
    /// TTFT in nanoseconds.
    pub y: DensityAxis,
    /// Each request, where there are few; else empty.
    pub points: Vec<(f64, f64)>,
    /// Counts of the grid, where there are many; only cells that hold any, row by row.
    pub cells: Vec<DensityCell>,
}

/// One axis of the grid: cells of equal width, in logarithms where `log`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DensityAxis {
    /// Smallest value.
    pub from: f64,
    /// Largest value.
    pub to: f64,
    /// Cells are equally wide in the logarithm.
    pub log: bool,
    /// How many cells.
    pub cells: usize,
}

/// A cell of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DensityCell {
    /// Column, from the left.
    pub column: usize,
    /// Row, from below.
    pub row: usize,
    /// Requests in it.
    pub count: u64,
}

impl DensityAxis {
    fn of(values: impl Iterator<Item = f64> + Clone, cells: usize) -> DensityAxis {
        let from = values.clone().fold(f64::INFINITY, f64::min);
        let to = values.fold(f64::NEG_INFINITY, f64::max);
        DensityAxis { from, to, log: from > 0.0 && to / from >= LOG_FROM, cells }
    }

    /// The value at which cell `k` begins.
    pub fn edge(&self, k: usize) -> f64 {
        let share = k as f64 / self.cells as f64;
        match self.log {
            true => self.from * (self.to / self.from).powf(share),
            false => self.from + (self.to - self.from) * share,
        }
    }

    fn cell(&self, value: f64) -> usize {
        let share = match self.log {
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false if self.to > self.from => (value - self.from) / (self.to - self.from),
            false => 0.0,
        };
        ((share * self.cells as f64) as usize).min(self.cells - 1)
    }
}

pub(super) fn of(from: &Sources<'_>) -> Option<Density> {
    let r = from.requests;
    let pair = |i: usize| Some((f64::from(r.prompt_tokens[i]?), r.ttft_ns[i]? as f64));
    grid(&from.rows().filter_map(pair).collect::<Vec<_>>())
}

fn grid(pairs: &[(f64, f64)]) -> Option<Density> {
    if pairs.is_empty() {
        return None;
    }
    let x = DensityAxis::of(pairs.iter().map(|p| p.0), COLUMNS);
    let y = DensityAxis::of(pairs.iter().map(|p| p.1), ROWS);
    let requests = pairs.len() as u64;
    if pairs.len() <= POINTS {
        return Some(Density { requests, x, y, points: pairs.to_vec(), cells: Vec::new() });
    }
    let mut counts = vec![0u64; COLUMNS * ROWS];
    pairs.iter().for_each(|(px, py)| counts[y.cell(*py) * COLUMNS + x.cell(*px)] += 1);
    let cell = |(k, count): (usize, u64)| DensityCell { column: k % COLUMNS, row: k / COLUMNS, count };
    let cells = counts.into_iter().enumerate().filter(|(_, count)| *count > 0).map(cell).collect();
    Some(Density { requests, x, y, points: Vec::new(), cells })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_in_one_cell() {
        let pairs: Vec<(f64, f64)> = (0..5000).map(|i| (f64::from(i % 900), 1e6 + f64::from(i) * 1e5)).collect();
        let d = grid(&pairs).unwrap();
        assert_eq!(d.cells.iter().map(|c| c.count).sum::<u64>(), 5000);
        assert!(d.points.is_empty() && !d.x.log && d.y.log);
        assert_eq!((d.y.edge(0), d.y.cell(d.y.to), d.x.cell(0.0)), (1e6, ROWS - 1, 0));
        let few = grid(&pairs[..3]).unwrap();
        assert_eq!((few.points.len(), few.cells.len()), (3, 0));
        assert_eq!(grid(&[(512.0, 5.0), (512.0, 5.0)]).unwrap().x.cell(512.0), 0);
    }
}
