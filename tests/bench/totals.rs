//! What the client would print at the end of a run, exactly, without keeping the gaps.

use crate::load::{Load, Request, Size, seconds};

/// Bytes a gap takes in the file, separator included, as measured on 400 MB.
const BYTES_PER_GAP: f64 = 21.69;
/// Bytes a request takes beside its gaps, as measured on 400 MB.
const BYTES_PER_REQUEST: f64 = 133.5;
const MS: f64 = 1e6;
const S: u64 = 1_000_000_000;

/// Percentiles the client was asked for.
pub const PERCENTILES: [u32; 3] = [50, 90, 99];

/// One distribution, in ms.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
    /// At [`PERCENTILES`].
    pub percentiles: [f64; 3],
}

impl Spread {
    /// Of values in memory.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len().max(1) as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let std = (sorted.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        let at = |rank: u64| sorted.get(rank as usize).copied().unwrap_or_default();
        Spread { mean, std, percentiles: PERCENTILES.map(|p| interpolate(sorted.len() as u64, p, at)) }
    }
}

/// Ranks of percentile `p` and how far to go from the first to the second; linear, as numpy.
fn position(n: u64, p: u32) -> (u64, u64, f64) {
    let last = n.saturating_sub(1);
    let h = last as f64 * f64::from(p) / 100.0;
    (h as u64, (h as u64 + 1).min(last), h.fract())
}

fn interpolate(n: u64, p: u32, at: impl Fn(u64) -> f64) -> f64 {
    let (below, above, fraction) = position(n, p);
    at(below) + (at(above) - at(below)) * fraction
}

/// All gaps of the run, exactly, without keeping them: counted by 8 µs, then only those near a percentile are kept.
pub struct GapTotals {
    /// How many.
    pub count: u64,
    sum: u128,
    squares: u128,
    bins: Vec<u32>,
    /// Their distribution, once settled.
    pub spread: Spread,
}

impl GapTotals {
    /// The last bin holds all beyond 2 s.
    const BINS: usize = 1 << 18;

    fn bin(ns: u64) -> usize {
        ((ns >> 13) as usize).min(Self::BINS - 1)
    }

    fn new() -> GapTotals {
        GapTotals { count: 0, sum: 0, squares: 0, bins: vec![0; Self::BINS], spread: Spread::default() }
    }

    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum += u128::from(ns);
        self.squares += u128::from(ns) * u128::from(ns);
        self.bins[Self::bin(ns)] += 1;
    }

    /// Settles the percentiles from a second look at the same gaps.
    fn settle(&mut self, again: impl Iterator<Item = u64>) {
        let n = self.count;
        let ranks = PERCENTILES.iter().flat_map(|p| [position(n, *p).0, position(n, *p).1]);
        // For each bin that holds a wanted rank: how many values lie below it, and its own values.
        let mut wanted: Vec<(usize, u64, Vec<u64>)> = Vec::new();
        for rank in ranks {
            let mut below = 0u64;
            let holds = |count: &u32| {
                below += u64::from(*count);
                below > rank
            };
            if let Some(bin) = self.bins.iter().position(holds)
                && !wanted.iter().any(|w| w.0 == bin)
            {
                wanted.push((bin, below - u64::from(self.bins[bin]), Vec::new()));
            }
        }
        for ns in again {
            let bin = Self::bin(ns);
            if let Some((_, _, values)) = wanted.iter_mut().find(|w| w.0 == bin) {
                values.push(ns);
            }
        }
        wanted.iter_mut().for_each(|w| w.2.sort_unstable());
        let at = |rank: u64| {
            let inside = |w: &(usize, u64, Vec<u64>)| w.2.get(rank.checked_sub(w.1)? as usize).copied();
            wanted.iter().find_map(inside).unwrap_or_default() as f64 / MS
        };
        let per = n.max(1) as f64;
        self.spread = Spread {
            mean: self.sum as f64 / per / MS,
            std: ((u128::from(n) * self.squares - self.sum * self.sum) as f64).sqrt() / per / MS,
            percentiles: PERCENTILES.map(|p| interpolate(n, p, at)),
        };
    }
}

