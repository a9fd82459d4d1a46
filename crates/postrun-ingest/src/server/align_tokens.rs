//! Places a counter of generated tokens on the client's curve of received tokens.
//!
//! A token is counted in a step of the engine and received a moment later. So a reading of `n` tokens was taken between
//! the moment at which the client received its `n`th token and that of the next one: each reading gives an interval of
//! offsets. What a reading counts from, the tokens of a warm-up or of runs before, is not in it. Three cases:
//!
//! * **Proven.** The counter stood still before the run and after it, and grew by exactly what the client received. The
//!   median of the intervals is the estimate, their scatter says how sure it is. A scrape is stamped when it is asked for
//!   and may be answered up to a step later, so the later half of each interval counts.
//! * **Others too.** It grew by more: streams that broke, or another client. Others' tokens are only ever added, so a
//!   reading counted from the start bounds the offset from below, the same counted back from the end from above.
//! * **Guessed.** The recording starts or ends inside the run. The start is that value for which the readings agree best;
//!   every other start for which they agree about as well widens the uncertainty.
//!
//! A recording of several runs has several stretches that could be this one's. The best counts where it is clearly best.

use super::align::{Alignment, MS, SECOND, median};
use super::client_trace::ClientTrace;

/// What a counter of tokens says of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenFit {
    /// It is the client's curve, shifted.
    Fits(Alignment),
    /// Two stretches of the recording fit about as well.
    Ambiguous,
    /// Tokens flowed, but not as the client received them: another run's.
    Contradicts,
    /// Too few readings while tokens flowed, or too many tokens of others.
    Silent,
}

/// A reading and its time stamp are this far apart at best: the server answers a scrape when it has a moment.
const SCRAPE_NS: i64 = 10 * MS;
/// Shifts that scatter more than this, and more than a step of the engine, belong to another run.
const MOST_SCATTER_NS: i64 = 50 * MS;
/// At least this many readings while tokens flow, where the counter grew by exactly what the client received, …
const FEWEST_PROVEN: usize = 2;
/// … where others had tokens, too, …
const FEWEST_READINGS: usize = 5;
/// … and where it had to be guessed.
const FEWEST_GUESSED: usize = 15;
/// What one reading alone may be wrong by.
const FEW_READINGS_NS: i64 = 100 * MS;
/// A reading counts where the moments of its token and of the next lie this close: in a pause of the client's stream the
/// counter stands still, and its reading could be of any moment of it …
const TOKEN_APART_NS: i64 = 250 * MS;
/// … and where the client received at least this many tokens in the second around it.
const TOKENS_AROUND: f64 = 10.0;
/// Fewer tokens are no curve.
const FEWEST_TOKENS: f64 = 100.0;
/// Tokens of others, as a share of the client's, beyond which the counter is not the client's.
const MOST_OTHERS: f64 = 0.3;
/// Half-width beyond which a counter places nothing: levels do better.
const WIDEST_NS: i64 = 500 * MS;
/// Share of the client's tokens that the readings of a guessed start must span.
const LEAST_SPANNED: f64 = 0.3;
/// Standing values tried as the start of a run: a day of scrapes has thousands.
const MOST_STARTS: usize = 300;
/// Share of its tokens that a client may count wrongly.
const MOST_MISCOUNTED: f64 = 0.02;
/// More is no count of tokens.
const MOST_TOKENS: f64 = 1e15;
/// The best placement is clear where the next scatters this many times as much.
const CLEARLY: i64 = 3;
/// Placements that lie closer are the same one.
const SAME_NS: i64 = SECOND;

/// `points`: readings of the counter, in time order; `resolution_ns`: what their stamps are cut to; `credible` says
/// whether an origin can be the run's at all.
pub(crate) fn from_tokens(
    trace: &ClientTrace,
    points: &[(i64, f64)],
    resolution_ns: i64,
    credible: &dyn Fn(i64) -> bool,
) -> TokenFit {
    let mut found = Found::default();
    let counts: Vec<(i64, f64)> = points.iter().filter(|(_, v)| (0.0..MOST_TOKENS).contains(v)).copied().collect();
    found.look(trace, &growing(&counts), resolution_ns, credible);
    // A server that started again may have lost tokens, or be another one: each of its lives may hold the run.
    let lives: Vec<&[(i64, f64)]> = counts.chunk_by(|a, b| a.1 <= b.1).collect();
    if lives.len() > 1 {
        let mut apart = Found::default();
        for life in lives.into_iter().filter(|life| life.len() >= FEWEST_READINGS) {
            apart.look(trace, life, resolution_ns, credible);
        }
        found.placed.append(&mut apart.placed);
        found.unlike |= apart.unlike;
    }
    match choose(found.placed) {
        Some(fit) => fit,
        None if found.unlike || !found.silent => TokenFit::Contradicts,
        None => TokenFit::Silent,
    }
}

