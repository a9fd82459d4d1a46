//! Whether a condition holds in a run: yes, no, or unknown for want of figures.

use super::parse::{Condition, Number};
use postrun_analysis::{BucketResult, RunAnalysis};

/// The answer for a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// What is missing.
    Unknown(Vec<String>),
}

/// The answer, and the bucket in which the condition holds where it is about any.
pub(crate) struct Held<'a> {
    pub answer: Answer,
    pub bucket: Option<&'a BucketResult>,
}

impl Condition {
    /// Looks at a run; for a condition about any bucket, at the first in which it holds.
    pub(crate) fn held<'a>(&self, run: &'a RunAnalysis) -> Held<'a> {
        if !self.of_any_bucket() {
            return Held { answer: self.answer(run, None), bucket: None };
        }
        let mut missing = Vec::new();
        let mut known = false;
        for bucket in &run.buckets {
            match self.answer(run, Some(bucket)) {
                Answer::Yes => return Held { answer: Answer::Yes, bucket: Some(bucket) },
                Answer::No => known = true,
                Answer::Unknown(of_bucket) => missing.extend(of_bucket),
            }
        }
        missing.dedup();
        let answer = match (known, missing.is_empty()) {
            (true, _) => Answer::No,
            (false, false) => Answer::Unknown(missing),
            (false, true) => Answer::Unknown(vec!["requests with prompt lengths, for buckets".to_string()]),
        };
        Held { answer, bucket: None }
    }

    /// What is unknown may not matter: false and unknown is false, true or unknown is true.
    fn answer(&self, run: &RunAnalysis, any: Option<&BucketResult>) -> Answer {
        use Answer::{No, Unknown, Yes};
        match self {
            Condition::Compare(sign, a, b) => match (a.value(run, any), b.value(run, any)) {
                (Ok(a), Ok(b)) => {
                    if compare(sign, a, b) {
                        Yes
                    } else {
                        No
                    }
                }
                (a, b) => Unknown([a.err(), b.err()].into_iter().flatten().flatten().collect()),
            },
            Condition::And(a, b) => match (a.answer(run, any), b.answer(run, any)) {
                (No, _) | (_, No) => No,
                (Yes, Yes) => Yes,
                (a, b) => Unknown(both(a, b)),
            },
            Condition::Or(a, b) => match (a.answer(run, any), b.answer(run, any)) {
                (Yes, _) | (_, Yes) => Yes,
                (No, No) => No,
                (a, b) => Unknown(both(a, b)),
            },
            Condition::Not(a) => match a.answer(run, any) {
                Yes => No,
                No => Yes,
                unknown => unknown,
            },
        }
    }
}

fn both(a: Answer, b: Answer) -> Vec<String> {
    let missing = |answer| if let Answer::Unknown(missing) = answer { missing } else { Vec::new() };
    let mut all = [missing(a), missing(b)].concat();
    all.dedup();
    all
}

fn compare(sign: &str, a: f64, b: f64) -> bool {
    match sign {
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        ">=" => a >= b,
        "==" => a == b,
        _ => a != b,
    }
}

impl Number {
    fn value(&self, run: &RunAnalysis, any: Option<&BucketResult>) -> Result<f64, Vec<String>> {
        match self {
            Number::Constant(value) => Ok(*value),
            Number::Figure(figure) => figure.value(run, any).map_err(|missing| vec![missing]),
            Number::Negative(a) => a.value(run, any).map(|v| -v),
            Number::Of(sign, a, b) => {
                let (a, b) = match (a.value(run, any), b.value(run, any)) {
                    (Ok(a), Ok(b)) => (a, b),
                    (a, b) => return Err([a.err(), b.err()].into_iter().flatten().flatten().collect()),
                };
                let value = match *sign {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    _ => a / b,
                };
                if value.is_finite() { Ok(value) } else { Err(vec![format!("{a} {sign} {b} is no number")]) }
            }
        }
    }
}
