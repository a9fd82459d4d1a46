//! Distributions of prompt and output lengths.

use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// How long prompts or outputs are, in tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Lengths {
    /// All the same.
    Constant {
        /// Tokens.
        tokens: u32,
    },
    /// Every whole number from `min` to `max` equally often.
    Uniform {
        /// Tokens, at least.
        min: u32,
        /// Tokens, at most.
        max: u32,
    },
    /// The logarithm is normal.
    Lognormal {
        /// Tokens, median.
        median: f64,
        /// Standard deviation of the natural logarithm, no unit.
        sigma: f64,
        /// Tokens, at most: longer draws are cut to it.
        max: u32,
    },
    /// One of several distributions, by weight.
    Mixture {
        /// The parts.
        parts: Vec<Part>,
    },
}

/// One part of a mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Weight relative to the other parts, no unit.
    pub weight: f64,
    /// Lengths of this part (no mixture of mixtures).
    pub lengths: Lengths,
}

impl Lengths {
    /// All the same length.
    pub fn constant(tokens: u32) -> Lengths {
        Lengths::Constant { tokens }
    }

    /// Uniform from `min` to `max` tokens.
    pub fn uniform(min: u32, max: u32) -> Lengths {
        Lengths::Uniform { min, max }
    }

    /// Lognormal, cut at `max` tokens.
    pub fn lognormal(median: f64, sigma: f64, max: u32) -> Lengths {
        Lengths::Lognormal { median, sigma, max }
    }

    /// A share of `rare` lengths among `usual` ones.
    pub fn mixed(usual: Lengths, rare_share: f64, rare: Lengths) -> Lengths {
        let part = |weight, lengths| Part { weight, lengths };
        Lengths::Mixture { parts: vec![part(1.0 - rare_share, usual), part(rare_share, rare)] }
    }

    /// Expected tokens, without regard to cuts.
    pub fn mean(&self) -> f64 {
        match self {
            Lengths::Constant { tokens } => f64::from(*tokens),
            Lengths::Uniform { min, max } => (f64::from(*min) + f64::from(*max)) / 2.0,
            Lengths::Lognormal { median, sigma, max } => (median * (sigma * sigma / 2.0).exp()).min(f64::from(*max)),
            Lengths::Mixture { parts } => {
                let total: f64 = parts.iter().map(|p| p.weight).sum();
                parts.iter().map(|p| p.weight * p.lengths.mean()).sum::<f64>() / total
            }
        }
    }

    /// A mixture whose longest part draws from its shortest: every other length stays what it is.
    pub(crate) fn without_longest(&self) -> Lengths {
        let Lengths::Mixture { parts } = self else { return self.clone() };
        let by_mean = |a: &&Part, b: &&Part| a.lengths.mean().total_cmp(&b.lengths.mean());
        let (Some(shortest), Some(longest)) = (parts.iter().min_by(by_mean), parts.iter().max_by(by_mean)) else {
            return self.clone();
        };
        let usual = |p: &Part| Part {
            weight: p.weight,
            lengths: if p == longest { &shortest.lengths } else { &p.lengths }.clone(),
        };
        Lengths::Mixture { parts: parts.iter().map(usual).collect() }
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Lengths::Constant { tokens } => *tokens,
            Lengths::Uniform { min, max } => {
                let width = u64::from(max.saturating_sub(*min)) + 1;
                min.saturating_add((rng.uniform() * width as f64) as u32).min(*max)
            }
            Lengths::Lognormal { median, sigma, max } => {
                let drawn = median * (sigma * rng.normal()).exp();
                (drawn.round().max(1.0) as u32).min(*max)
            }
            Lengths::Mixture { parts } => {
                let total: f64 = parts.iter().map(|p| p.weight).sum();
                let mut left = rng.uniform() * total;
                let chosen = parts.iter().find(|p| {
                    left -= p.weight;
                    left < 0.0
                });
                chosen.or(parts.last()).map_or(1, |p| p.lengths.draw(rng))
            }
        }
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self, inside_mixture: bool) -> Option<String> {
        match self {
            Lengths::Constant { tokens: 0 } => Some("0 tokens; at least 1 expected".into()),
            Lengths::Uniform { min, max } if *min == 0 || min > max => Some(format!("from {min} to {max} tokens")),
            Lengths::Lognormal { median, sigma, max } => {
                let fine = (1.0..=1e7).contains(median) && (0.0..=5.0).contains(sigma) && *max >= 1;
                (!fine).then(|| format!("median {median} (1 to 1e7), sigma {sigma} (0 to 5), max {max} (at least 1)"))
            }
            Lengths::Mixture { .. } if inside_mixture => Some("a mixture inside a mixture".into()),
            Lengths::Mixture { parts } => {
                let weights = parts.iter().all(|p| p.weight.is_finite() && p.weight >= 0.0);
                if parts.is_empty()
                    || parts.len() > 100
                    || !weights
                    || parts.iter().map(|p| p.weight).sum::<f64>() <= 0.0
                {
                    return Some("1 to 100 parts with weights of 0 or more, one of them above 0, expected".into());
                }
                parts.iter().find_map(|p| p.lengths.problem(true))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn draws_stay_inside_and_keep_their_mean() {
        let cases = [
            (Lengths::uniform(10, 20), 15.0),
            (Lengths::mixed(Lengths::constant(10), 0.1, Lengths::constant(1010)), 110.0),
            (Lengths::lognormal(100.0, 0.5, 100_000), 113.3),
        ];
        for (lengths, mean) in cases {
            let draws = (0..20_000).map(|i| f64::from(lengths.draw(&mut Rng::new(1, Stream::Prompt, i))));
            let found = draws.sum::<f64>() / 20_000.0;
            assert!((found / mean - 1.0).abs() < 0.05, "{lengths:?}: {found}");
            assert!((lengths.mean() / mean - 1.0).abs() < 0.01);
        }
    }
}
