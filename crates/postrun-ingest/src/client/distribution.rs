//! A distribution that a client stored of its own run, as rows of the reported table.

use crate::bench::reported::Named;
use crate::json::Tree;
use postrun_schema::ReportedRow;

/// One figure. `scale` turns the client's unit into that of `name`.
pub(crate) fn figure(name: &Named, stat: &str, key: &str, value: &Tree, scale: f64) -> Option<ReportedRow> {
    match value {
        Tree::Number(_) => {}
        // Some clients put numbers in quotes.
        Tree::Text(_) if value.number().is_some() => {}
        _ => return None,
    }
    Some(ReportedRow {
        metric: if name.metric.is_empty() { key.to_string() } else { name.metric.to_string() },
        stat: stat.to_string(),
        value: value.number().map(|v| v * scale),
        unit: if stat == "count" { "" } else { name.unit },
        convention: name.convention.into(),
        key: key.to_string(),
    })
}

/// All statistics in `stats`, an object such as `{"avg": 1.5, "p99": 3.0, "count": 10}`; what is none is passed over.
pub(crate) fn figures(name: &Named, key: &str, stats: &Tree, scale: f64, out: &mut Vec<ReportedRow>) {
    for (stat, value) in stats.members() {
        if stat == "percentiles" {
            figures(name, &format!("{key}.percentiles"), value, scale, out);
            continue;
        }
        let Some(known) = stat_name(stat) else { continue };
        let scale = if known == "count" { 1.0 } else { scale };
        out.extend(figure(name, &known, &format!("{key}.{stat}"), value, scale).map(|row| match name.metric {
            // The tool's own name stands for the metric; the statistic is told apart from it.
            "" => ReportedRow { metric: key.to_string(), ..row },
            _ => row,
        }));
    }
}

/// `avg` is `mean`, `median` `p50`, `99%` `p99`, `p001` the 0.1st percentile, `p999` the 99.9th.
pub(crate) fn stat_name(stat: &str) -> Option<String> {
    Some(match stat {
        "avg" | "average" | "mean" => "mean".to_string(),
        "std" | "std_dev" | "stddev" => "std".to_string(),
        "median" => "p50".to_string(),
        "sum" | "total_sum" => "sum".to_string(),
        "minimum" => "min".to_string(),
        "maximum" => "max".to_string(),
        "min" | "max" | "count" => stat.to_string(),
        "p001" => "p0.1".to_string(),
        "p999" => "p99.9".to_string(),
        _ => {
            let p: f64 = stat.strip_prefix('p').or_else(|| stat.strip_suffix('%'))?.parse().ok()?;
            (0.0..=100.0).contains(&p).then(|| format!("p{p}"))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::reported::named;
    use crate::json::JsonReader;

    #[test]
    fn statistics_get_their_usual_names() {
        let text = r#"{"unit":"ms","avg":2.5,"p50":2.0,"p99.9":9.0,"count":3,"mode":1.0,"percentiles":{"p001":0.5}} "#;
        let stats = JsonReader::new(text.as_bytes()).tree(64).unwrap();
        let mut rows = Vec::new();
        figures(&named("ttft_ms", "ms", "same"), "ttft", &stats, 1000.0, &mut rows);
        let unit = |stat: &str| rows.iter().find(|r| r.stat == stat).map(|r| r.unit);
        assert_eq!((unit("mean"), unit("count")), (Some("ms"), Some("")));
        let found: Vec<(&str, Option<f64>)> = rows.iter().map(|r| (r.stat.as_str(), r.value)).collect();
        assert_eq!(
            found,
            [
                ("mean", Some(2500.0)),
                ("p50", Some(2000.0)),
                ("p99.9", Some(9000.0)),
                ("count", Some(3.0)),
                ("p0.1", Some(500.0))
            ]
        );
        let cases = [("p05", "p5"), ("average", "mean"), ("99%", "p99"), ("minimum", "min"), ("p99.9", "p99.9")];
        for (word, stat) in cases {
            assert_eq!(stat_name(word).as_deref(), Some(stat));
        }
        for word in ["prompt", "p", "p101", "%", "total"] {
            assert_eq!(stat_name(word), None, "{word}");
        }
    }
}
