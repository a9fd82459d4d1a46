//! Where the server's clock lies to the client's.
//!
//! Three ways, the best that the recordings allow:
//! 1. **Joined requests.** A request cannot arrive before it was sent, and no token can be received before it was made:
//!    `arrival − sent` bounds the offset from above, `server's token − client's token` from below. The middle is the
//!    estimate, half the width its uncertainty. On runs of ten minutes and more the same is done by parts of the run, and
//!    a straight line through them gives the drift.
//! 2. **Token curve** ([`super::align_tokens`]). A counter of generated tokens is the client's curve of received tokens,
//!    shifted.
//! 3. **Levels** ([`super::align_levels`]). Requests in the server against the client's requests in flight.
//!
//! Offsets here are "what the file's clock showed at the run's origin".

use super::client_trace::ClientRequest;
use super::join::Joined;
use super::recording::ServerRequest;
use postrun_schema::counted;

/// An estimate that is worth using.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alignment {
    /// What the server's clock showed at the run's origin.
    pub origin_ns: i64,
    pub uncertainty_ns: i64,
    pub drift_ppm: Option<f64>,
    pub how: String,
}

pub(super) const MS: i64 = 1_000_000;
pub(super) const SECOND: i64 = 1_000_000_000;
/// Share of the pairs that may be wrong at the inner end of each bound.
const OUTLIERS: f64 = 0.02;
/// Shorter runs cannot tell drift from chance.
const DRIFT_RUN_NS: i64 = 600 * SECOND;
const DRIFT_PARTS: usize = 6;

/// Bounds may contradict each other by what stamps are cut to; by more, no offset fits both: another run's requests.
const CROSSED_NS: i64 = 10 * MS;

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
    let (origin_ns, half) = middle(&upper, &lower).filter(|(_, half)| *half >= -CROSSED_NS / 2)?;
    let (bounds, n) = (if lower.is_empty() { "arrivals" } else { "arrivals and tokens" }, joined.count());
    Some(Alignment {
        origin_ns,
        uncertainty_ns: half.abs().max(MS / 10),
        drift_ppm: drift(&upper, &lower, half),
        how: format!("{bounds} of {}", counted(n as u64, "joined request")),
    })
}

/// The middle between the bounds and half their distance, which is negative where they contradict each other. Without a
/// lower bound the way to the server is taken for short, and the usual delay for the uncertainty.
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
        Some(most) => Some((most.saturating_add(least.saturating_sub(most) / 2), least.saturating_sub(most) / 2)),
        None => Some((least, upper[upper.len() / 2].saturating_sub(least).max(20 * MS))),
    }
}

/// Parts per million by which the server's clock gains, where that is more than the uncertainty.
fn drift(upper: &[(i64, i64)], lower: &[(i64, i64)], half: i64) -> Option<f64> {
    let (from, to) = (upper.iter().map(|p| p.0).min()?, upper.iter().map(|p| p.0).max()?);
    let lasted = to.saturating_sub(from);
    if lasted < DRIFT_RUN_NS {
        return None;
    }
    let width = lasted / DRIFT_PARTS as i64 + 1;
    let mut points = Vec::new();
    for part in 0..DRIFT_PARTS as i64 {
        let inside = |list: &[(i64, i64)]| -> Vec<(i64, i64)> {
            list.iter().filter(|(at, _)| at.saturating_sub(from) / width == part).copied().collect()
        };
        if let Some((origin, _)) = middle(&inside(upper), &inside(lower)) {
            points.push(((part as f64 + 0.5) * width as f64, origin));
        }
    }
    let n = points.len() as f64;
    let first = points.first()?.1;
    let (mx, my) = (
        points.iter().map(|p| p.0).sum::<f64>() / n,
        points.iter().map(|p| p.1.saturating_sub(first) as f64).sum::<f64>() / n,
    );
    let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1.saturating_sub(first) as f64 - my)).sum();
    let slope = sxy / sxx.max(1.0);
    (points.len() >= 4 && (slope * lasted as f64).abs() > 2.0 * half.abs() as f64).then_some(slope * 1e6)
}

pub(super) fn median(list: &mut [i64]) -> i64 {
    list.sort_unstable();
    let n = list.len();
    if n % 2 == 1 { list[n / 2] } else { list[n / 2 - 1] + list[n / 2].saturating_sub(list[n / 2 - 1]) / 2 }
}
