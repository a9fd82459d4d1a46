//! Do two contestants say the same? Names are `itl_ms/p50` for the run, `bucket 64/itl_ms/p50` for a bucket.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::error::Error;

/// Largest relative difference that counts as agreement.
const TOLERANCE: f64 = 1e-6;

/// Figures by name.
pub type Figures = BTreeMap<String, f64>;

/// The first run of what `postrun report --format json` printed.
pub fn of_report(stdout: &[u8]) -> Result<Figures, Box<dyn Error>> {
    let report: Value = serde_json::from_slice(stdout).map_err(|e| format!("the report is not JSON: {e}"))?;
    match report["schema"].as_str() {
        Some(schema) if schema.starts_with("postrun.report/1") => {}
        other => return Err(format!("the report has schema {other:?}, not postrun.report/1").into()),
    }
    let run = &report["runs"][0];
    let mut figures = Figures::new();
    if let Some(rates) = run["throughput"].as_object() {
        numbers("", rates, &mut figures);
    }
    metrics("", &run["metrics"], &mut figures);
    for bucket in run["buckets"].as_array().into_iter().flatten() {
        // Without a lower edge: requests of unknown length, which no peer has.
        let Some(low) = bucket["lo"].as_u64() else { continue };
        metrics(&format!("bucket {low}/"), &bucket["metrics"], &mut figures);
    }
    Ok(figures)
}

fn metrics(prefix: &str, metrics: &Value, figures: &mut Figures) {
    for (id, stats) in metrics.as_object().into_iter().flatten() {
        if let Some(stats) = stats.as_object() {
            numbers(&format!("{prefix}{id}/"), stats, figures);
        }
    }
}

fn numbers(prefix: &str, values: &Map<String, Value>, figures: &mut Figures) {
    let named = values.iter().filter_map(|(name, value)| Some((format!("{prefix}{name}"), value.as_f64()?)));
    figures.extend(named);
}

/// The figures of a peer, and the versions it ran with.
pub fn of_peer(stdout: &[u8]) -> Result<(Figures, String), Box<dyn Error>> {
    let answer: Value = serde_json::from_slice(stdout).map_err(|e| format!("a peer's answer is not JSON: {e}"))?;
    let mut figures = Figures::new();
    numbers("", answer["figures"].as_object().ok_or("a peer's answer has no figures")?, &mut figures);
    Ok((figures, answer["versions"].as_str().unwrap_or("version unknown").to_string()))
}

/// How far two agree.
#[derive(Debug)]
pub struct Agreement {
    /// Figures both have.
    pub compared: usize,
    /// The name and relative difference of the two that are furthest apart.
    pub furthest: Option<(String, f64)>,
    /// One line a figure that differs or is missing.
    pub differ: Vec<String>,
}

/// Looks up each figure of `peer` in `ours`. A count of 0 may be missing: an empty bucket need not be listed.
pub fn compare(ours: &Figures, peer: &Figures) -> Agreement {
    let mut agreement = Agreement { compared: 0, furthest: None, differ: Vec::new() };
    for (name, theirs) in peer {
        let Some(own) = ours.get(name) else {
            if !(*theirs == 0.0 && name.ends_with("/count")) {
                agreement.differ.push(format!("{name}: postrun has none, the peer {theirs}"));
            }
            continue;
        };
        agreement.compared += 1;
        let scale = own.abs().max(theirs.abs());
        let difference = if scale > 0.0 { (own - theirs).abs() / scale } else { 0.0 };
        // A NaN is no agreement.
        if difference.is_nan() || difference > TOLERANCE {
            agreement.differ.push(format!("{name}: postrun {own}, the peer {theirs}"));
        }
        if agreement.furthest.as_ref().is_none_or(|(_, furthest)| difference > *furthest) {
            agreement.furthest = Some((name.clone(), difference));
        }
    }
    if agreement.compared == 0 {
        agreement.differ.push("there is no figure both have".to_string());
    }
    agreement
}

/// The sentence under a table.
pub fn describe(agreement: &Agreement, peer: &str, versions: &str) -> String {
    let mut text = format!("  figures: postrun and {peer} ({versions}): ");
    match (&agreement.furthest, agreement.differ.as_slice()) {
        (Some((name, difference)), []) => text.push_str(&format!(
            "{} agree to {TOLERANCE:e} relative; furthest apart is {name}, by {difference:.1e}\n",
            agreement.compared
        )),
        (_, differ) => {
            text.push_str(&format!("{} of {} DISAGREE\n", differ.len(), agreement.compared.max(differ.len())));
            differ.iter().take(10).for_each(|line| text.push_str(&format!("    {line}\n")));
        }
    }
    text
}
