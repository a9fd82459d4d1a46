//! The slowest requests, each a bar from its send on: queue, prefill, decode, and the pauses that look like preemptions.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel, Side, Spot};
use super::ink::Ink;
use super::{Build, Built, Chart, lacking, palette, shapes};
use crate::quantity::{ms, seconds};
use crate::report::Report;
use crate::wording::cell;
use postrun_analysis::{ListedRequest, StallClass};
use postrun_schema::{Doc, counted};

pub(super) static SLOWEST_REQUESTS: Chart = Chart {
    id: "slowest_requests",
    title: "The slowest requests",
    shows: &["request_preemptions", "preempted_*", "e2e_ms"],
    doc: Doc::from_source(include_str!("slowest_requests.rs")),
    build: Build::Run(build),
};

const SHOWN: usize = 25;
const ROW: f64 = 19.0;
const THICK: f64 = 0.36;

/// What a stretch of a bar is, in the order of a bar.
const PARTS: [(Ink, &str); 5] = [
    (palette::QUEUE, "queue"),
    (palette::PREFILL, "prefill"),
    (palette::TTFT, "wait for the first token"),
    (palette::DECODE, "decode"),
    (palette::PREEMPTION, "pause that looks like a preemption"),
];
const QUEUE: usize = 0;
const PREFILL: usize = 1;
const WAIT: usize = 2;
const DECODE: usize = 3;
const PAUSE: usize = 4;

fn build(report: &Report) -> Built {
    let a = &report.run;
    let rows: Vec<&ListedRequest> = shapes(a)?.listed.iter().filter(|r| r.e2e_ns.is_some()).take(SHOWN).collect();
    if rows.is_empty() {
        return Err(lacking(a, "end-to-end times of single requests are not recorded"));
    }
    let stretches: Vec<Vec<(usize, f64, f64)>> = rows.iter().map(|r| stretches(r)).collect();
    let end = |row: &[(usize, f64, f64)]| row.iter().map(|s| s.2).fold(0.0, f64::max);
    let longest = stretches.iter().map(|row| end(row)).fold(0.0, f64::max);
    // The words beside the longest bar need room.
    let x = Axis { to: longest * 1.22, ..Axis::from_zero("s since the send of the request", [longest].into_iter()) };
    let names: Vec<String> = rows.iter().map(|r| format!("#{}", r.request)).collect();
    let y = Axis::rows(&names);
    let mut bars: Vec<Vec<[f64; 4]>> = vec![Vec::new(); PARTS.len()];
    let (mut words, mut spots) = (Vec::new(), Vec::new());
    for (i, (r, parts)) in rows.iter().zip(&stretches).enumerate() {
        let middle = (rows.len() - i) as f64 - 0.5;
        let (low, high) = (middle - THICK, middle + THICK);
        parts.iter().for_each(|(part, from, to)| bars[*part].push([*from, *to, low, high]));
        let tokens = |n: Option<u32>| cell(n.map(|n| n.to_string()));
        let text = format!(
            "{} → {} {}",
            tokens(r.prompt_tokens),
            tokens(r.output_tokens),
            if r.output_tokens == Some(1) { "token" } else { "tokens" }
        );
        words.push(Mark::Words { x: end(parts), y: middle, text, ink: Ink::Muted, side: Side::Right });
        spots.push(Spot { panel: Some(0), x: (0.0, x.to), y: Some((low, high)), text: told(r) });
    }
    let used: Vec<usize> = (0..PARTS.len()).filter(|k| !bars[*k].is_empty()).collect();
    let mut marks: Vec<Mark> = bars
        .into_iter()
        .zip(PARTS)
        .filter(|(bars, _)| !bars.is_empty())
        .map(|(bars, (ink, _))| Mark::Bars { bars, ink, alpha: 1.0 })
        .collect();
    marks.extend(words);
    marks.push(Mark::Key(used.iter().map(|k| (PARTS[*k].0, PARTS[*k].1.to_string())).collect()));
    let note = if used.contains(&QUEUE) || used.contains(&PREFILL) {
        "The server's phases are drawn from the client's send on, as if the request had reached the server at once."
    } else {
        "As the client saw it: what of the wait was queue and what prefill, only the server's records tell."
    };
    Ok(Figure {
        title: SLOWEST_REQUESTS.title.to_string(),
        subtitle: format!(
            "The {} slowest of {}, by end-to-end time",
            rows.len(),
            counted(a.requests.ok, "answered request")
        ),
        panels: vec![Panel { height: ROW * rows.len() as f64, x, y, marks }],
        note: note.to_string(),
        spots,
        description: rows.iter().take(3).map(|r| told(r).replace('\n', ", ")).collect::<Vec<_>>().join("; "),
    })
}

/// Part, start and end in seconds since the send.
fn stretches(r: &ListedRequest) -> Vec<(usize, f64, f64)> {
    let s = |ns: f64| ns / 1e9;
    let e2e = s(r.e2e_ns.unwrap_or(0.0));
    let mut out = Vec::new();
    match (r.queue_ns, r.prefill_ns, r.decode_ns) {
        (Some(queue), Some(prefill), decode) => {
            let (scheduled, first) = (s(queue), s(queue + prefill));
            out.push((QUEUE, 0.0, scheduled));
            out.push((PREFILL, scheduled, first));
            out.push((DECODE, first, decode.map_or(e2e.max(first), |d| first + s(d))));
        }
        _ => {
            let first = s(r.ttft_ns.unwrap_or(0.0)).min(e2e);
            out.push((WAIT, 0.0, first));
            out.push((DECODE, first, e2e));
        }
    }
    for pause in r.pauses.iter().filter(|p| p.class == StallClass::Preemption) {
        if let Some((at, sent)) = pause.at_ns.zip(r.sent_ns) {
            let from = s((at - sent) as f64).max(0.0);
            out.push((PAUSE, from, from + s(pause.length_ns as f64)));
        }
    }
    out
}

fn told(r: &ListedRequest) -> String {
    let time = |name: &str, v: Option<f64>| v.map(|v| format!("{name} {} ms", ms(v)));
    let mut lines = vec![format!("request {}", r.request)];
    lines.extend(r.sent_ns.map(|at| format!("sent at {}", seconds(at as f64 / 1e9))));
    let times = [
        time("E2E", r.e2e_ns),
        time("TTFT", r.ttft_ns),
        time("TPOT", r.tpot_ns),
        time("queue", r.queue_ns),
        time("prefill", r.prefill_ns),
        time("decode", r.decode_ns),
    ];
    lines.push(times.into_iter().flatten().collect::<Vec<_>>().join(", "));
    if !r.pauses.is_empty() {
        lines.push(format!("{} long pauses", r.pauses.len()));
    }
    lines.join("\n")
}
