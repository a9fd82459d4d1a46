//! The per-request columns of one run, as they wait in memory: 8 bytes a value.

use super::spool::Spool;
use crate::client::sends::{Sends, Span};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Stands for a value that is not there.
pub(crate) const ABSENT: i64 = i64::MIN;

/// A column of times with gaps, 8 bytes an entry.
#[derive(Debug, Default, Clone)]
pub(crate) struct Times {
    entries: Vec<i64>,
}

impl Times {
    pub(crate) fn new(entries: Vec<i64>) -> Times {
        Times { entries }
    }

    pub(crate) fn get(&self, i: usize) -> Option<i64> {
        self.entries.get(i).copied().filter(|v| *v != ABSENT)
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
    span: OnceCell<Option<Span>>,
}

impl Columns {
    pub(crate) fn time(&self, name: &str, i: usize) -> Option<i64> {
        self.times.get(name).and_then(|t| t.get(i))
    }

    pub(crate) fn count(&self, name: &str, i: usize) -> Option<u32> {
        self.counts.get(name).and_then(|c| c.get(i))
    }

    /// Which send times are times of the run, once all columns are read.
    pub(crate) fn span(&self) -> Option<Span> {
        *self.span.get_or_init(|| {
            let mut sends = Sends::default();
            for (i, sent) in self.times.get("start_times")?.entries.iter().enumerate().filter(|(_, at)| **at != ABSENT)
            {
                sends.add(*sent, *sent, self.was_not_answered(i));
            }
            sends.span()
        })
    }

    /// By its error, or because nothing came.
    pub(crate) fn was_not_answered(&self, i: usize) -> bool {
        let nothing = || self.count("output_lens", i) == Some(0) && self.time("ttfts", i).is_none_or(|ns| ns <= 0);
        self.errors.contains_key(&i) || nothing()
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
