//! The client's own figures: as a table where nothing else is known, and beside the recomputed ones.

use crate::quantity::{number, percentile_name, plain, signed_percent};
use crate::section::{Grid, Section};
use crate::wording::{cell, metric_label};
use postrun_analysis::{METRICS, ReportedFigure, RunAnalysis};
use postrun_schema::counted;

/// Names listed before "and n more".
const NAMED: usize = 6;

/// The latencies of a file that holds the client's summary only.
pub(crate) fn latency(a: &RunAnalysis) -> Option<Section> {
    if a.has_latencies() || a.requests.ok == 0 {
        return None;
    }
    let figures: Vec<&ReportedFigure> = a.reported.iter().filter(|f| f.metric.ends_with("_ms")).collect();
    let (with_ttft, figures): (Vec<_>, Vec<_>) = figures.into_iter().partition(|f| f.includes_ttft());
    let mut percentiles: Vec<f64> = figures.iter().filter_map(|f| f.stat.strip_prefix('p')?.parse().ok()).collect();
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    let stats: Vec<String> =
        ["mean", "std"].map(String::from).into_iter().chain(percentiles.iter().map(|p| format!("p{p}"))).collect();
    let mut grid = Grid::new(&["", "mean", "std"]);
    grid.header.extend(percentiles.iter().map(|p| percentile_name(*p)));
    for metric in METRICS.iter() {
        for (figures, label) in [
            (&figures, metric_label(metric.id).to_string()),
            (&with_ttft, format!("{}, TTFT included", short(metric.id))),
        ] {
            let of = |stat: &String| {
                let same = figures.iter().filter(|f| f.metric == metric.id && f.stat == *stat);
                same.min_by_key(|f| !f.is_plain())?.reported
            };
            let values: Vec<Option<f64>> = stats.iter().map(of).collect();
            if values.iter().any(Option::is_some) {
                let cells = values.into_iter().map(|v| cell(v.map(number)));
                grid.push([label].into_iter().chain(cells).collect());
            }
        }
    }
    if grid.rows.is_empty() {
        return None;
    }
    let mut section = Section::new("Latency in ms, as the client reported it");
    section.table = Some(grid);
    section.notes.push(
        "The file holds the client's summary only, no per-request records: nothing here is recomputed.".to_string(),
    );
    Some(section)
}

/// How the client's figures compare with ours.
pub(crate) fn parity(a: &RunAnalysis) -> Option<Section> {
    if a.reported.is_empty() {
        return None;
    }
    let of = |agrees: Option<bool>| a.reported.iter().filter(move |f| f.agrees == agrees);
    let (agree, differ, open) = (of(Some(true)).count(), of(Some(false)).count(), of(None).count());
    let mut section = Section::new("The client's own figures");
    let by = "the recomputed ones by the client's own definitions";
    section.lines.push(if agree == a.reported.len() && agree > 1 {
        format!("All {agree} figures agree with {by}.")
    } else {
        let all = counted(a.reported.len() as u64, "figure");
        let verb = if differ == 1 { "differs" } else { "differ" };
        let below = if differ > 0 { " (below)" } else { "" };
        let drawn = a.reported.iter().filter(|f| f.is_left_to_parity()).count();
        let left = match drawn {
            0 => String::new(),
            1 => ", 1 is recomputed by `postrun parity` alone".to_string(),
            n => format!(", {n} are recomputed by `postrun parity` alone"),
        };
        let open = open - drawn;
        format!("{all}: {agree} agree with {by}, {differ} {verb}{below}{left}, {open} cannot be recomputed.")
    });
    let mut differing: Vec<(&ReportedFigure, f64)> =
        of(Some(false)).map(|f| (f, f.difference().unwrap_or(f64::NAN))).collect();
    differing.sort_by(|x, y| y.1.abs().total_cmp(&x.1.abs()));
    if !differing.is_empty() {
        let mut grid = Grid::new(&["Client's name", "reported", "recomputed", "unit", "difference"]);
        grid.text_columns = vec![0, 3];
        // A number keeps its unit: the client's name can hold another one.
        grid.drop_order = vec![1, 2, 3];
        for (f, difference) in &differing {
            let value = |v: Option<f64>| cell(v.map(plain));
            let by = if difference.is_finite() { signed_percent(*difference) } else { "-".to_string() };
            grid.push(vec![
                f.key.clone(),
                value(f.reported),
                value(f.computed),
                unit_after(f.computed, &f.unit).to_string(),
                by,
            ]);
        }
        section.table = Some(grid);
    }
    for (why, figures) in by_reason(differing.iter().map(|(f, _)| *f)) {
        section.notes.push(format!("{}: {why}.", names(&figures, |f| f.key.clone())));
    }
    // A summary's latencies stand in a table of their own.
    let open = of(None).filter(|f| !(!a.has_latencies() && f.metric.ends_with("_ms") && a.requests.ok > 0));
    for (why, figures) in by_reason(open) {
        let shown = |f: &ReportedFigure| {
            let value = format!("{} {} {}", f.key, cell(f.reported.map(plain)), unit_after(f.reported, &f.unit));
            value.trim_end().to_string()
        };
        section.notes.push(format!("Not recomputed: {} ({why}).", names(&figures, shown)));
    }
    Some(section)
}

/// The unit as it stands behind a number: one request, two requests.
pub(crate) fn unit_after(value: Option<f64>, unit: &str) -> &str {
    match value == Some(1.0) && ["requests", "tokens"].contains(&unit) {
        true => unit.trim_end_matches('s'),
        false => unit,
    }
}

/// The label without what it says of how the metric is made.
fn short(metric: &str) -> &'static str {
    let label = metric_label(metric);
    label.split_once(" (").map_or(label, |(name, _)| name)
}

fn by_reason<'a>(figures: impl Iterator<Item = &'a ReportedFigure>) -> Vec<(&'a str, Vec<&'a ReportedFigure>)> {
    let mut out: Vec<(&str, Vec<&ReportedFigure>)> = Vec::new();
    for f in figures {
        let why = f.why.as_deref().unwrap_or_default();
        match out.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, list)) => list.push(f),
            None => out.push((why, vec![f])),
        }
    }
    out
}

fn names(figures: &[&ReportedFigure], name: impl Fn(&ReportedFigure) -> String) -> String {
    let mut shown: Vec<String> = figures.iter().take(NAMED).map(|f| name(f)).collect();
    if figures.len() > NAMED {
        shown.push(format!("and {} more", figures.len() - NAMED));
    }
    shown.join(", ")
}
