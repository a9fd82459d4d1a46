//! Where the server's clock lies to the client's.
//!
//! Three ways, the best that the recordings allow:
//! 1. **Joined requests.** A request cannot arrive before it was sent, and no token can be received before it was made:
//!    `arrival − sent` bounds the offset from above, `server's token − client's token` from below. The middle is the
//!    estimate, half the width its uncertainty. On runs of ten minutes and more the same is done by parts of the run, and
//!    a straight line through them gives the drift.
//! 2. **Token curve.** A counter of generated tokens, read at moments of the server's clock, is the client's curve of
//!    received tokens, shifted. Every reading gives one shift; their median is the estimate, their scatter says how sure
//!    it is. The tokens counted before the run (warm-up) are found as that start value for which the shifts agree best.
//! 3. **Levels.** Running plus waiting requests against the client's requests in flight, and rates of a log against the
//!    client's rates: the shift with the smallest mean difference, refused when another, far away, fits nearly as well.
//!
//! Offsets here are "what the file's clock showed at the run's origin".

use super::client_trace::{ClientRequest, ClientTrace};
use super::join::Joined;
use super::recording::ServerRequest;

/// An estimate that is worth using.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alignment {
    /// What the server's clock showed at the run's origin.
    pub origin_ns: i64,
    pub uncertainty_ns: i64,
    pub drift_ppm: Option<f64>,
    pub how: String,
}

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;
/// Share of the pairs that may be wrong at the inner end of each bound.
const OUTLIERS: f64 = 0.02;
/// Shorter runs cannot tell drift from chance.
const DRIFT_RUN_NS: i64 = 600 * SECOND;
const DRIFT_PARTS: usize = 6;
/// A reading and its time stamp are this far apart at best: the server answers a scrape when it has a moment.
const SCRAPE_NS: i64 = 10 * MS;
/// Shifts that scatter less need no second opinion.
const SURE_SCATTER_NS: i64 = 200 * MS;
/// Shifts that scatter more than this, and more than a step of the engine, belong to another run.
const MOST_SCATTER_NS: i64 = 50 * MS;

/// Way 1.
pub(crate) fn from_requests(joined: &Joined, client: &[ClientRequest], server: &[ServerRequest]) -> Option<Alignment> {
    let mut upper: Vec<(i64, i64)> = Vec::new();
    let mut lower: Vec<(i64, i64)> = Vec::new();
    for (c, s) in joined.pairs() {
        let (c, s) = (&client[c], &server[s]);
        let Some(sent) = c.sent_ns else { continue };
        if let Some(arrival) = s.arrival_ns {
            upper.push((sent, arrival.saturating_sub(sent)));
        }
        let first = c.ttft_ns.map(|t| sent.saturating_add(t));
        let tokens = [(s.first_token_ns, first), (s.last_token_ns, c.last_ns())];
        lower.extend(tokens.into_iter().filter_map(|(s, c)| Some((sent, s?.saturating_sub(c?)))));
    }
    let (origin_ns, half) = middle(&upper, &lower)?;
    let (bounds, n) = (if lower.is_empty() { "arrivals" } else { "arrivals and tokens" }, joined.count());
    Some(Alignment {
        origin_ns,
        uncertainty_ns: half.max(MS / 10),
        drift_ppm: drift(&upper, &lower, half),
        how: format!("{bounds} of {n} joined requests"),
    })
}

/// The middle between the bounds and half their distance. Without a lower bound the way to the server is taken for
/// short, and the usual delay for the uncertainty.
fn middle(upper: &[(i64, i64)], lower: &[(i64, i64)]) -> Option<(i64, i64)> {
    let sorted = |list: &[(i64, i64)]| {
        let mut values: Vec<i64> = list.iter().map(|(_, v)| *v).collect();
        values.sort_unstable();
        values
    };
    let (upper, lower) = (sorted(upper), sorted(lower));
    let skip = |n: usize| (n as f64 * OUTLIERS) as usize;
    let least = *upper.get(skip(upper.len()))?;
    match lower.len().checked_sub(1 + skip(lower.len())).map(|at| lower[at]) {
        Some(most) => Some((most + (least - most) / 2, ((least - most) / 2).abs())),
        None => Some((least, (upper[upper.len() / 2] - least).max(20 * MS))),
    }
}

