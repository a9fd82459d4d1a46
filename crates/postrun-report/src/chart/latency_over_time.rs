//! P50, P95 and P99 of TTFT and ITL, window by window.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel};
use super::ink::Ink;
use super::over_time::{
    carries, percentile_ms, points, ramp_and_drain, said, spots, spread_axis, time_axis, timeline, values,
};
use super::palette::{ITL, PERCENTILES, TTFT};
use super::{Build, Built, Chart, lacking};
use crate::quantity::seconds;
use crate::report::Report;
use postrun_analysis::{RunAnalysis, Summary, Timeline, TimelineWindow};
use postrun_schema::{Doc, counted};

pub(super) static LATENCY_OVER_TIME: Chart = Chart {
    id: "latency_over_time",
    title: "Latency over time",
    shows: &["change_point", "ttft_by_send_order", "crowding", "ttft_ms", "itl_ms"],
    doc: Doc::from_source(include_str!("latency_over_time.rs")),
    build: Build::Run(build),
};

/// A latency: its name, its colour, its summary in a window.
type Kind = (&'static str, Ink, fn(&TimelineWindow) -> Option<&Summary>);

fn build(report: &Report) -> Built {
    let a = &report.run;
    let t = timeline(a)?;
    let kinds: [Kind; 2] = [("TTFT", TTFT, |w| w.ttft.as_ref()), ("ITL", ITL, |w| w.itl.as_ref())];
    let known: Vec<Kind> = kinds.into_iter().filter(|(_, _, get)| t.windows.iter().any(|w| get(w).is_some())).collect();
    if known.is_empty() {
        return Err(lacking(a, "no time of a first token or chunk is recorded"));
    }
    let last = known.len() - 1;
    let panels = known.iter().enumerate().map(|(i, kind)| panel(a, t, *kind, i == last)).collect();
    let text = |w: &TimelineWindow| {
        let lines = known.iter().filter_map(|(name, _, get)| {
            let s = get(w)?;
            let parts: Vec<String> =
                PERCENTILES.iter().filter_map(|(p, label, _)| said(label, percentile_ms(Some(s), *p), " ms")).collect();
            Some(format!("{name}: {} (n {})", parts.join(", "), s.count))
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    Ok(Figure {
        title: LATENCY_OVER_TIME.title.to_string(),
        subtitle: format!(
            "Percentiles in windows of {}; {}",
            seconds(t.width_s),
            counted(a.requests.ok, "answered request")
        ),
        panels,
        note: format!(
            "A first token counts in the window in which it came, a gap in the one in which it ended.{}",
            if a.steady.is_ok() { " Shaded: ramp-up and drain." } else { "" }
        ),
        spots: spots(t, text),
        description: description(a),
    })
}

fn panel(a: &RunAnalysis, t: &Timeline, (name, ink, get): Kind, last: bool) -> Panel {
    let count: u64 = t.windows.iter().filter_map(get).map(|s| s.count).sum();
    let shown: Vec<(f64, &str, f64)> = PERCENTILES.into_iter().filter(|(p, _, _)| carries(count, *p)).collect();
    let lines: Vec<_> = shown.iter().map(|(p, _, _)| points(t, |w| percentile_ms(get(w), *p))).collect();
    let y = spread_axis(&format!("{name}, ms"), values(&lines));
    let axis = time_axis(t);
    let mut marks = ramp_and_drain(a, axis.to, false);
    let drawn = lines.into_iter().zip(shown);
    marks.extend(drawn.map(|(line, (_, label, width))| Mark::line_of_width(line, ink, width, label)));
    Panel { height: 150.0, x: if last { axis } else { Axis::quiet(axis) }, y, marks }
}

fn description(a: &RunAnalysis) -> String {
    let of = |id: &str, name: &str| {
        let s = a.metric(id)?;
        let p = |p: f64| percentile_ms(Some(s), p).map(crate::quantity::number).unwrap_or_default();
        Some(format!("{name} over the whole run: P50 {} ms, P95 {} ms, P99 {} ms.", p(50.0), p(95.0), p(99.0)))
    };
    let parts: Vec<String> = [("ttft_ms", "TTFT"), ("itl_ms", "ITL")].iter().filter_map(|(id, n)| of(id, n)).collect();
    format!("Lines of P50, P95 and P99 over time. {}", parts.join(" "))
}
