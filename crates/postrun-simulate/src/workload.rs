//! The requests of a run, drawn before it starts: when each is due, how long it is, whether it will fail.

use crate::error::{Result, SimulateError};
use crate::rng::{Rng, Stream};
use crate::scenario::{Arrivals, Load, Scenario};
use crate::validate::MAX_OUTPUT_TOKENS;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Served,
    Http500,
    Refused,
    /// The stream breaks after so many tokens.
    BreaksAfter(u32),
}

/// One request as planned.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub due_ns: i64,
    pub prompt: u32,
    pub output: u32,
    /// Number of the common prefix and its length in tokens.
    pub prefix: Option<(u32, u32)>,
    pub fate: Fate,
}

pub(crate) fn draw(scenario: &Scenario) -> Result<Vec<Planned>> {
    let due = due_times(&scenario.load, scenario.seed);
    let planned: Vec<Planned> = due.iter().enumerate().map(|(i, due_ns)| one(scenario, i as u64, *due_ns)).collect();
    let tokens: u64 = planned.iter().map(|p| u64::from(p.output)).sum();
    if tokens > MAX_OUTPUT_TOKENS {
        return Err(SimulateError::TooLarge(format!("{tokens} output tokens; at most {MAX_OUTPUT_TOKENS}")));
    }
    Ok(planned)
}

fn one(scenario: &Scenario, i: u64, due_ns: i64) -> Planned {
    let seed = scenario.seed;
    let longest = scenario.server.max_model_len;
    let mut prefix_rng = Rng::new(seed, Stream::Prefix, i);
    let shared = scenario.prefix.tokens > 0 && prefix_rng.uniform() < scenario.prefix.share;
    let group = (prefix_rng.uniform() * f64::from(scenario.prefix.groups)) as u32;
    let own = scenario.prompts.draw(&mut Rng::new(seed, Stream::Prompt, i));
    let prefix_tokens = if shared { scenario.prefix.tokens.min(longest - 1) } else { 0 };
    let prompt = own.saturating_add(prefix_tokens).min(longest - 1);
    let output = scenario.outputs.draw(&mut Rng::new(seed, Stream::Output, i)).min(longest - prompt);
    Planned {
        due_ns,
        prompt,
        output,
        prefix: shared.then_some((group, prefix_tokens)),
        fate: fate(scenario, i, prompt, output),
    }
}

fn fate(scenario: &Scenario, i: u64, prompt: u32, output: u32) -> Fate {
    let failures = &scenario.failures;
    if failures.refuse_prompts_over.is_some_and(|most| prompt > most) {
        return Fate::Refused;
    }
    let chance = Rng::new(scenario.seed, Stream::Fate, i).uniform();
    if chance < failures.http_500_share {
        return Fate::Http500;
    }
    if chance < failures.http_500_share + failures.broken_stream_share && output > 1 {
        let at = Rng::new(scenario.seed, Stream::Break, i).uniform() * f64::from(output - 1);
        return Fate::BreaksAfter(1 + at as u32);
    }
    Fate::Served
}

/// Due times as the vLLM client makes them: the first gap comes before the first request, and without a ramp all gaps
/// are scaled so that the last request is due after exactly `requests / rate` seconds.
fn due_times(load: &Load, seed: u64) -> Vec<i64> {
    let n = load.requests as usize;
    let mut rng = Rng::new(seed, Stream::Arrivals, 0);
    let mut at = 0.0;
    let mut times = Vec::with_capacity(n);
    for i in 0..n {
        let rate = rate_at(load, i);
        at += match load.arrivals {
            Arrivals::Unbounded => 0.0,
            Arrivals::Constant => 1.0 / rate,
            Arrivals::Poisson => rng.exponential() / rate,
            Arrivals::Gamma => rng.gamma_mean_one(load.burstiness) / rate,
        };
        times.push(at);
    }
    let scale = if load.ramp.is_none() && at > 0.0 { n as f64 / load.rate_per_s / at } else { 1.0 };
    times.into_iter().map(|t| (t * scale * 1e9).round() as i64).collect()
}

/// Rate in force at request `i`.
pub(crate) fn rate_at(load: &Load, i: usize) -> f64 {
    match &load.ramp {
        Some(ramp) => {
            let progress = i as f64 / (load.requests.max(2) - 1) as f64;
            let (start, end) = (f64::from(ramp.start_per_s), f64::from(ramp.end_per_s));
            start + (end - start) * progress
        }
        None => load.rate_per_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lengths::Lengths;

    #[test]
    fn due_times_end_after_requests_over_rate() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson, Arrivals::Gamma] {
            let load = Load { requests: 100, arrivals, rate_per_s: 4.0, burstiness: 0.3, ..Load::default() };
            let times = due_times(&load, 5);
            assert_eq!(*times.last().unwrap(), 25_000_000_000);
            assert!(times.is_sorted());
        }
        let constant = Load { requests: 4, arrivals: Arrivals::Constant, rate_per_s: 2.0, ..Load::default() };
        assert_eq!(due_times(&constant, 0), [500_000_000, 1_000_000_000, 1_500_000_000, 2_000_000_000]);
    }

    #[test]
    fn lengths_are_cut_to_the_model_and_fates_follow_their_shares() {
        let mut scenario = Scenario { prompts: Lengths::constant(9000), ..Scenario::default() };
        let drawn = draw(&scenario).unwrap();
        assert!(drawn.iter().all(|p| p.prompt == 8191 && p.output == 1));
        scenario.prompts = Lengths::constant(10);
        scenario.failures.http_500_share = 0.2;
        scenario.load.requests = 2000;
        let failed = draw(&scenario).unwrap().iter().filter(|p| p.fate == Fate::Http500).count();
        assert!((320..480).contains(&failed), "{failed}");
        scenario.outputs = Lengths::constant(8000);
        scenario.load.requests = 20_000;
        assert!(draw(&scenario).unwrap_err().to_string().contains("output tokens"));
    }
}
