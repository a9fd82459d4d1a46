//! The per-request columns of one run, as they wait in memory: 8 bytes a value.

use super::spool::Spool;
use std::collections::BTreeMap;

/// Stands for a value that is not there.
pub(crate) const ABSENT: i64 = i64::MIN;

/// A column of times with gaps, 8 bytes an entry.
#[derive(Debug, Default, Clone)]
pub(crate) struct Times {
    entries: Vec<i64>,
    earliest: Option<i64>,
}

impl Times {
    pub(crate) fn new(entries: Vec<i64>) -> Times {
        let earliest = entries.iter().copied().filter(|v| *v != ABSENT).min();
        Times { entries, earliest }
    }

    pub(crate) fn get(&self, i: usize) -> Option<i64> {
        self.entries.get(i).copied().filter(|v| *v != ABSENT)
    }

    /// The smallest entry.
    pub(crate) fn earliest(&self) -> Option<i64> {
        self.earliest
    }
}

/// A column of counts.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts(pub(crate) Vec<i64>);

impl Counts {
    pub(crate) fn get(&self, i: usize) -> Option<u32> {
        self.0.get(i).and_then(|v| u32::try_from(*v).ok())
    }
}

/// What the `itls` array said about each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// This many gaps, adding up to this many nanoseconds.
    Known(u32, i64),
    /// The list is damaged or null.
    Unknown,
}

/// The per-request columns of one run.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub times: BTreeMap<&'static str, Times>,
    pub counts: BTreeMap<&'static str, Counts>,
    pub gaps: Vec<Gaps>,
    pub has_gaps: bool,
    pub errors: BTreeMap<usize, String>,
    pub errors_len: Option<usize>,
    /// Chunk rows written while reading, by request; empty when the gaps went to the spool.
    pub written_chunks: Vec<Option<u32>>,
    pub spool: Option<Spool>,
    /// Lengths seen, by array.
    pub lengths: BTreeMap<String, usize>,
}

impl Columns {
    pub(crate) fn time(&self, name: &str, i: usize) -> Option<i64> {
        self.times.get(name).and_then(|t| t.get(i))
    }

    pub(crate) fn count(&self, name: &str, i: usize) -> Option<u32> {
        self.counts.get(name).and_then(|c| c.get(i))
    }

    /// A sum over first tokens and gaps, to tell runs apart; `None` without per-request times.
    pub(crate) fn checksum(&self) -> Option<i64> {
        let ttfts = self.times.get("ttfts")?;
        let first = ttfts.entries.iter().filter(|v| **v != ABSENT).fold(0i64, |sum, v| sum.wrapping_add(*v));
        Some(self.gaps.iter().fold(first, |sum, gaps| match gaps {
            Gaps::Known(_, ns) => sum.wrapping_add(*ns),
            Gaps::Unknown => sum,
        }))
    }

    /// Number of requests: the longest array.
    pub(crate) fn len(&self) -> usize {
        self.lengths.values().copied().max().unwrap_or(0)
    }
}
