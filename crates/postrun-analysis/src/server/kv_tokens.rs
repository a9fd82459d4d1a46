//! The KV cache from what the client saw: tokens of the requests in flight over time.
//!
//! A request holds its prompt from the moment it was first scheduled (where the server's prefill time is known; else from
//! its first token, which makes the curve a lower bound), and one token more with every token generated, evenly between
//! first and last. Where the block size is known, half a block more, because its last block is half full on average. What
//! a preempted request gives back while it waits is not known, so the curve can exceed what there is.

use crate::requests::Requests;
use crate::window::Window;
use serde::Serialize;

/// Requests named at the peak.
const HOLDERS: usize = 5;

/// A request and the tokens it held at the peak.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    /// Key of the request.
    pub request: u32,
    /// Tokens of its prompt and of its answer so far.
    pub tokens: f64,
}

/// Tokens in the KV cache over a run, rebuilt from the requests in flight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KvTokens {
    /// Most tokens held at one moment.
    pub peak_tokens: f64,
    /// When, in seconds since the first send.
    pub peak_at_s: f64,
    /// Mean over the run, or over the window that was asked for.
    pub mean_tokens: f64,
    /// Tokens that fit, from the server's log, metrics or settings; null: not known.
    pub capacity_tokens: Option<f64>,
    /// Share of the run in which at least 90 % of the capacity was held.
    pub share_over_90: Option<f64>,
    /// Who held most at the peak.
    pub holders: Vec<Holder>,
}

/// What one request holds: `from` to `to`, `start` tokens rising evenly by `rise`, from `grow` on.
struct Hold {
    request: u32,
    from: i64,
    grow: i64,
    to: i64,
    start: f64,
    rise: f64,
}

impl Hold {
    fn at(&self, ns: i64) -> f64 {
        if ns < self.from || ns >= self.to {
            return 0.0;
        }
        let share = (ns - self.grow).max(0) as f64 / (self.to - self.grow).max(1) as f64;
        self.start + self.rise * share
    }

    fn slope(&self) -> f64 {
        self.rise / (self.to - self.grow).max(1) as f64
    }
}

/// `prefill_ns`: as the server recorded it, by request. `None` without points in time or token counts.
pub(crate) fn rebuild(
    r: &Requests,
    prefill_ns: &[Option<i64>],
    capacity_tokens: Option<f64>,
    block_tokens: f64,
    window: Option<Window>,
) -> Option<KvTokens> {
    let holds: Vec<Hold> =
        (0..r.len()).filter(|i| r.counts(*i)).filter_map(|i| hold(r, prefill_ns, block_tokens, i)).collect();
    let origin = r.first_send_ns()?;
    let span = r.span()?;
    let (from, to) = window.map_or((span.start_ns, span.end_ns), |w| (w.start_ns, w.end_ns));
    let limit = capacity_tokens.map(|c| 0.9 * c);
    // Level and slope change where requests start to hold, start to grow and end.
    let mut changes: Vec<(i64, f64, f64)> = Vec::with_capacity(holds.len() * 3);
    for h in &holds {
        changes.push((h.from, h.start, 0.0));
        changes.push((h.grow, 0.0, h.slope()));
        changes.push((h.to, -(h.start + h.rise), -h.slope()));
    }
    changes.sort_by_key(|change| change.0);
    // Requests that were sent before the window hold what they hold in it.
    let first = changes.first().map_or(from, |change| change.0);
    let (mut level, mut slope, mut at) = (0.0f64, 0.0f64, first);
    let (mut area, mut over, mut peak) = (0.0f64, 0.0f64, (0.0f64, from));
    for (next, jump, bend) in changes {
        let (a, b) = (at.clamp(from, to), next.clamp(from, to));
        let level_at = |ns: i64| level + slope * (ns - at).max(0) as f64;
        if b > a {
            let (start, end) = (level_at(a), level_at(b));
            area += (start + end) / 2.0 * (b - a) as f64;
            over += limit.map_or(0.0, |limit| time_above(start, end, limit) * (b - a) as f64);
            if start > peak.0 {
                peak = (start, a);
            }
            if end > peak.0 {
                peak = (end, b - 1);
            }
        }
        level = (level_at(next) + jump).max(0.0);
        slope += bend;
        at = at.max(next);
        if level > peak.0 && (from..to).contains(&next) {
            peak = (level, next);
        }
    }
    let length = (to - from).max(1) as f64;
    let mut holders: Vec<Holder> =
        holds.iter().map(|h| Holder { request: h.request, tokens: h.at(peak.1).round() }).collect();
    holders.sort_by(|a, b| b.tokens.total_cmp(&a.tokens).then(a.request.cmp(&b.request)));
    holders.truncate(HOLDERS);
    holders.retain(|h| h.tokens > 0.0);
    (peak.0 > 0.0).then(|| KvTokens {
        peak_tokens: peak.0.round(),
        peak_at_s: (peak.1 - origin) as f64 / 1e9,
        mean_tokens: area / length,
        capacity_tokens,
        share_over_90: limit.map(|_| over / length),
        holders,
    })
}