/// What stretches of a recording say.
#[derive(Default)]
struct Found {
    placed: Vec<Placed>,
    silent: bool,
    unlike: bool,
}

impl Found {
    /// Looks for the run in `points`, a counter that only grows.
    fn look(&mut self, trace: &ClientTrace, points: &[(i64, f64)], resolution_ns: i64, credible: &dyn Fn(i64) -> bool) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return self.silent = true };
        let total = trace.total_tokens();
        if total < FEWEST_TOKENS || last.1 - first.1 < total * 0.2 {
            return self.silent = true;
        }
        let most = MOST_SCATTER_NS.max(trace.step_ns()) + resolution_ns;
        let counter = Counter { trace, points, total, most };
        let rests = rests(points);
        let (mut unlike, before) = (false, self.placed.len());
        for start in starts(&rests, first.1) {
            match counter.counted_from(start, &rests) {
                Stretch::Placed(found) if credible(found.origin_ns) => self.placed.push(found),
                Stretch::TooWide => self.silent = true,
                Stretch::Unlike => unlike = true,
                Stretch::Placed(_) | Stretch::Other => {}
            }
        }
        if self.placed.len() == before && !unlike && counter.is_partial() {
            match counter.guessed(&rests) {
                Stretch::Placed(found) if credible(found.origin_ns) => self.placed.push(found),
                Stretch::TooWide => self.silent = true,
                Stretch::Placed(_) | Stretch::Unlike | Stretch::Other => {}
            }
        }
        self.unlike |= unlike;
        self.silent |= counter.readings_in_flow() < FEWEST_READINGS;
    }
}

/// The clearly best of several placements.
fn choose(mut placed: Vec<Placed>) -> Option<TokenFit> {
    placed.sort_by_key(|p| p.scatter_ns);
    let best = placed.first()?;
    let rival = placed.iter().find(|p| p.origin_ns.saturating_sub(best.origin_ns).saturating_abs() > SAME_NS);
    let clear = rival.is_none_or(|rival| rival.scatter_ns >= best.scatter_ns.max(MS).saturating_mul(CLEARLY));
    Some(if clear { TokenFit::Fits(best.alignment()) } else { TokenFit::Ambiguous })
}

/// Readings as the counter would give them had the server never started again.
fn growing(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let (mut before, mut sum) = (0.0, 0.0);
    let mut out = Vec::with_capacity(points.len());
    for (at, value) in points {
        sum += if *value < before { *value } else { value - before };
        before = *value;
        out.push((*at, sum));
    }
    out
}

/// Values at which the counter stood still, rising, each with how long.
fn rests(points: &[(i64, f64)]) -> Vec<(f64, i64)> {
    let mut found: Vec<(f64, i64)> = Vec::new();
    for pair in points.windows(2).filter(|pair| pair[0].1 == pair[1].1) {
        let length = pair[1].0.saturating_sub(pair[0].0);
        match found.last_mut() {
            Some(last) if last.0 == pair[0].1 => last.1 = last.1.saturating_add(length),
            _ => found.push((pair[0].1, length)),
        }
    }
    found
}

/// Values from which the run may count: none, the first reading, and where the counter stood still longest.
fn starts(rests: &[(f64, i64)], first: f64) -> Vec<f64> {
    let mut longest = rests.to_vec();
    longest.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.total_cmp(&b.0)));
    let mut starts: Vec<f64> =
        longest.into_iter().take(MOST_STARTS).map(|(value, _)| value).chain([0.0, first]).collect();
    starts.sort_by(f64::total_cmp);
    starts.dedup();
    starts
}

