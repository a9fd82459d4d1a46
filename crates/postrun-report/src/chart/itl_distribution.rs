//! How gaps between chunks are distributed: counts in bins, with the percentiles marked.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel, Spot};
use super::ink::Ink;
use super::latency_over_time::PERCENTILES;
use super::{Build, Built, Chart};
use crate::quantity::{ms, number, percent};
use crate::report::Report;
use postrun_analysis::GapBin;

pub(super) static ITL_DISTRIBUTION: Chart = Chart {
    id: "itl_distribution",
    title: "Inter-token latency",
    shows: &["itl_ms", "itl_per_token_ms", "tokens_per_chunk"],
    build: Build::OfRun(build),
};

/// Bins of the analysis in one bar, until no more than so many bars are left.
const MOST_BARS: usize = 140;

fn build(report: &Report) -> Built {
    let a = &report.run;
    let bins = merged(&a.shapes.gaps);
    let (Some(summary), false) = (a.metric("itl_ms"), bins.is_empty()) else {
        return Err("times of single chunks are not recorded".to_string());
    };
    let shown = |ns: u64| (ns as f64 / 1e6).max(1e-3);
    let x = Axis::log("gap between chunks, ms", bins.iter().flat_map(|b| [shown(b.from_ns), shown(b.to_ns)]));
    let most = bins.iter().map(|b| b.count).max().unwrap_or(1) as f64;
    let few = bins.iter().map(|b| b.count).min().unwrap_or(1) as f64;
    // A stall is one in thousands: only a logarithmic axis shows both.
    let logarithmic = most / few >= 200.0;
    let (y, floor) = match logarithmic {
        true => (Axis { from: 0.5, ..Axis::log("Gaps", [0.6, most].into_iter()) }, 0.5),
        false => (Axis::from_zero("Gaps", [most].into_iter()), 0.0),
    };
    let bars = bins.iter().map(|b| [shown(b.from_ns), shown(b.to_ns), floor, b.count as f64]).collect();
    let mut marks = vec![Mark::Bars { bars, ink: Ink::Sky, alpha: 0.85 }];
    let mut key = vec![(Ink::Sky, "gaps".to_string())];
    for (p, name, ink) in PERCENTILES {
        if let Some(v) = summary.percentile(p) {
            marks.push(Mark::Upright { x: (v.value / 1e6).max(1e-3), ink, label: String::new() });
            key.push((ink, format!("{name} {} ms", ms(v.value))));
        }
    }
    marks.push(Mark::Key(key));
    let spot = |b: &GapBin| Spot {
        panel: Some(0),
        x: (shown(b.from_ns), shown(b.to_ns)),
        y: None,
        text: format!(
            "{} to {} ms\n{} gaps, {}",
            ms(b.from_ns as f64),
            ms(b.to_ns as f64),
            b.count,
            percent(b.count as f64 / summary.count as f64)
        ),
    };
    let description = format!(
        "{} gaps from {} to {} ms; median {} ms, P99 {} ms.",
        summary.count,
        ms(summary.min),
        ms(summary.max),
        ms(summary.stat("p50").unwrap_or(f64::NAN)),
        ms(summary.stat("p99").unwrap_or(f64::NAN))
    );
    let count = if logarithmic { " Both axes are logarithmic." } else { " The axis of gaps is logarithmic." };
    Ok(Figure {
        title: ITL_DISTRIBUTION.title.to_string(),
        subtitle: format!("{} gaps between chunks, mean {} ms", summary.count, number(summary.mean / 1e6)),
        panels: vec![Panel { height: 230.0, x, y, marks }],
        note: format!(
            "Every gap counts alike, whichever request it belongs to; a chunk may carry several tokens.{count}"
        ),
        spots: bins.iter().map(spot).collect(),
        description,
    })
}

/// Neighbouring bins put together, all by the same number.
fn merged(bins: &[GapBin]) -> Vec<GapBin> {
    let mut out = bins.to_vec();
    let mut width = 1.05;
    while out.len() > MOST_BARS {
        let mut wider: Vec<GapBin> = Vec::new();
        for bin in &out {
            match wider.last_mut() {
                Some(last) if bin.to_ns as f64 <= (last.from_ns as f64 * width).max(last.from_ns as f64 + 1.0) => {
                    (last.to_ns, last.count) = (bin.to_ns, last.count + bin.count);
                }
                _ => wider.push(*bin),
            }
        }
        out = wider;
        width *= 1.1;
    }
    out
}