/// Share of a straight stretch from `a` to `b` that lies at or above `limit`.
fn time_above(a: f64, b: f64, limit: f64) -> f64 {
    match (a >= limit, b >= limit) {
        (true, true) => 1.0,
        (false, false) => 0.0,
        (true, false) => (a - limit) / (a - b),
        (false, true) => (b - limit) / (b - a),
    }
}

fn hold(r: &Requests, prefill_ns: &[Option<i64>], block_tokens: f64, i: usize) -> Option<Hold> {
    let (sent, e2e) = (r.sent_ns[i]?, r.e2e_ns[i]?);
    let ttft = r.ttft_ns[i].unwrap_or(e2e).min(e2e);
    let prefill = prefill_ns.get(i).copied().flatten().unwrap_or(0).clamp(0, ttft);
    let (first, last) = (sent.saturating_add(ttft), sent.saturating_add(e2e));
    Some(Hold {
        request: i as u32,
        from: first - prefill,
        grow: first,
        to: last.max(first + 1),
        start: f64::from(r.prompt_tokens[i]?) + block_tokens / 2.0,
        rise: f64::from(r.output_tokens[i]?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::Outcome;

    #[test]
    fn two_requests_on_paper() {
        // 100 tokens from 0, growing by 100 until 10; 50 tokens from 5, growing by 10 until 10.
        let r = Requests {
            measured: vec![true; 2],
            status: vec![Outcome::Ok; 2],
            prompt_tokens: vec![Some(100), Some(50)],
            output_tokens: vec![Some(100), Some(10)],
            chunks: vec![None; 2],
            streamed: vec![None; 2],
            sent_ns: vec![Some(0), Some(0)],
            ttft_ns: vec![Some(0), Some(5_000)],
            e2e_ns: vec![Some(10_000), Some(10_000)],
            ..Requests::default()
        };
        let kv = rebuild(&r, &[], Some(250.0), 0.0, None).unwrap();
        assert_eq!((kv.peak_tokens, kv.holders.len()), (260.0, 2));
        assert_eq!(kv.holders[0].request, 0);
        // 100→150 over the first half, 200→260 over the second: mean 177.5.
        assert!((kv.mean_tokens - 177.5).abs() < 1e-9, "{}", kv.mean_tokens);
        // 225 is reached at 5000 + 25/60 of 5000.
        assert!((kv.share_over_90.unwrap() - 0.5 * 35.0 / 60.0).abs() < 1e-9);
        // A window sees what was sent before it: 212 tokens at 6000, 248 at 9000, 12 more every 1000: 225 is reached
        // at 6000 + 1000 * 13 / 12, so 23/36 of the window lie above.
        let window = Window { start_ns: 6_000, end_ns: 9_000 };
        let kv = rebuild(&r, &[], Some(250.0), 0.0, Some(window)).unwrap();
        assert!((kv.mean_tokens - 230.0).abs() < 1e-9, "{}", kv.mean_tokens);
        assert!((kv.share_over_90.unwrap() - 23.0 / 36.0).abs() < 1e-9, "{:?}", kv.share_over_90);
        assert_eq!(kv.peak_tokens, 248.0);
    }
}