/// What a stretch of the counter says.
enum Stretch {
    Placed(Placed),
    /// It may be the run, but others' tokens hide where.
    TooWide,
    /// It grew by what the client received, but not when it did.
    Unlike,
    /// It did not grow by what the client received.
    Other,
}

/// Where a stretch of the counter puts the run.
#[derive(Debug, Clone)]
struct Placed {
    origin_ns: i64,
    uncertainty_ns: i64,
    /// How well its readings agree.
    scatter_ns: i64,
    readings: usize,
}

impl Placed {
    fn alignment(&self) -> Alignment {
        Alignment {
            origin_ns: self.origin_ns,
            uncertainty_ns: self.uncertainty_ns,
            drift_ppm: None,
            how: format!("token counter at {} moments against the tokens received", self.readings),
        }
    }
}

/// A counter beside the client's curve.
struct Counter<'a> {
    trace: &'a ClientTrace,
    points: &'a [(i64, f64)],
    /// Tokens of the client.
    total: f64,
    /// Scatter of another run.
    most: i64,
}

impl Counter<'_> {
    /// The run, if it counted from `start` to a value at which the counter stood still or ended.
    fn counted_from(&self, start: f64, rests: &[(f64, i64)]) -> Stretch {
        let end = start + self.total;
        let last = self.points.last().map_or(0.0, |p| p.1);
        let near = |value: f64| (value - end).abs() < 0.5;
        let after = rests.partition_point(|(value, _)| *value < end - 0.5);
        let at_rest = near(last) || rests.get(after).is_some_and(|(value, _)| near(*value));
        let read = self.points.partition_point(|(_, value)| *value < end - 0.5);
        if at_rest || self.points.get(read).is_some_and(|(_, value)| near(*value)) {
            match self.agreed(start).filter(|p| p.readings >= FEWEST_PROVEN) {
                Some(found) if found.scatter_ns < self.most => return Stretch::Placed(found),
                Some(_) if at_rest => return Stretch::Unlike,
                _ => {}
            }
        }
        // The client's own count of tokens may be a little off, too.
        let after = rests.partition_point(|(value, _)| *value < end - self.total * MOST_MISCOUNTED);
        let rested = rests.iter().any(|(value, _)| *value == start);
        match rests.get(after).map(|(value, _)| value - end) {
            Some(others) if rested && others <= self.total * MOST_OTHERS => self.bounded(start, others),
            _ => Stretch::Other,
        }
    }

    /// Every reading's interval of offsets, counted from `start`.
    fn intervals(&self, start: f64) -> Vec<(i64, i64)> {
        let from = self.points.partition_point(|(_, value)| *value <= start);
        let until = self.points.partition_point(|(_, value)| *value < start + self.total);
        let interval = |(at, value): &(i64, f64)| {
            let (from, to) = (self.trace.time_of(value - start)?, self.trace.time_of(value - start + 1.0)?);
            let around = self.trace.tokens_until(from.saturating_add(SECOND / 2))
                - self.trace.tokens_until(from.saturating_sub(SECOND / 2));
            let counts = to.saturating_sub(from) <= TOKEN_APART_NS && around >= TOKENS_AROUND;
            counts.then(|| (at.saturating_sub(to), at.saturating_sub(from)))
        };
        self.points.get(from..until).unwrap_or_default().iter().filter_map(interval).collect()
    }

    /// Where most of the intervals meet.
    fn agreed(&self, start: f64) -> Option<Placed> {
        let intervals = self.intervals(start);
        let readings = intervals.len();
        if readings == 0 {
            return None;
        }
        let mut middles: Vec<i64> = intervals.iter().map(|(lo, hi)| middle(*lo, *hi)).collect();
        let centre = median(&mut middles);
        let mut away: Vec<i64> = middles.iter().map(|m| m.saturating_sub(centre).saturating_abs()).collect();
        // Scaled to a standard deviation.
        let scatter_ns = (median(&mut away) as f64 * 1.4826) as i64;
        let standard_error = (scatter_ns as f64 * 1.25 / (readings as f64).sqrt()) as i64;
        // An idle server answers a scrape at once, a busy one late: of the interval's later half the middle is taken.
        let mut widths: Vec<i64> = intervals.iter().map(|(lo, hi)| hi.saturating_sub(*lo) / 4).collect();
        let quarter = median(&mut widths);
        let origin_ns = centre.saturating_add(quarter);
        let least = self.least_uncertainty(readings).saturating_add(quarter);
        let uncertainty_ns = least.saturating_add(standard_error.saturating_mul(3));
        Some(Placed { origin_ns, uncertainty_ns, scatter_ns, readings })
    }

    /// However well readings agree: what a scrape, and a token that waited for others of its chunk, may be late by.
    fn least_uncertainty(&self, readings: usize) -> i64 {
        SCRAPE_NS + FEW_READINGS_NS / readings.max(1) as i64 + self.trace.held_back_ns()
    }

    /// Bounds of the offset where `others` tokens of others were counted between the start and the end.
    fn bounded(&self, start: f64, others: f64) -> Stretch {
        let mut lower: Vec<i64> = self.intervals(start).iter().map(|i| i.0).collect();
        let mut upper: Vec<i64> = self.intervals(start + others).iter().map(|i| i.1).collect();
        let readings = lower.len().min(upper.len());
        if readings < FEWEST_READINGS {
            return Stretch::Other;
        }
        lower.sort_unstable_by(|a, b| b.cmp(a));
        upper.sort_unstable();
        let skip = 1 + readings / 50;
        let (lower, upper) = (lower[skip], upper[skip]);
        let half = upper.saturating_sub(lower) / 2;
        let miscounted = (-others).max(0.0) * self.seconds() / self.total;
        if half < -(self.most / 2 + (miscounted * 1e9) as i64) {
            return Stretch::Other;
        }
        let width = half.saturating_abs();
        if width > WIDEST_NS {
            return Stretch::TooWide;
        }
        let uncertainty_ns = width + self.least_uncertainty(readings);
        Stretch::Placed(Placed { origin_ns: middle(lower, upper), uncertainty_ns, scatter_ns: width, readings })
    }

    fn seconds(&self) -> f64 {
        self.trace.end_ns().unwrap_or(0) as f64 / 1e9
    }

    /// The recording starts or ends inside the run, but not both.
    fn is_partial(&self) -> bool {
        let n = self.points.len();
        n > 2 && (self.points[0].1 == self.points[1].1) != (self.points[n - 1].1 == self.points[n - 2].1)
    }

    /// The run, if its first or last readings are missing.
    fn guessed(&self, rests: &[(f64, i64)]) -> Stretch {
        let [(_, first), .., (_, before), (_, last)] = self.points else { return Stretch::TooWide };
        let starts = if before == last { vec![last - self.total] } else { starts(rests, *first) };
        let agreed = |start: f64| self.agreed(start).filter(|p| p.readings >= FEWEST_GUESSED);
        let all = starts.into_iter().filter_map(|start| Some((start, agreed(start)?)));
        let Some((start, best)) = all.min_by_key(|(_, p)| p.scatter_ns) else { return Stretch::TooWide };
        if best.scatter_ns >= self.most {
            return Stretch::Unlike;
        }
        let spanned = (last.min(start + self.total) - first.max(start)) / self.total;
        // A few tokens of others more or less fit about as well.
        let mut step = 1.0;
        let (mut lo, mut hi) = (best.origin_ns, best.origin_ns);
        while step < self.total * 0.1 {
            let near = [start - step, start + step].into_iter().filter_map(&agreed);
            for p in near.filter(|p| p.scatter_ns <= best.scatter_ns + best.scatter_ns / 2 + 2 * MS) {
                (lo, hi) = (lo.min(p.origin_ns), hi.max(p.origin_ns));
            }
            step *= 1.5;
        }
        let width = best.origin_ns.saturating_sub(lo).max(hi.saturating_sub(best.origin_ns));
        let uncertainty_ns = best.uncertainty_ns.saturating_add(width);
        match spanned >= LEAST_SPANNED && uncertainty_ns <= WIDEST_NS {
            true => Stretch::Placed(Placed { uncertainty_ns, ..best }),
            false => Stretch::TooWide,
        }
    }

    /// Readings between which the counter grew.
    fn readings_in_flow(&self) -> usize {
        self.points.windows(2).filter(|pair| pair[0].1 < pair[1].1).count()
    }
}

fn middle(lo: i64, hi: i64) -> i64 {
    lo.saturating_add(hi.saturating_sub(lo) / 2)
}
