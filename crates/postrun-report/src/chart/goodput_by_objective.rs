//! Goodput against the objectives: how many requests would meet them if they were stricter or laxer.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel, Spot};
use super::ink::Ink;
use super::palette::{WHOLE, of_metrics};
use super::{Build, Built, Chart, lacking, shapes};
use crate::quantity::{chosen_time, number, percent};
use crate::report::Report;
use crate::wording::metric_label;
use postrun_analysis::GoodputCurve;
use postrun_schema::{Doc, counted};

pub(super) static GOODPUT_BY_OBJECTIVE: Chart = Chart {
    id: "goodput_by_objective",
    title: "Goodput by objective",
    shows: &["goodput*"],
    doc: Doc::from_source(include_str!("goodput_by_objective.rs")),
    build: Build::Run(build),
};

fn build(report: &Report) -> Built {
    let a = &report.run;
    if a.objectives.is_empty() {
        return Err("no objective was given: `--slo ttft=500ms,tpot=50ms`".to_string());
    }
    let g = shapes(a)?
        .goodput
        .as_ref()
        .ok_or_else(|| lacking(a, "the recording does not hold what an objective is about"))?;
    let (Some(from), Some(to)) = (g.factors.first(), g.factors.last()) else { return Err("no factor".to_string()) };
    let ticks = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0].map(|f: f64| (f, format!("{f}×"))).to_vec();
    let x = Axis { from: *from, to: *to, ticks, ..Axis::log("all objectives multiplied by", [*from, *to].into_iter()) };
    let y = Axis::linear("Requests that meet them, %", 0.0, 102.0);
    let line = |shares: &[f64]| g.factors.iter().zip(shares).map(|(f, s)| (*f, Some(s * 100.0))).collect::<Vec<_>>();
    let mut marks = vec![Mark::Upright { x: 1.0, ink: Ink::Muted, label: "as given".to_string() }];
    let several = g.each.len() > 1;
    // Below the others, one of which may be all that counts.
    marks.push(Mark::line_of_width(line(&g.all), WHOLE, if several { 4.0 } else { 2.6 }, ""));
    let mut key = vec![(WHOLE, if several { "all of them".to_string() } else { all_limits(g) })];
    if several {
        for (curve, ink) in g.each.iter().zip(of_metrics(g.each.iter().map(|c| c.metric))) {
            marks.push(Mark::line_of_width(line(&curve.shares), ink, 1.4, ""));
            key.push((ink, limit(curve.metric, curve.at_most_ns)));
        }
    }
    let now = share_at_one(g);
    marks.push(Mark::Dots { points: vec![(1.0, now * 100.0)], ink: WHOLE, size: 4.0, alpha: 1.0 });
    marks.push(Mark::Key(key));
    let spot = |(k, pair): (usize, &[f64])| {
        let mut lines = vec![format!("objectives × {}", number(pair[0])), format!("all: {}", percent(g.all[k]))];
        let each = g.each.iter().filter(|_| several);
        lines.extend(each.map(|c| format!("{}: {}", metric_label(c.metric), percent(c.shares[k]))));
        Spot { panel: Some(0), x: (pair[0], pair[1]), y: None, text: lines.join("\n") }
    };
    let rate = a.value("goodput_requests_per_s").map(|v| format!(", {} requests/s", number(v))).unwrap_or_default();
    let sentence = format!("{} of {} meet {}{rate}", percent(now), counted(g.requests, "request"), all_limits(g));
    Ok(Figure {
        title: GOODPUT_BY_OBJECTIVE.title.to_string(),
        subtitle: sentence.clone(),
        panels: vec![Panel { height: 220.0, x, y, marks }],
        note: "Left of the mark objectives are stricter, right of it laxer. Failed requests meet none.".to_string(),
        spots: g.factors.windows(2).enumerate().map(spot).collect(),
        description: format!("{sentence}."),
    })
}

fn share_at_one(g: &GoodputCurve) -> f64 {
    let at = g.factors.iter().position(|f| *f >= 1.0 - 1e-12);
    at.and_then(|k| g.all.get(k)).copied().unwrap_or(0.0)
}

fn limit(metric: &str, at_most_ns: f64) -> String {
    format!("{} ≤ {}", metric_label(metric), chosen_time(at_most_ns))
}

fn all_limits(g: &GoodputCurve) -> String {
    g.each.iter().map(|c| limit(c.metric, c.at_most_ns)).collect::<Vec<_>>().join(" and ")
}
