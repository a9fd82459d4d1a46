//! How latencies are distributed: percentiles against milliseconds, with a tail in which each nine takes the same room.

use super::axis::amount;
use super::figure::Figure;
use super::palette::{ITL, of_metric};
use super::percentile_curve::{self, Curve, CurveUnit, SCALE_NOTE};
use super::{Build, Built, Chart, lacking, shapes};
use crate::quantity::ms;
use crate::report::Report;
use crate::wording::metric_label;
use postrun_analysis::{GapBin, Shapes};
use postrun_schema::Doc;

pub(super) static LATENCY_CDF: Chart = Chart {
    id: "latency_cdf",
    title: "Latency percentiles",
    shows: &["e2e_ms", "tpot_ms", "itl_per_token_ms", "normalized_latency_ms", "ttft_ms", "itl_ms"],
    doc: Doc::from_source(include_str!("latency_cdf.rs")),
    build: Build::Run(build),
};

const SHOWN: [&str; 3] = ["ttft_ms", "tpot_ms", "e2e_ms"];

fn build(report: &Report) -> Built {
    let a = &report.run;
    let curves = curves(shapes(a)?);
    if curves.is_empty() {
        return Err(lacking(a, "no latency of single requests is recorded"));
    }
    let unit = CurveUnit { axis: "ms", name: "ms", of: |ns| (ns / 1e6).max(1e-3), text: ms };
    let (panel, spots) = percentile_curve::panel(&curves, &unit);
    Ok(Figure {
        title: LATENCY_CDF.title.to_string(),
        subtitle: format!(
            "How many percent of the values lie below; {} answered requests",
            amount(a.requests.ok as f64)
        ),
        panels: vec![panel],
        note: format!("{SCALE_NOTE} ITL is drawn in bins of 2 %."),
        spots,
        description: format!("Curves of percentiles. {}", percentile_curve::in_words(&curves, &unit)),
    })
}

fn curves(shapes: &Shapes) -> Vec<Curve> {
    let of = |id: &&str| {
        let q = shapes.quantiles.iter().find(|q| q.metric == *id)?;
        Some(Curve {
            name: metric_label(id).to_string(),
            ink: of_metric(id)?,
            count: q.count,
            points: q.points.clone(),
        })
    };
    let mut out: Vec<Curve> = SHOWN.iter().filter_map(of).collect();
    let count: u64 = shapes.gaps.iter().map(|b| b.count).sum();
    if count > 0 {
        let points = cumulative(&shapes.gaps, count);
        out.push(Curve { name: "ITL".to_string(), ink: ITL, count, points });
    }
    out
}

/// Shares below the upper ends of bins; of those so close that nobody sees them apart, one.
pub(super) fn cumulative(bins: &[GapBin], count: u64) -> Vec<(f64, f64)> {
    let mut below = 0;
    let mut out: Vec<(f64, f64)> = bins.first().map(|b| (0.0, GapBin::start_ns(b.place))).into_iter().collect();
    for bin in bins {
        below += bin.count;
        out.push((100.0 * below as f64 / count as f64, GapBin::start_ns(bin.place + 1)));
    }
    out
}