/// What the client would print; all but `requests` is over successful ones.
pub struct Totals {
    /// Requests sent.
    pub requests: u64,
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// When the first request was sent; it always succeeds.
    pub first_start_ns: u64,
    /// When the last chunk came.
    pub last_end_ns: u64,
    /// TTFT of each, ms.
    pub ttft: Vec<f64>,
    /// TPOT of each with two tokens or more, ms.
    pub tpot: Vec<f64>,
    /// End-to-end latency of each, ms.
    pub e2e: Vec<f64>,
    /// All gaps together.
    pub itl: GapTotals,
    chunks_in_second: Vec<u32>,
    /// Requests that came minus requests that had gone, by second.
    change_in_second: Vec<i64>,
}

impl Totals {
    /// Plays the load twice.
    pub fn of(load: &Load) -> Totals {
        let mut totals = Totals {
            requests: 0,
            input_tokens: 0,
            output_tokens: 0,
            first_start_ns: 0,
            last_end_ns: 0,
            ttft: Vec::new(),
            tpot: Vec::new(),
            e2e: Vec::new(),
            itl: GapTotals::new(),
            chunks_in_second: Vec::new(),
            change_in_second: Vec::new(),
        };
        for request in load.requests() {
            if totals.reached(load.size) {
                break;
            }
            if totals.requests == 0 {
                totals.first_start_ns = request.start_ns;
            }
            totals.requests += 1;
            if request.ok() {
                totals.add(&request);
            }
        }
        let again = load.requests().take(totals.requests as usize).filter(Request::ok);
        totals.itl.settle(again.flat_map(|r| r.gaps()).map(|gap| gap.ns));
        totals
    }

    fn reached(&self, size: Size) -> bool {
        match size {
            Size::Bytes(bytes) => {
                let written = self.itl.count as f64 * BYTES_PER_GAP + self.requests as f64 * BYTES_PER_REQUEST;
                self.requests > 0 && written >= bytes as f64
            }
            Size::Gaps(gaps) => self.requests > 0 && self.itl.count >= gaps,
            Size::Requests { count, .. } => self.requests >= count,
        }
    }

    fn add(&mut self, request: &Request) {
        let mut end_ns = request.first_ns();
        self.chunk_at(end_ns);
        for gap in request.gaps() {
            self.itl.add(gap.ns);
            self.chunk_at(gap.at_ns);
            end_ns = gap.at_ns;
        }
        let (ttft, latency) = (request.ttft(), seconds(end_ns) - seconds(request.start_ns));
        self.ttft.push(ttft * 1e3);
        self.e2e.push(latency * 1e3);
        if request.output > 1 {
            self.tpot.push((latency - ttft) * 1e3 / f64::from(request.output - 1));
        }
        self.input_tokens += u64::from(request.prompt);
        self.output_tokens += u64::from(request.output);
        self.last_end_ns = self.last_end_ns.max(end_ns);
        let (came, gone) = (self.second(request.start_ns), self.second(end_ns) + 1);
        if self.change_in_second.len() <= gone {
            self.change_in_second.resize(gone + 64, 0);
        }
        self.change_in_second[came] += 1;
        self.change_in_second[gone] -= 1;
    }

    fn second(&self, ns: u64) -> usize {
        ((ns - self.first_start_ns) / S) as usize
    }

    fn chunk_at(&mut self, ns: u64) {
        let second = self.second(ns);
        if self.chunks_in_second.len() <= second {
            self.chunks_in_second.resize(second + 64, 0);
        }
        self.chunks_in_second[second] += 1;
    }

    /// Most chunks in one second since the first start.
    pub fn most_chunks_in_second(&self) -> u32 {
        self.chunks_in_second.iter().copied().max().unwrap_or(0)
    }

    /// Most requests that were there in one second.
    pub fn most_at_once(&self) -> u64 {
        let now = self.change_in_second.iter().scan(0, |now, change| {
            *now += change;
            Some(*now)
        });
        now.max().unwrap_or(0).max(0) as u64
    }
}
