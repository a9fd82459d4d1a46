//! Values of arguments: durations, objectives, bucket edges, windows.

use clap::builder::{PossibleValue, PossibleValuesParser};
use postrun_analysis::{BucketEdges, CLIENTS, ClientConvention, Objective, Window, find_client};
use postrun_export::TARGETS;
use postrun_schema::did_you_mean;

/// Objectives as one argument.
#[derive(Debug, Clone)]
pub struct SloArg(pub Vec<Objective>);

/// `500ms`, `1.5s`, `2m`, `1h`, `50us` in nanoseconds.
pub fn duration_ns(text: &str) -> Result<f64, String> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(format!("{text:?} is negative; times count from the first send, lengths from 0"));
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(split);
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "" => return Err(format!("{text:?} has no unit; write {text}ms or {text}s")),
        _ => return Err(format!("{unit:?} is no unit of time; known: ns, us, ms, s, m, h")),
    };
    let amount: f64 = amount.parse().map_err(|_| format!("{text:?} is no duration; an example: 500ms"))?;
    Ok(amount * scale)
}

/// The convention of that name.
pub fn convention(text: &str) -> Result<&'static ClientConvention, String> {
    let ids = || CLIENTS.iter().map(|client| client.id).collect::<Vec<_>>().join(", ");
    let near = || did_you_mean(text, CLIENTS.iter().map(|client| client.id));
    find_client(text.trim()).ok_or_else(|| format!("no convention is called {text:?}{} (known: {})", near(), ids()))
}

/// Seconds without a unit are Unix time: nothing else is that large.
const UNIX_SECONDS: i64 = 100_000_000;

/// `1.5s`, `-20ms`, or Unix seconds without a unit, in nanoseconds.
pub fn offset(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    // Unix seconds have more digits than a float of nanoseconds keeps.
    if let Some((whole, fraction)) = seconds_exactly(size).filter(|(whole, _)| *whole >= UNIX_SECONDS) {
        return whole
            .checked_mul(1_000_000_000)
            .and_then(|ns| ns.checked_add(fraction))
            .map(|ns| if sign < 0.0 { -ns } else { ns })
            .ok_or_else(|| format!("{text:?} is out of range"));
    }
    let ns = duration_ns(size)?;
    if ns < i64::MAX as f64 { Ok((sign * ns) as i64) } else { Err(format!("{text:?} is out of range")) }
}

/// Whole seconds and nanoseconds of `1796015124.3175`.
fn seconds_exactly(text: &str) -> Option<(i64, i64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let nine: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    Some((whole.parse().ok()?, nine.parse().ok()?))
}

/// `ttft=500ms,tpot=50ms`.
pub fn slo(text: &str) -> Result<SloArg, String> {
    let one = |part: &str| {
        let (name, limit) =
            part.split_once('=').ok_or_else(|| format!("{part:?} is no objective; an example: ttft=500ms"))?;
        Objective::new(name.trim(), duration_ns(limit)?).map_err(|e| e.to_string())
    };
    text.split(',').filter(|p| !p.trim().is_empty()).map(one).collect::<Result<Vec<_>, _>>().and_then(|list| match list
        .is_empty()
    {
        true => Err("no objective given; an example: ttft=500ms".to_string()),
        false => Ok(SloArg(list)),
    })
}

/// `0,128,2k`: lower edges, k is 1024.
pub fn buckets(text: &str) -> Result<BucketEdges, String> {
    let one = |part: &str| {
        let part = part.trim().to_lowercase();
        let (digits, scale) = match part.strip_suffix('k') {
            Some(digits) => (digits, 1024.0),
            None => (part.as_str(), 1.0),
        };
        let value: f64 =
            digits.parse().map_err(|_| format!("{part:?} is no prompt length; an example: 0,128,512,2k"))?;
        let edge = value * scale;
        if edge.fract() != 0.0 {
            return Err(format!("{part:?} is no whole number of tokens"));
        }
        (edge >= 0.0 && edge <= f64::from(u32::MAX))
            .then_some(edge as u32)
            .ok_or_else(|| format!("{part:?} is out of range"))
    };
    text.split(',').filter(|p| !p.trim().is_empty()).map(one).collect::<Result<Vec<_>, _>>().and_then(|edges| {
        match edges.is_empty() {
            true => Err("no edge given; an example: 0,128,512,2k".to_string()),
            false => Ok(BucketEdges::given(edges)),
        }
    })
}

