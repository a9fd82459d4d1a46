//! Requests that others overtook: probably preempted, or passed over, before their first token.
//!
//! A long TTFT alone proves nothing, since a queue looks the same. But a server that takes requests in turn does not give
//! a request sent later, whose prompt is no shorter, its first token much earlier.

use super::typical::prefill_ns;
use crate::requests::Requests;
use std::collections::BTreeMap;

/// What clients and steps blur.
const BLUR_NS: i64 = 50_000_000;
/// A shorter prompt may be faster by so many times its usual time.
const LEAD: f64 = 2.0;
const USUAL: f64 = 0.2;

struct Served {
    request: u32,
    sent_ns: i64,
    first_ns: i64,
    /// First token, had the prompt taken no time.
    net_ns: i64,
}

/// All requests that were overtaken at least once, in order.
pub(super) fn find(requests: &Requests) -> Vec<u32> {
    let Some(rate) = prefill_ns(requests, 1, USUAL) else { return Vec::new() };
    let served = |i: usize| {
        let (sent_ns, ttft, prompt) = (requests.sent_ns[i]?, requests.ttft_ns[i]?, requests.prompt_tokens[i]?);
        let first_ns = sent_ns.saturating_add(ttft);
        let net_ns = first_ns.saturating_sub((LEAD * rate * f64::from(prompt)) as i64);
        requests.counts(i).then_some(Served { request: i as u32, sent_ns, first_ns, net_ns })
    };
    let mut all: Vec<Served> = (0..requests.len()).filter_map(served).collect();
    all.sort_unstable_by_key(|r| std::cmp::Reverse(r.sent_ns));
    let (mut later, mut front, mut out) = (all.iter().peekable(), Front::default(), Vec::new());
    for r in &all {
        while let Some(x) = later.next_if(|x| x.sent_ns > r.sent_ns.saturating_add(BLUR_NS)) {
            front.add(x.first_ns, x.net_ns);
        }
        // Overtaken by a longer prompt: the first token decides; by a shorter one: what is left without the prompts.
        if front.has_below(r.first_ns.saturating_sub(BLUR_NS), r.net_ns.saturating_sub(BLUR_NS)) {
            out.push(r.request);
        }
    }
    out.sort_unstable();
    out
}

/// Pairs of which none is at least as large as another in both: by the first, with the second falling.
#[derive(Default)]
struct Front(BTreeMap<i64, i64>);

impl Front {
    fn add(&mut self, first: i64, net: i64) {
        if self.0.range(..=first).next_back().is_some_and(|(_, least)| *least <= net) {
            return;
        }
        while let Some((key, _)) = self.0.range(first..).next().filter(|(_, other)| **other >= net) {
            let key = *key;
            self.0.remove(&key);
        }
        self.0.insert(first, net);
    }

    /// True if a pair is smaller in both.
    fn has_below(&self, first: i64, net: i64) -> bool {
        self.0.range(..first).next_back().is_some_and(|(_, least)| *least < net)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::Outcome;

    fn requests(rows: &[(i64, i64, u32)]) -> Requests {
        Requests {
            measured: vec![true; rows.len()],
            status: vec![Outcome::Ok; rows.len()],
            sent_ns: rows.iter().map(|r| Some(r.0 * 1_000_000)).collect(),
            ttft_ns: rows.iter().map(|r| Some(r.1 * 1_000_000)).collect(),
            prompt_tokens: rows.iter().map(|r| Some(r.2)).collect(),
            ..Requests::default()
        }
    }

    #[test]
    fn equals_the_definition() {
        let mut x = 7u64;
        let mut random = |n: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % n
        };
        let rows: Vec<(i64, i64, u32)> = (0..300)
            .map(|_| (random(20_000) as i64, 20 + random(2000) as i64 * random(3) as i64, 1 + random(900) as u32))
            .collect();
        let r = requests(&rows);
        let rate = prefill_ns(&r, 1, USUAL).unwrap();
        let first = |i: usize| (rows[i].0 + rows[i].1) as f64 * 1e6;
        let overtakes = |x: usize, i: usize| {
            let shorter = (f64::from(rows[i].2) - f64::from(rows[x].2)).max(0.0);
            rows[x].0 > rows[i].0 + 50 && first(x) < first(i) - 50e6 - LEAD * rate * shorter
        };
        let direct: Vec<u32> = (0..300).filter(|i| (0..300).any(|x| overtakes(x, *i))).map(|i| i as u32).collect();
        assert!(direct.len() > 20 && direct.len() < 280);
        assert_eq!(find(&r), direct);
    }

    #[test]
    fn a_queue_overtakes_nobody() {
        let rows: Vec<(i64, i64, u32)> = (0..50).map(|i| (i * 100, 100 + 40 * i, 100)).collect();
        assert!(find(&requests(&rows)).is_empty());
        assert!(find(&Requests::default()).is_empty());
    }
}
