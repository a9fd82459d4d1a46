//! The figures a client stored of its own run, mapped to postrun's names.

use crate::json::Scalar;
use postrun_schema::ReportedRow;
use std::collections::BTreeMap;

/// A figure's place in postrun's vocabulary.
pub(crate) struct Named {
    pub metric: &'static str,
    pub unit: &'static str,
    pub convention: &'static str,
}

pub(crate) const fn named(metric: &'static str, unit: &'static str, convention: &'static str) -> Named {
    Named { metric, unit, convention }
}

/// Splits `mean_ttft_ms`, `p99.9_itl_ms` … into the statistic and the stem. `None`: no such key.
fn split_stat(key: &str) -> Option<(String, &str)> {
    let body = key.strip_suffix("_ms")?;
    let (stat, stem) = body.split_once('_')?;
    let stat = match stat {
        "mean" | "std" | "min" | "max" => stat.to_string(),
        "median" => "p50".to_string(),
        _ => {
            let digits = stat.strip_prefix('p')?;
            let p: f64 = digits.parse().ok()?;
            (0.0..=100.0).contains(&p).then(|| format!("p{digits}"))?
        }
    };
    Some((stat, stem))
}

/// A row for `key`, where `value` is a number (or stands for none).
pub(crate) fn row(key: &str, stat: &str, value: &Scalar, name: &Named) -> Option<ReportedRow> {
    let value = match value {
        Scalar::Number(v) => Some(*v),
        _ => return None,
    };
    Some(ReportedRow {
        metric: name.metric.to_string(),
        stat: stat.to_string(),
        value,
        unit: name.unit,
        convention: name.convention.into(),
        key: key.to_string(),
    })
}

/// The rows of all figures that `latency` and `figure` have a name for, by the stem of a statistic and by key; `other`
/// sees the keys that are left.
pub(crate) fn rows(
    scalars: &BTreeMap<String, Scalar>,
    latency: impl Fn(&str) -> Option<Named>,
    figure: impl Fn(&str) -> Option<Named>,
    other: impl Fn(&str, &Scalar) -> Option<ReportedRow>,
) -> Vec<ReportedRow> {
    let of = |(key, value): (&String, &Scalar)| match (split_stat(key), figure(key)) {
        (Some((stat, stem)), _) => row(key, &stat, value, &latency(stem)?),
        (None, Some(name)) => row(key, "value", value, &name),
        (None, None) => other(key, value),
    };
    scalars.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_keys() {
        assert_eq!(split_stat("median_ttft_ms"), Some(("p50".to_string(), "ttft")));
        assert_eq!(split_stat("p99.9_e2el_ms"), Some(("p99.9".to_string(), "e2el")));
        assert_eq!(split_stat("mean_e2e_latency_ms"), Some(("mean".to_string(), "e2e_latency")));
        assert_eq!(split_stat("request_throughput"), None);
        assert_eq!(split_stat("probe_median_e2el_ms"), None);
    }
}
