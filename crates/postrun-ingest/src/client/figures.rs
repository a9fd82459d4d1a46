//! Figures that a client stored in nested objects, mapped to postrun's names.

use crate::json::Tree;
use postrun_schema::ReportedRow;

/// Nesting beyond this holds no figure.
const DEEPEST: usize = 6;

/// What a figure is in postrun's words. The value as stored times `factor` is in `unit`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub metric: String,
    pub unit: &'static str,
    pub convention: &'static str,
    pub factor: f64,
}

pub(crate) fn figure(metric: &str, unit: &'static str, convention: &'static str) -> Figure {
    Figure { metric: metric.to_string(), unit, convention, factor: 1.0 }
}

/// A figure stored in seconds whose metric is in milliseconds.
pub(crate) fn in_seconds(metric: &str, convention: &'static str) -> Figure {
    Figure { metric: metric.to_string(), unit: "ms", convention, factor: 1e3 }
}

/// A figure that postrun has no metric for, under the tool's own name.
pub(crate) fn of_its_own(key: &str, unit: &'static str) -> Figure {
    figure(key, unit, "not_computed_here")
}

/// `mean`, `p99`, `99%` … in postrun's spelling; `None`: no statistic.
pub(crate) fn statistic(word: &str) -> Option<String> {
    let fixed = match word {
        "mean" | "average" | "avg" => "mean",
        "min" | "minimum" => "min",
        "max" | "maximum" => "max",
        "std" | "stddev" => "std",
        "median" => "p50",
        _ => {
            let digits = word.strip_prefix('p').or_else(|| word.strip_suffix('%'))?;
            let p: f64 = digits.parse().ok()?;
            return (0.0..=100.0).contains(&p).then(|| format!("p{digits}"));
        }
    };
    Some(fixed.to_string())
}

/// A row; a stored value that is no finite number is kept as none.
pub(crate) fn row(key: &str, stat: &str, value: &Tree, figure: Figure) -> Option<ReportedRow> {
    let value = match value {
        // `NaN` is a number that is not finite.
        Tree::Number(_) => value.number(),
        // Some clients put numbers in quotes.
        Tree::Text(_) => Some(value.number()?),
        _ => return None,
    };
    Some(ReportedRow {
        metric: figure.metric,
        stat: stat.to_string(),
        value: value.map(|v| v * figure.factor),
        unit: figure.unit,
        convention: figure.convention,
        key: key.to_string(),
    })
}

/// The rows of all figures below `tree` that `of` has a name for. It is given the path (`latency.ttft_s`) and the
/// statistic, `value` where the last part of the path is none.
pub(crate) fn rows(tree: &Tree, of: &dyn Fn(&str, &str) -> Option<Figure>) -> Vec<ReportedRow> {
    let mut out = Vec::new();
    below("", tree, 0, of, &mut out);
    out
}

fn below(path: &str, tree: &Tree, depth: usize, of: &dyn Fn(&str, &str) -> Option<Figure>, out: &mut Vec<ReportedRow>) {
    for (key, value) in tree.members().iter().filter(|_| depth < DEEPEST) {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if matches!(value, Tree::Map(_)) {
            below(&full, value, depth + 1, of, out);
            continue;
        }
        let named = match statistic(key).filter(|_| !path.is_empty()) {
            Some(stat) => of(path, &stat).map(|figure| (stat, figure)),
            None => of(&full, "value").map(|figure| ("value".to_string(), figure)),
        };
        out.extend(named.and_then(|(stat, figure)| row(&full, &stat, value, figure)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_have_one_spelling() {
        let cases = [("average", "mean"), ("p99.9", "p99.9"), ("99%", "p99"), ("minimum", "min"), ("median", "p50")];
        for (word, stat) in cases {
            assert_eq!(statistic(word).as_deref(), Some(stat));
        }
        for word in ["prompt", "p", "p101", "%", "total"] {
            assert_eq!(statistic(word), None, "{word}");
        }
    }
}
