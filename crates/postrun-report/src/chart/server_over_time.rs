//! The server over time, on one axis: requests running and waiting, KV cache, preemptions, and the latency beside them.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel, Side};
use super::ink::Ink;
use super::over_time::{percentile_ms, points, said, spots, spread_axis, time_axis, timeline, values};
use super::palette::{DECODE, ITL, PREEMPTION, QUEUE, TTFT, WHOLE};
use super::{Build, Built, Chart};
use crate::quantity::seconds;
use crate::report::Report;
use postrun_analysis::{Timeline, TimelineWindow};
use postrun_schema::Doc;

pub(super) static SERVER_OVER_TIME: Chart = Chart {
    id: "server_over_time",
    title: "The server over time",
    shows: &[
        "running_*",
        "waiting_*",
        "kv_cache_*",
        "preemption*",
        "preempted_share",
        "batch_size_seen",
        "prefix_cache_hit_rate",
        "gpu_*",
    ],
    doc: Doc::from_source(include_str!("server_over_time.rs")),
    build: Build::Run(build),
};

type Get = fn(&TimelineWindow) -> Option<f64>;

fn build(report: &Report) -> Built {
    let a = &report.run;
    let t = timeline(a)?;
    let known = |get: Get| t.windows.iter().any(|w| get(w).is_some());
    let (running, waiting): (Get, Get) = (|w| w.server.running, |w| w.server.waiting);
    let (kv, preemptions): (Get, Get) = (|w| w.server.kv_cache_usage.map(|s| s * 100.0), |w| w.server.preemptions);
    if ![running, waiting, kv, preemptions].into_iter().any(known) {
        let why = "no samples of the server on an aligned clock: a scrape of /metrics during the run would supply them";
        return Err(why.to_string());
    }
    let mut panels = Vec::new();
    if known(running) || known(waiting) {
        let lines = [points(t, running), points(t, waiting)];
        let y = Axis::from_zero("Requests, mean", values(&lines));
        let [first, second] = lines;
        let mut marks = Vec::new();
        if known(running) {
            marks.push(Mark::line(first, DECODE, "running"));
        }
        if known(waiting) {
            marks.push(Mark::line(second, QUEUE, "waiting"));
        }
        panels.push(panel(t, 110.0, y, marks));
    }
    if known(kv) {
        let line = Mark::line(points(t, kv), WHOLE, "highest");
        let full = Mark::Across { y: 100.0, ink: Ink::Muted, label: "full".to_string() };
        panels.push(panel(t, 80.0, Axis::linear("KV cache, %", 0.0, 104.0), vec![full, line]));
    }
    if known(preemptions) {
        let points = points(t, preemptions);
        let half = t.width_s / 2.0;
        let bars = points.iter().filter_map(|(at, v)| Some([at - half, at + half, 0.0, (*v)?])).collect();
        let mut y = Axis::from_zero("Preemptions in a window", points.iter().filter_map(|(_, v)| *v));
        y.ticks.retain(|(v, _)| v.fract() == 0.0);
        let mut marks = vec![Mark::Bars { bars, ink: PREEMPTION, alpha: 1.0 }];
        if points.iter().all(|(_, v)| v.is_none_or(|n| n == 0.0)) {
            let (text, side) = ("none".to_string(), Side::Right);
            marks.push(Mark::Words { x: 0.0, y: y.to / 2.0, text, ink: Ink::Muted, side });
        }
        panels.push(panel(t, 60.0, y, marks));
    }
    let ttft =
        [points(t, |w| percentile_ms(w.ttft.as_ref(), 95.0)), points(t, |w| percentile_ms(w.itl.as_ref(), 95.0))];
    if values(&ttft).next().is_some() {
        let y = spread_axis("Latency P95, ms", values(&ttft));
        let [ttft, itl] = ttft;
        let marks = vec![Mark::line(ttft, TTFT, "TTFT"), Mark::line(itl, ITL, "ITL")];
        panels.push(panel(t, 100.0, y, marks));
    }
    if let Some(last) = panels.last_mut() {
        last.x = time_axis(t);
    }
    let text = |w: &TimelineWindow| {
        let parts = [
            said("running", running(w), ""),
            said("waiting", waiting(w), ""),
            said("KV cache", kv(w), " %"),
            said("preemptions", preemptions(w), ""),
            said("TTFT P95", percentile_ms(w.ttft.as_ref(), 95.0), " ms"),
            said("ITL P95", percentile_ms(w.itl.as_ref(), 95.0), " ms"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
    };
    let clock = a.facts.server.clock.as_ref().and_then(|c| c.uncertainty_ms);
    let aligned =
        clock.map(|ms| format!(", clocks aligned to ±{} ms", crate::quantity::number(ms))).unwrap_or_default();
    Ok(Figure {
        title: SERVER_OVER_TIME.title.to_string(),
        subtitle: format!("Samples of the server in windows of {}{aligned}", seconds(t.width_s)),
        panels,
        note: "Means of a window for requests, its highest value for the KV cache; preemptions between two samples of the counter are spread evenly. The latency below is the client's."
            .to_string(),
        spots: spots(t, text),
        description:
            "Running and waiting requests, KV cache usage, preemptions and latency over time, above each other."
                .to_string(),
    })
}

fn panel(t: &Timeline, height: f64, y: Axis, marks: Vec<Mark>) -> Panel {
    Panel { height, x: time_axis(t).quiet(), y, marks }
}
