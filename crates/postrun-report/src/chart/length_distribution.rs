//! How long prompts and outputs are: percentiles against tokens, with a tail in which each nine takes the same room.

use super::figure::Figure;
use super::palette::of_metric;
use super::percentile_curve::{self, Curve, CurveUnit, SCALE_NOTE};
use super::{Build, Built, Chart, shapes};
use crate::quantity::plain;
use crate::report::Report;
use crate::wording::metric_label;
use postrun_schema::{Doc, counted};

pub(super) static LENGTH_DISTRIBUTION: Chart = Chart {
    id: "length_distribution",
    title: "Prompt and output lengths",
    shows: &["prompt_length", "output_length"],
    doc: Doc::from_source(include_str!("length_distribution.rs")),
    build: Build::Run(build),
};

const SHOWN: [&str; 2] = ["prompt_length", "output_length"];

fn build(report: &Report) -> Built {
    let a = &report.run;
    let shapes = shapes(a)?;
    let curve = |id: &&str| Curve::of_metric(shapes, id, metric_label(id), of_metric(id)?);
    let curves: Vec<Curve> = SHOWN.iter().filter_map(curve).collect();
    if curves.is_empty() {
        return Err("the lengths of single requests are not recorded".to_string());
    }
    let unit = CurveUnit { axis: "Tokens", name: "tokens", of: |tokens| tokens.max(1.0), text: plain };
    let (panel, spots) = percentile_curve::panel(&curves, &unit);
    let empty = curves.iter().any(|c| c.points.first().is_some_and(|(_, shortest)| *shortest < 1.0));
    Ok(Figure {
        title: LENGTH_DISTRIBUTION.title.to_string(),
        subtitle: format!("How many percent of the requests are shorter; {}", counted(a.requests.ok, "request")),
        panels: vec![panel],
        note: format!("{SCALE_NOTE}{}", if empty { " A length of 0 is drawn at 1." } else { "" }),
        spots,
        description: format!("Curves of percentiles. {}", percentile_curve::in_words(&curves, &unit)),
    })
}