/// A percentage of 0 or more, as a share.
pub fn percent(text: &str) -> Result<f64, String> {
    let digits = text.trim().trim_end_matches('%').trim_end();
    let percent = digits.parse::<f64>().ok().filter(|p| p.is_finite() && *p >= 0.0);
    percent.map(|p| p / 100.0).ok_or_else(|| match digits.strip_prefix('-') {
        Some(size) if size.parse::<f64>().is_ok() => {
            format!("{text:?} is below 0; it reaches as far up as down: write {size}")
        }
        _ => format!("{text:?} is no percentage; an example: 5"),
    })
}

/// 0 to 100.
pub fn percentile(text: &str) -> Result<f64, String> {
    let text = text.trim().trim_start_matches(['p', 'P']);
    let p: f64 = text.parse().map_err(|_| format!("{text:?} is no percentile; an example: 99.9"))?;
    (0.0..=100.0).contains(&p).then_some(p.abs()).ok_or_else(|| format!("{text} is not between 0 and 100"))
}

/// `30s..5m`, `70s..`, `..10m` since the first send.
pub fn window(text: &str) -> Result<Window, String> {
    let (from, to) = text.split_once("..").ok_or_else(|| format!("{text:?} is no window; an example: 30s..5m"))?;
    let edge = |part: &str, open: i64| match part.trim() {
        "" => Ok(open),
        part => duration_ns(part).map(|ns| ns as i64),
    };
    let window = Window { start_ns: edge(from, 0)?, end_ns: edge(to, i64::MAX)? };
    if window.start_ns >= window.end_ns {
        return Err(format!("{text:?} is empty: it has to end after it starts"));
    }
    Ok(window)
}

/// The targets of an export, each with its headline for the help.
pub fn export_target() -> PossibleValuesParser {
    PossibleValuesParser::new(TARGETS.iter().map(|t| PossibleValue::new(t.id).help(t.doc.headline())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration_ns("1.5s"), Ok(1.5e9));
        assert_eq!(duration_ns("2m"), Ok(120e9));
        assert!(duration_ns("500").unwrap_err().contains("500ms"));
        assert!(duration_ns("5 parsecs").is_err());
        assert!(duration_ns("ms").is_err());
    }

    #[test]
    fn offsets_keep_every_digit() {
        assert_eq!(offset("1796015124.317500001"), Ok(1_796_015_124_317_500_001));
        assert_eq!((offset("-20ms"), offset("+1.5s")), (Ok(-20_000_000), Ok(1_500_000_000)));
        assert!(offset("5").unwrap_err().contains("no unit"));
        assert!(offset("soon").is_err() && offset("99999999999999999").is_err());
    }

    #[test]
    fn edges_and_windows() {
        assert_eq!(buckets("2k,128, 0").unwrap().0, [0, 128, 2048]);
        assert!(buckets("many").is_err());
        assert_eq!(window("70s..").unwrap(), Window { start_ns: 70_000_000_000, end_ns: i64::MAX });
        assert!(window("5m..30s").is_err() && window("5m").is_err());
        assert_eq!(percentile("p99.9"), Ok(99.9));
        assert!(percentile("101").is_err());
    }

    #[test]
    fn objectives() {
        let parsed = slo("ttft=500ms,e2e=10s").unwrap().0;
        assert_eq!((parsed[0].metric, parsed[0].at_most_ns, parsed[1].metric), ("ttft_ms", 5e8, "e2e_ms"));
        assert!(slo("speed=1s").is_err() && slo("ttft").is_err() && slo("").is_err());
    }
}
