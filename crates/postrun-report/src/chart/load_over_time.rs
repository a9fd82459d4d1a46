//! Requests in flight and throughput over time, with ramp-up, steady state and drain.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel};
use super::ink::Ink;
use super::over_time::{points, ramp_and_drain, said, spots, time_axis, timeline, values};
use super::palette::{DECODE, QUEUE, WHOLE};
use super::{Build, Built, Chart};
use crate::quantity::{number, percent, seconds};
use crate::report::Report;
use postrun_analysis::TimelineWindow;
use postrun_schema::{Doc, counted};

pub(super) static LOAD_OVER_TIME: Chart = Chart {
    id: "load_over_time",
    title: "Load and throughput over time",
    shows: &[
        "mean_concurrency",
        "peak_*",
        "in_flight_late",
        "sent_per_s",
        "completions_per_s",
        "requests_per_s",
        "output_tokens_per_s",
        "total_tokens_per_s",
        "prompt_tokens_per_s",
        "arrivals_per_s",
        "interarrival_*",
        "bunched_sends",
        "requests",
        "failure_rate",
        "failures_in_one_tenth",
    ],
    doc: Doc::from_source(include_str!("load_over_time.rs")),
    build: Build::Run(build),
};

/// Height of the first panel.
const FIRST_PX: f64 = 120.0;
/// Above the highest level there is room for the names of ramp-up, steady state and drain.
const HEADROOM: f64 = 1.2;

fn build(report: &Report) -> Built {
    let a = &report.run;
    let t = timeline(a)?;
    let axis = time_axis(t);
    let level = points(t, |w| w.mean_concurrency);
    let answered = level.iter().any(|(_, v)| v.is_some());
    let limit = a.manifest.load.max_concurrency.map(f64::from);
    let highest = level.iter().filter_map(|(_, v)| *v).fold(0.0, f64::max);
    // A limit far above what was reached would flatten the line.
    let near = limit.filter(|l| *l <= highest * 2.5);
    let mut first = ramp_and_drain(a, axis.to, true);
    let top = level.iter().filter_map(|(_, v)| *v).chain(near).map(|v| v * HEADROOM);
    let y = Axis::from_zero("In flight, mean", top);
    if let Ok(steady) = &a.steady {
        let (from, to) = (steady.window.start_ns as f64 / 1e9, steady.window.end_ns as f64 / 1e9);
        let fits = to - from > axis.to * 0.15;
        let words = Mark::Words {
            x: (from + to) / 2.0,
            // Beside "ramp-up" and "drain".
            y: y.to * (1.0 - 20.0 / FIRST_PX),
            text: "steady state".to_string(),
            ink: Ink::Muted,
            side: super::figure::Side::Above,
        };
        first.extend(fits.then_some(words));
    }
    first.push(Mark::line(level, WHOLE, "requests"));
    first.extend(near.map(|y| Mark::Across { y, ink: Ink::Muted, label: format!("limit {y}") }));
    let rates = [points(t, |w| Some(w.sent as f64 / t.width_s)), points(t, |w| Some(w.ended? as f64 / t.width_s))];
    let rate_axis = Axis::from_zero("Requests/s", values(&rates));
    let [sent, ended] = rates;
    let mut second = ramp_and_drain(a, axis.to, false);
    // Broader, so that it is seen where as many ended as were sent.
    second.push(Mark::line_of_width(sent, QUEUE, 2.8, "sent"));
    let mut panels = Vec::new();
    // Without an end of a request there is neither a level nor a rate of answers.
    if answered {
        second.push(Mark::line(ended, DECODE, "ended"));
        panels.push(Panel { height: FIRST_PX, x: axis.clone().quiet(), y, marks: first });
    }
    panels.push(Panel { height: 100.0, x: axis.clone().quiet(), y: rate_axis, marks: second });
    let tokens = [points(t, |w| w.output_tokens_per_s)];
    if values(&tokens).next().is_some() {
        let y = Axis::from_zero("Output tokens/s", values(&tokens));
        let [line] = tokens;
        let mut marks = ramp_and_drain(a, axis.to, false);
        marks.push(Mark::line(line, DECODE, "tokens"));
        panels.push(Panel { height: 100.0, x: axis.clone().quiet(), y, marks });
    }
    if let Some(last) = panels.last_mut() {
        last.x = axis;
    }
    let text = |w: &TimelineWindow| {
        let parts = [
            said("in flight", w.mean_concurrency, ""),
            said("sent", Some(w.sent as f64 / t.width_s), " req/s"),
            said("ended", w.ended.map(|n| n as f64 / t.width_s), " req/s"),
            said("output", w.output_tokens_per_s, " tok/s"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
    };
    let note = match &a.steady {
        Ok(s) => format!("Ramp-up is {} of the run, drain {}.", percent(s.ramp_share), percent(s.drain_share)),
        Err(_) if !answered => "No answer is recorded, so nothing is known of what was in flight.".to_string(),
        Err(why) => format!("No steady state: {why}."),
    };
    let what = match answered {
        true => "Requests in flight, requests sent and ended a second, output tokens a second.",
        false => "Requests sent a second.",
    };
    let rate =
        a.value("requests_per_s").map(|v| format!(", {} requests/s over the run", number(v))).unwrap_or_default();
    Ok(Figure {
        title: if answered { LOAD_OVER_TIME.title } else { "Arrivals over time" }.to_string(),
        subtitle: format!("Windows of {}; {}{rate}", seconds(t.width_s), counted(a.requests.total, "request")),
        panels,
        description: format!("{what} {note}"),
        note,
        spots: spots(t, text),
    })
}