/// Parts per million by which the server's clock gains, where that is more than the uncertainty.
fn drift(upper: &[(i64, i64)], lower: &[(i64, i64)], half: i64) -> Option<f64> {
    let (from, to) = (upper.iter().map(|p| p.0).min()?, upper.iter().map(|p| p.0).max()?);
    if to - from < DRIFT_RUN_NS {
        return None;
    }
    let width = (to - from) / DRIFT_PARTS as i64 + 1;
    let mut points = Vec::new();
    for part in 0..DRIFT_PARTS as i64 {
        let inside = |list: &[(i64, i64)]| -> Vec<(i64, i64)> {
            list.iter().filter(|(at, _)| (at - from) / width == part).copied().collect()
        };
        if let Some((origin, _)) = middle(&inside(upper), &inside(lower)) {
            points.push(((part as f64 + 0.5) * width as f64, origin));
        }
    }
    let n = points.len() as f64;
    let first = points.first()?.1;
    let (mx, my) =
        (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| (p.1 - first) as f64).sum::<f64>() / n);
    let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - mx) * ((p.1 - first) as f64 - my)).sum();
    let slope = sxy / sxx.max(1.0);
    (points.len() >= 4 && (slope * (to - from) as f64).abs() > 2.0 * half as f64).then_some(slope * 1e6)
}

/// What a counter of tokens says of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenFit {
    /// It is the client's curve, shifted.
    Fits(Alignment),
    /// Tokens flowed, but not as the client received them: another run's.
    Contradicts,
    /// Too few readings while tokens flowed.
    Silent,
}

/// Way 2. `points`: readings of the counter, in time order; `resolution_ns`: what their stamps are cut to.
pub(crate) fn from_tokens(trace: &ClientTrace, points: &[(i64, f64)], resolution_ns: i64) -> TokenFit {
    let Some(found) = best_shifts(trace, points) else { return TokenFit::Silent };
    let standard_error = (found.scatter as f64 * 1.25 / (found.count as f64).sqrt()) as i64;
    let most = MOST_SCATTER_NS.max(trace.step_ns()) + resolution_ns;
    if found.scatter >= most {
        return if found.count >= FEWEST_READINGS { TokenFit::Contradicts } else { TokenFit::Silent };
    }
    TokenFit::Fits(Alignment {
        origin_ns: found.median,
        uncertainty_ns: SCRAPE_NS + 3 * standard_error + FEW_READINGS_NS / found.count as i64,
        drift_ppm: None,
        how: format!("token counter at {} moments against the tokens received", found.count),
    })
}

