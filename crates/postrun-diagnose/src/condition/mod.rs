//! Conditions of a user's rules: comparisons of figures of the report, such as `p99.ttft_ms > 2000 and waiting.mean > 1`.
//!
//! Numbers, figures, `+ - * /`, `< <= > >= == !=`, `not`, `and`, `or`, parentheses. A figure that a run does not have makes
//! the condition unknown, unless it is decided without it: nothing is taken to be 0.

mod eval;
mod figure;
mod parse;
mod token;

pub(crate) use eval::Answer;
pub(crate) use parse::{Condition, parse};

/// Why a condition does not parse, and at which byte of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConditionError {
    pub at: usize,
    pub message: String,
}

/// The nearest of `known`, as a question.
pub(crate) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known.into_iter().map(|k| (strsim::jaro_winkler(word, k), k)).filter(|(score, _)| *score >= 0.8);
    let best = near.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    best.map_or(String::new(), |(_, k)| format!("; did you mean {k}?"))
}
