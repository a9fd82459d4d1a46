//! Chunks as they arrived, also where the client spread each gap over the tokens of its chunk.
//!
//! Such a client divides a gap by the chunk's tokens and writes the quotient once a token, so a run of equal neighbours
//! is one chunk. Rounding to nanoseconds moves the quotients by one or two.

use crate::chunk_scan::RequestChunks;

const ROUNDING_NS: u64 = 2;

/// The chunks of one request.
#[derive(Clone, Copy)]
pub(super) struct Arrivals<'a> {
    pub request: usize,
    /// Since the send; rising.
    pub at_ns: &'a [i64],
    sizes: Sizes<'a>,
    /// Tokens of a usual chunk of this request.
    usual: u32,
}

#[derive(Clone, Copy)]
enum Sizes<'a> {
    Unknown,
    Recorded(&'a [Option<u16>]),
    Found(&'a [u32]),
}

impl<'a> Arrivals<'a> {
    /// The chunks as recorded.
    pub(super) fn recorded(chunks: &RequestChunks<'a>) -> Arrivals<'a> {
        let sizes = match chunks.tokens.is_empty() {
            true => Sizes::Unknown,
            false => Sizes::Recorded(chunks.tokens),
        };
        let usual = chunks.later_tokens.round().clamp(1.0, 1e6) as u32;
        Arrivals { request: chunks.request, at_ns: chunks.at_ns, sizes, usual }
    }

    /// Time between chunk `k` and the next.
    pub(super) fn gap(&self, k: usize) -> Option<i64> {
        Some(self.at_ns.get(k + 1)?.saturating_sub(*self.at_ns.get(k)?).max(0))
    }

    /// True if the number of tokens of each chunk is known.
    pub(super) fn sizes_known(&self) -> bool {
        !matches!(self.sizes, Sizes::Unknown)
    }

    /// How many tokens more than usual chunk `k` has; 0 if not known.
    pub(super) fn extra_tokens(&self, k: usize) -> u32 {
        let size = match self.sizes {
            Sizes::Unknown => None,
            Sizes::Recorded(sizes) => sizes.get(k).copied().flatten().map(u32::from),
            Sizes::Found(sizes) => sizes.get(k).copied(),
        };
        size.map_or(0, |tokens| tokens.saturating_sub(self.usual))
    }
}

/// True if the gap that ends with entry `k` is the first of its chunk.
pub(super) fn starts_chunk(at_ns: &[i64], k: usize) -> bool {
    match (at_ns.get(k), k.checked_sub(1).and_then(|p| at_ns.get(p)), k.checked_sub(2).and_then(|p| at_ns.get(p))) {
        (Some(c), Some(b), Some(a)) => c.saturating_sub(*b).abs_diff(b.saturating_sub(*a)) > ROUNDING_NS,
        _ => true,
    }
}

/// Where the chunk ends whose first gap ends with entry `k`: index of its last entry.
pub(super) fn chunk_end(at_ns: &[i64], k: usize) -> usize {
    let mut end = k;
    while end + 1 < at_ns.len() && !starts_chunk(at_ns, end + 1) {
        end += 1;
    }
    end
}

/// Buffers to put spread chunks together again.
#[derive(Default)]
pub(super) struct Joined {
    at_ns: Vec<i64>,
    sizes: Vec<u32>,
}

impl Joined {
    /// The chunks behind the entries of a smoothed recording.
    pub(super) fn fill<'a>(&'a mut self, chunks: &RequestChunks<'_>) -> Arrivals<'a> {
        self.at_ns.clear();
        self.sizes.clear();
        self.at_ns.extend(chunks.at_ns.first());
        self.sizes.extend(chunks.at_ns.first().map(|_| 1));
        let mut before = None;
        for pair in chunks.at_ns.windows(2) {
            let &[from, to] = pair else { continue };
            let gap = to.saturating_sub(from);
            match (before, self.at_ns.last_mut(), self.sizes.last_mut()) {
                (Some(last), Some(at), Some(size)) if gap.abs_diff(last) <= ROUNDING_NS => {
                    (*at, *size) = (to, size.saturating_add(1));
                }
                _ => {
                    self.at_ns.push(to);
                    self.sizes.push(1);
                }
            }
            before = Some(gap);
        }
        let (entries, found) = (chunks.at_ns.len() as f64, self.at_ns.len().max(1) as f64);
        let usual = (entries / found).round().max(1.0) as u32;
        Arrivals { request: chunks.request, at_ns: &self.at_ns, sizes: Sizes::Found(&self.sizes), usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_one_chunk() {
        // Gaps 10, 10, 11 (one chunk of three tokens), 50, 7, 7.
        let at_ns = [5, 1005, 2005, 3006, 53_006, 53_706, 54_406];
        let chunks = RequestChunks {
            request: 3,
            sent_ns: None,
            at_ns: &at_ns,
            tokens: &[],
            mean_tokens: 1.0,
            later_tokens: 1.0,
        };
        let mut joined = Joined::default();
        let arrivals = joined.fill(&chunks);
        assert_eq!(arrivals.at_ns, [5, 3006, 53_006, 54_406]);
        assert_eq!((0..4).map(|k| arrivals.extra_tokens(k)).collect::<Vec<_>>(), [0, 1, 0, 0]);
        assert_eq!((arrivals.gap(1), arrivals.gap(3)), (Some(50_000), None));
        let starts: Vec<usize> = (1..at_ns.len()).filter(|k| starts_chunk(&at_ns, *k)).collect();
        assert_eq!(starts, [1, 4, 5]);
        assert_eq!((chunk_end(&at_ns, 1), chunk_end(&at_ns, 4), chunk_end(&at_ns, 5)), (3, 4, 6));
    }
}