/// Values at which the counter stood still, those at which it did so longest first.
fn plateaus(points: &[(i64, f64)]) -> Vec<f64> {
    let mut found: Vec<(i64, f64)> = Vec::new();
    for pair in points.windows(2).filter(|pair| pair[0].1 == pair[1].1) {
        let length = pair[1].0 - pair[0].0;
        match found.last_mut() {
            Some(last) if last.1 == pair[0].1 => last.0 = last.0.saturating_add(length),
            _ => found.push((length, pair[0].1)),
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
    found.into_iter().take(MOST_STARTS).map(|(_, value)| value).collect()
}

/// Plateaus tried as the start of a run: a day of scrapes has thousands.
const MOST_STARTS: usize = 300;

fn best_shifts(trace: &ClientTrace, points: &[(i64, f64)]) -> Option<Shifts> {
    let total = trace.total_tokens();
    let (first, last) = (points.first()?.1, points.last()?.1);
    if total < 100.0 || last - first < total * 0.2 {
        return None;
    }
    // Before the run the counter stood at its first reading or at a plateau, or at its last reading less all of the run's.
    let mut starts = plateaus(points);
    starts.push(first);
    // Where a start that was seen and the end account for every token of the run, there is nothing to search.
    let mut exact: Vec<f64> = starts.iter().copied().filter(|start| (start + total - last).abs() < 0.5).collect();
    let at_rest = points.len() > 1 && points[points.len() - 2].1 == last;
    exact.extend(Some(last - total).filter(|start| at_rest && start.abs() < 0.5));
    starts.push(last - total);
    starts.sort_by(f64::total_cmp);
    starts.dedup();
    let mut best: Option<(f64, Shifts)> = None;
    let consider = |start: f64, fewest: usize, best: &mut Option<(f64, Shifts)>| {
        if let Some(found) = shifts(trace, points, start, fewest)
            && best.as_ref().is_none_or(|(_, old)| found.cost() < old.cost())
        {
            *best = Some((start, found));
        }
    };
    exact.iter().for_each(|start| consider(*start, 2, &mut best));
    if best.as_ref().is_none_or(|(_, found)| found.scatter > SURE_SCATTER_NS) {
        starts.iter().for_each(|start| consider(*start, FEWEST_READINGS, &mut best));
        // A few tokens of others (a warm-up, a stream that broke) may lie between.
        for step in [64.0, 16.0, 4.0, 1.0] {
            let Some(from) = best.as_ref().map(|(start, _)| *start) else { break };
            (-4..=4).for_each(|n| consider(from + step * f64::from(n), FEWEST_READINGS, &mut best));
        }
    }
    best.map(|(_, found)| found)
}

/// Shifts of single readings, summed up.
struct Shifts {
    count: usize,
    median: i64,
    /// Median distance from the median, scaled to a standard deviation.
    scatter: i64,
}

impl Shifts {
    /// Scatter, less where more readings agree.
    fn cost(&self) -> f64 {
        self.scatter as f64 / (self.count as f64).sqrt()
    }
}

/// At least this many readings while tokens flow, where the start of the counter had to be guessed.
const FEWEST_READINGS: usize = 5;
/// What one reading alone may be wrong by.
const FEW_READINGS_NS: i64 = 100 * MS;
/// A reading counts where the moments of its token and of the next lie this close: in a pause of the client's stream the
/// counter stands still, and its reading could be of any moment of it …
const TOKEN_APART_NS: i64 = 250 * MS;
/// … and where the client received at least this many tokens in the second around it.
const TOKENS_AROUND: f64 = 10.0;

fn shifts(trace: &ClientTrace, points: &[(i64, f64)], start: f64, fewest: usize) -> Option<Shifts> {
    let mut list = Vec::new();
    for (at, count) in points {
        let tokens = count - start;
        let (Some(from), Some(to)) = (trace.time_of(tokens), trace.time_of(tokens + 1.0)) else { continue };
        let around = trace.tokens_until(from + SECOND / 2) - trace.tokens_until(from - SECOND / 2);
        if to - from <= TOKEN_APART_NS && around >= TOKENS_AROUND {
            list.push(at - from);
        }
    }
    if list.len() < fewest {
        return None;
    }
    let median = median(&mut list);
    let mut distances: Vec<i64> = list.iter().map(|v| (v - median).abs()).collect();
    let scatter = (self::median(&mut distances) as f64 * 1.4826) as i64;
    Some(Shifts { count: list.len(), median, scatter })
}

fn median(list: &mut [i64]) -> i64 {
    list.sort_unstable();
    let n = list.len();
    if n % 2 == 1 { list[n / 2] } else { list[n / 2 - 1] + (list[n / 2] - list[n / 2 - 1]) / 2 }
}

/// A reading of a level or rate for way 3.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    /// Requests in the server at the moment.
    InFlight(f64),
    /// Output tokens a second over the interval before the moment.
    TokenRate { per_s: f64, interval_ns: i64 },
}

/// Levels and rates that differ by more, as a share of their largest, belong to another run.
const MOST_DIFFERENCE: f64 = 0.3;

/// Way 3. `resolution_ns`: what the stamps are cut to.
pub(crate) fn from_levels(trace: &ClientTrace, points: &[(i64, Level)], resolution_ns: i64) -> Option<Alignment> {
    let end = trace.end_ns()?;
    let (first, last) = (points.first()?.0, points.last()?.0);
    let busy = points.iter().filter(|(_, level)| value(level) > 0.0).count();
    if busy < 3 || points.len() < 4 {
        return None;
    }
    let scale = Scale::of(trace, points, end)?;
    let cost = |origin: i64| scale.difference(trace, points, origin);
    let (from, to) = (first - end - 30 * SECOND, last + 30 * SECOND);
    let coarse = ((to - from) / 20_000).max(SECOND / 10);
    let tried: Vec<(i64, f64)> = (0..=(to - from) / coarse).map(|i| from + i * coarse).map(|o| (o, cost(o))).collect();
    let mut best = *tried.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    // Another fit, far away and nearly as good: no way to tell.
    let far = tried.iter().filter(|(o, _)| (o - best.0).abs() > 5 * SECOND + 20 * coarse);
    let second = far.map(|(_, c)| *c).fold(f64::INFINITY, f64::min);
    if best.1 > MOST_DIFFERENCE || second < best.1 * 1.25 + 0.01 {
        return None;
    }
    let fine = (coarse / 50).max(2 * MS);
    for origin in (best.0 - coarse..=best.0 + coarse).step_by(usize::try_from(fine).unwrap_or(1)) {
        let c = cost(origin);
        if c < best.1 {
            best = (origin, c);
        }
    }
    // All shifts that fit about as well are as likely.
    let near = best.1 * 1.1 + 0.005;
    let alike: Vec<i64> =
        tried.iter().filter(|(o, c)| *c <= near && (o - best.0).abs() <= 5 * SECOND).map(|(o, _)| *o).collect();
    let lo = alike.iter().copied().min().unwrap_or(best.0).min(best.0);
    let hi = alike.iter().copied().max().unwrap_or(best.0).max(best.0);
    Some(Alignment {
        // Stamps are cut, not rounded: on average half the resolution is missing.
        origin_ns: lo + (hi - lo) / 2 + resolution_ns / 2,
        uncertainty_ns: (hi - lo) / 2 + coarse + resolution_ns / 2,
        drift_ppm: None,
        how: format!("{} levels of the server against requests in flight", points.len()),
    })
}

fn value(level: &Level) -> f64 {
    match level {
        Level::InFlight(n) => *n,
        Level::TokenRate { per_s, .. } => *per_s,
    }
}

/// What a difference of 1 means: the largest level and rate of the server.
struct Scale {
    level: f64,
    rate: f64,
}

impl Scale {
    fn of(trace: &ClientTrace, points: &[(i64, Level)], end: i64) -> Option<Scale> {
        let mut scale = Scale { level: 1.0, rate: 1.0 };
        for (_, level) in points {
            match level {
                Level::InFlight(n) => scale.level = scale.level.max(*n),
                Level::TokenRate { per_s, .. } => scale.rate = scale.rate.max(*per_s),
            }
        }
        let of_client = trace.total_tokens() / (end as f64 / 1e9).max(1e-3);
        // Servers that did several times the client's work served others too.
        (scale.rate <= 1.0 || of_client > 0.05 * scale.rate).then_some(scale)
    }

    fn difference(&self, trace: &ClientTrace, points: &[(i64, Level)], origin: i64) -> f64 {
        let one = |(at, level): &(i64, Level)| {
            let t = at - origin;
            match level {
                Level::InFlight(n) => (f64::from(trace.in_flight(t)) - n).abs() / self.level,
                Level::TokenRate { per_s, interval_ns } => {
                    let tokens = trace.tokens_until(t) - trace.tokens_until(t - interval_ns);
                    (tokens / (*interval_ns as f64 / 1e9) - per_s).abs() / self.rate
                }
            }
        };
        let busy = |(at, level): &(i64, Level)| value(level) > 0.0 || trace.in_flight(at - origin) > 0;
        let counted = points.iter().filter(|p| busy(p)).count().max(1);
        points.iter().map(one).sum::<f64>() / counted as f64
    }
}
