//! How latencies are distributed: percentiles against milliseconds, with a tail in which each nine takes the same room.

use super::figure::Figure;
use super::palette::{ITL, of_metric};
use super::percentile_curve::{self, Curve, CurveUnit, SCALE_NOTE, in_ms};
use super::{Build, Built, Chart, lacking, shapes};
use crate::quantity::ms;
use crate::report::Report;
use crate::wording::metric_label;
use postrun_analysis::Shapes;
use postrun_schema::{Doc, counted};

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
    let unit = CurveUnit { axis: "ms", name: "ms", of: in_ms, text: ms };
    let (panel, spots) = percentile_curve::panel(&curves, &unit);
    Ok(Figure {
        title: LATENCY_CDF.title.to_string(),
        subtitle: format!("How many percent of the values lie below; {}", counted(a.requests.ok, "answered request")),
        panels: vec![panel],
        note: format!("{SCALE_NOTE} ITL is drawn in bins of 2 %."),
        spots,
        description: format!("Curves of percentiles. {}", percentile_curve::in_words(&curves, &unit)),
    })
}

fn curves(shapes: &Shapes) -> Vec<Curve> {
    let of = |id: &&str| Curve::of_metric(shapes, id, metric_label(id), of_metric(id)?);
    SHOWN.iter().filter_map(of).chain(Curve::of_gaps(shapes, "ITL", ITL)).collect()
}
