//! Run-level values of array-shaped results: reading scalars, the load, the clocks, the manifest they share.

use super::arrays::ArrayRun;
use super::rows::origin;
use crate::json::{Scalar, number as parse_number, shorten};
use crate::sink::Fingerprint;
use postrun_schema::{Clock, ClockKind, Clocks, Counted, IssueCode, Issues, Load, Manifest, SCHEMA, TokenSource, Tool};
use std::collections::BTreeMap;

type Scalars = BTreeMap<String, Scalar>;

/// Keys that become fields of [`Load`] or of the manifest; everything else that is text or a setting is kept aside.
const LOAD_KEYS: &[&str] = &[
    "request_rate",
    "burstiness",
    "max_concurrency",
    "num_prompts",
    "dataset_name",
    "backend",
    "endpoint_type",
    "date",
    "label",
    "tag",
    "model_id",
];

pub(crate) fn text(scalars: &Scalars, key: &str) -> Option<String> {
    match scalars.get(key) {
        Some(Scalar::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

pub(crate) fn number(scalars: &Scalars, key: &str) -> Option<f64> {
    match scalars.get(key) {
        Some(Scalar::Number(v)) => Some(*v),
        _ => None,
    }
}

pub(crate) fn count(scalars: &Scalars, key: &str) -> Option<u64> {
    number(scalars, key).filter(|v| *v >= 0.0 && v.fract() == 0.0 && *v < 1e15).map(|v| v as u64)
}

/// The manifest of an array-shaped run, as far as it does not depend on the tool.
pub(crate) fn manifest(run: &ArrayRun) -> Manifest {
    let scalars = &run.scalars;
    let origin_source_ns = origin(&run.columns);
    let kind = if origin_source_ns.is_some() { ClockKind::Monotonic } else { ClockKind::None };
    Manifest {
        schema: SCHEMA.to_string(),
        label: String::new(),
        tool: Tool::default(),
        model: None,
        server: BTreeMap::new(),
        load: load(scalars),
        duration_ns: duration_ns(scalars),
        duration_from_unix_ns: None,
        counted: Counted {
            completed: count(scalars, "completed"),
            failed: None,
            prompt_tokens: count(scalars, "total_input_tokens"),
            output_tokens: count(scalars, "total_output_tokens"),
        },
        clocks: Clocks { client: Clock { kind, origin_unix_ns: None, origin_source_ns }, server: None },
        output_tokens_source: TokenSource::Unknown,
        prompt_tokens_source: TokenSource::Unknown,
        sources: Vec::new(),
        issues: Vec::new(),
        tables: BTreeMap::new(),
        not_recorded: Vec::new(),
    }
}

/// The client's stopwatch, where it shows something that can be a run: a microsecond to 31 years.
pub(crate) fn duration_ns(scalars: &Scalars) -> Option<i64> {
    number(scalars, "duration").filter(|s| (1e-6..1e9).contains(s)).map(|s| (s * 1e9).round() as i64)
}

/// Values of the header that must be numbers; a rate can be `inf`, or null for "all at once".
const HEADER_NUMBERS: &[&str] =
    &["duration", "request_rate", "burstiness", "max_concurrency", "num_prompts", "completed"];

/// True for a value of the header that is missed where it is something else.
pub(crate) fn is_header_number(key: &str) -> bool {
    HEADER_NUMBERS.contains(&key)
}

/// Counts what stands in the header and cannot be.
pub(crate) fn judge_header(scalars: &Scalars, issues: &mut Issues, file: &str) {
    for key in HEADER_NUMBERS {
        let found = match scalars.get(*key) {
            None | Some(Scalar::Null | Scalar::Number(_)) => continue,
            Some(Scalar::Text(text)) if parse_number(text.as_bytes()).is_some() && *key == "request_rate" => continue,
            Some(Scalar::Text(text)) => format!("{:?}", shorten(text.clone(), 40)),
            Some(Scalar::Bool(yes)) => yes.to_string(),
            Some(Scalar::Nested) => "an object or a list".to_string(),
        };
        issues.add(IssueCode::WrongType, || format!("{file}: {key}"), || format!("expected a number, found {found}"));
    }
    if let Some(rate) = recorded_rate(scalars).filter(|rate| *rate <= 0.0 || rate.is_nan()) {
        issues.add(IssueCode::OutOfRange, || format!("{file}: request_rate"), || format!("{rate} is no rate"));
    }
    let (Some(recorded), None) = (number(scalars, "duration"), duration_ns(scalars)) else { return };
    let code = match recorded {
        s if !s.is_finite() => IssueCode::NonFiniteValue,
        s if s <= 0.0 => IssueCode::NegativeDuration,
        _ => IssueCode::ImplausibleTime,
    };
    issues.add(code, || format!("{file}: duration"), || format!("{recorded:e} s; the span of the requests is used"));
}

fn recorded_rate(scalars: &Scalars) -> Option<f64> {
    match scalars.get("request_rate") {
        Some(Scalar::Number(v)) => Some(*v),
        Some(Scalar::Text(text)) => parse_number(text.as_bytes()),
        _ => None,
    }
}

fn load(scalars: &Scalars) -> Load {
    let max_concurrency = count(scalars, "max_concurrency").and_then(|v| u32::try_from(v).ok()).filter(|v| *v > 0);
    let rate = recorded_rate(scalars);
    let rate_is_null = matches!(scalars.get("request_rate"), Some(Scalar::Null));
    let mut other = BTreeMap::new();
    for (key, value) in scalars {
        let keep = !LOAD_KEYS.contains(&key.as_str()) && !key.starts_with("server_info.");
        match value {
            Scalar::Text(text) if keep => drop(other.insert(key.clone(), shorten(text.clone(), 200))),
            Scalar::Number(v) if keep && is_setting(key) => drop(other.insert(key.clone(), v.to_string())),
            _ => {}
        }
    }
    Load {
        request_rate: rate.filter(|r| r.is_finite() && *r > 0.0),
        unbounded: rate == Some(f64::INFINITY) || (rate_is_null && max_concurrency.is_some()),
        burstiness: number(scalars, "burstiness").filter(|b| b.is_finite()),
        max_concurrency,
        num_prompts: count(scalars, "num_prompts"),
        dataset: text(scalars, "dataset_name"),
        backend: text(scalars, "backend").or_else(|| text(scalars, "endpoint_type")),
        date: text(scalars, "date"),
        date_is_start: false,
        other,
    }
}

fn is_setting(key: &str) -> bool {
    let names =
        ["ramp_up_", "random_", "sharegpt_", "run_number", "best_of", "max_num_", "benchmark_start", "benchmark_end"];
    names.iter().any(|n| key.starts_with(n))
}

/// What tells the runs of one file apart: `c64`, `r4`, `run0`.
pub(crate) fn load_shape(load: &Load, run_number: Option<f64>) -> String {
    let mut parts = Vec::new();
    if let Some(c) = load.max_concurrency {
        parts.push(format!("c{c}"));
    }
    if let Some(r) = load.request_rate {
        parts.push(format!("r{r}"));
    }
    if let Some(n) = run_number {
        parts.push(format!("run{n}"));
    }
    parts.join("-")
}

/// Equal only for the same run stored twice: every run-level value, down to the last digit of its duration.
pub(crate) fn fingerprint(run: &ArrayRun) -> Option<Fingerprint> {
    number(&run.scalars, "duration")?;
    Some(Fingerprint { values: format!("{:?}", run.scalars), requests: run.columns.checksum() })
}

/// The arrays that are not there, as facts a reader misses.
pub(crate) fn absent_arrays(run: &ArrayRun, names: &[&str]) -> Vec<String> {
    let fact = |name: &str| match name {
        "input_lens" => "prompt tokens per request",
        "output_lens" => "output tokens per request",
        "ttfts" => "time to first token per request",
        "itls" => "chunk times per request",
        "start_times" => "send times",
        _ => "per-request values",
    };
    let absent = names.iter().filter(|n| !run.columns.lengths.contains_key(**n));
    absent.map(|n| fact(n).to_string()).collect()
}
