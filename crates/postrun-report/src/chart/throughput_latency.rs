//! Throughput against latency over a sweep of rising load, with the knee.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel, Side, Spot};
use super::ink::Ink;
use super::over_time::spread_axis;
use super::palette::{E2E, KNEE, TTFT};
use super::{Build, Built, Chart};
use crate::quantity::{number, setting};
use crate::report::Reports;
use postrun_diagnose::{Sweep, SweepStep, has_loads, reported_sweep, sweep};
use postrun_schema::Doc;

pub(super) static THROUGHPUT_LATENCY: Chart = Chart {
    id: "throughput_latency",
    title: "Throughput against latency",
    shows: &["load", "output_tokens_per_s", "requests_per_s"],
    doc: Doc::from_source(include_str!("throughput_latency.rs")),
    build: Build::All(build),
};

/// Loads named beside their points; of more, some.
const NAMED: usize = 14;

type LatencyOf = fn(&SweepStep) -> Option<f64>;

fn build(reports: &Reports) -> Built {
    let runs = || reports.runs.iter().map(|r| &r.run);
    if !has_loads(runs()) {
        let why = "the runs are no sweep: they need different request rates, or different concurrency limits, and the same model \
                   and lengths";
        return Err(why.to_string());
    }
    let with_latency =
        |s: &Sweep<'_>| s.steps.iter().filter(|step| step.ttft_ms.or(step.e2e_ms).is_some()).count() >= 2;
    let found = sweep(runs()).filter(with_latency).or_else(|| reported_sweep(runs()));
    let found =
        found.ok_or("fewer than two runs have a throughput and a latency, computed or reported by the client")?;
    let (percentile, mark) = (format!("P{}", found.percentile), if found.reported { "†" } else { "" });
    let knee = reports.sweep.as_ref().and_then(|f| f.evidence.iter().find(|e| e.metric == "load"));
    let knee = knee.and_then(|e| e.compared_with.as_ref()).map(|before| before.value);
    let x =
        Axis::from_zero(&format!("throughput, {}", found.throughput_unit), found.steps.iter().map(|s| s.throughput));
    let kinds: [(&str, Ink, LatencyOf); 2] = [("TTFT", TTFT, |s| s.ttft_ms), ("E2E", E2E, |s| s.e2e_ms)];
    let mut panels: Vec<Panel> = Vec::new();
    let mut drawn: Vec<LatencyOf> = Vec::new();
    for (name, ink, get) in kinds {
        let line: Vec<(f64, Option<f64>)> = found.steps.iter().map(|s| (s.throughput, get(s))).collect();
        let values = line.iter().filter_map(|(_, v)| *v);
        if values.clone().next().is_none() {
            continue;
        }
        let y = spread_axis(&format!("{name} {percentile}{mark}, ms"), values);
        let mut marks = vec![Mark::line(line.clone(), ink, "")];
        let points = line.iter().filter_map(|(t, v)| Some((*t, (*v)?))).collect();
        marks.push(Mark::Dots { points, ink, size: 3.4, alpha: 1.0 });
        marks.extend(names(&found, get, knee));
        panels.push(Panel { height: 190.0, x: x.clone().quiet(), y, marks });
        drawn.push(get);
    }
    let Some(last) = panels.last_mut() else { return Err("no run has a latency".to_string()) };
    last.x = x;
    let spots = drawn.iter().enumerate().flat_map(|(i, get)| found.steps.iter().map(move |s| (i, s, get(s))));
    let spots = spots.filter_map(|(i, s, latency)| spot(i, &found, s, latency?, &panels)).collect();
    let said = match (&reports.sweep, knee) {
        (Some(f), Some(_)) => format!("{}.", f.summary),
        _ if found.reported => {
            "† as the clients reported it: the files hold no records to compute it from. No knee is looked for."
                .to_string()
        }
        _ => "No knee: no step costs latency without gaining throughput.".to_string(),
    };
    Ok(Figure {
        title: THROUGHPUT_LATENCY.title.to_string(),
        subtitle: subtitle(&found, reports.runs.len()),
        panels,
        note: said.clone(),
        spots,
        description: said,
    })
}

/// How many runs are drawn, and how many are not: one a load is.
fn subtitle(found: &Sweep<'_>, runs: usize) -> String {
    let drawn = format!("{} runs by {}, {}", found.steps.len(), found.load, found.load_unit);
    match runs.saturating_sub(found.steps.len()) {
        0 => drawn,
        n => format!("{drawn}; {n} more at loads that are drawn, or without a figure, are not"),
    }
}

/// The load beside each point, and the knee.
fn names(found: &Sweep<'_>, get: fn(&SweepStep) -> Option<f64>, knee: Option<f64>) -> Vec<Mark> {
    let every = found.steps.len().div_ceil(NAMED);
    let one = |(i, s): (usize, &SweepStep)| {
        let at_knee = knee == Some(s.load);
        let text = if at_knee { format!("knee at {}", setting(s.load)) } else { setting(s.load) };
        let (ink, side) = if at_knee { (KNEE, Side::First) } else { (Ink::Muted, Side::Free) };
        let shown = at_knee || i % every == 0;
        Some(Mark::Words { x: s.throughput, y: get(s)?, text, ink, side }).filter(|_| shown)
    };
    let mut out: Vec<Mark> = found.steps.iter().enumerate().filter_map(one).collect();
    if let Some(s) = found.steps.iter().find(|s| knee == Some(s.load)) {
        let point = get(s).map(|v| (s.throughput, v));
        out.push(Mark::Dots { points: point.into_iter().collect(), ink: KNEE, size: 5.0, alpha: 1.0 });
    }
    out
}

fn spot(panel: usize, found: &Sweep<'_>, s: &SweepStep, value: f64, panels: &[Panel]) -> Option<Spot> {
    let p = panels.get(panel)?;
    let near = (p.x.to * 0.01, 1.08);
    let text = format!(
        "{}\n{} {} {}\n{} {}, P{} {} ms{}",
        s.run.manifest.label,
        found.load,
        setting(s.load),
        found.load_unit,
        number(s.throughput),
        found.throughput_unit,
        found.percentile,
        number(value),
        if found.reported { "†" } else { "" }
    );
    Some(Spot {
        panel: Some(panel),
        x: (s.throughput - near.0, s.throughput + near.0),
        y: Some((value / near.1, value * near.1)),
        text,
    })
}
