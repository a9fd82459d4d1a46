//! Where the time went: queue, prefill and decode by prompt length, and for the slowest requests.

use super::axis::{Axis, amount};
use super::figure::{Figure, Mark, Panel, Side, Spot};
use super::ink::Ink;
use super::palette::{DECODE, PREFILL, QUEUE, TTFT};
use super::{Build, Built, Chart, lacking, shapes};
use crate::quantity::{ms, percent};
use crate::report::Report;
use crate::wording::token_range;
use postrun_analysis::{PhaseRow, PhaseScope};
use postrun_schema::{Doc, counted};

pub(super) static PHASE_BREAKDOWN: Chart = Chart {
    id: "phase_breakdown",
    title: "Where the time went",
    shows: &[
        "queue_ms",
        "queue_share*",
        "prefill_ms",
        "decode_ms",
        "inference_ms",
        "client_queue_ms",
        "before_server_ms",
        "front_end_ms",
        "server_ttft_ms",
    ],
    doc: Doc::from_source(include_str!("phase_breakdown.rs")),
    build: Build::Run(build),
};

const ROW: f64 = 26.0;
const THICK: f64 = 0.32;
/// Below this share of the plot a value does not fit into its bar.
const NARROW: f64 = 0.09;

fn build(report: &Report) -> Built {
    let a = &report.run;
    let phases = shapes(a)?.phases.as_ref().ok_or_else(|| lacking(a, "times of single requests are not recorded"))?;
    let inks: &[Ink] = if phases.recorded { &[QUEUE, PREFILL, DECODE] } else { &[TTFT, DECODE] };
    let names: Vec<String> = phases.rows.iter().map(name).collect();
    let total = |row: &PhaseRow| row.mean_ns.iter().sum::<f64>() / 1e6;
    // The words beside the longest bar need room.
    let x = Axis::from_zero("mean, ms", phases.rows.iter().map(|row| total(row) * 1.22));
    let y = Axis::rows(&names);
    let mut bars: Vec<Vec<[f64; 4]>> = vec![Vec::new(); inks.len()];
    let (mut words, mut spots) = (Vec::new(), Vec::new());
    for (i, row) in phases.rows.iter().enumerate() {
        let middle = (names.len() - i) as f64 - 0.5;
        let (low, high) = (middle - THICK, middle + THICK);
        let mut from = 0.0;
        for (k, part) in row.mean_ns.iter().enumerate() {
            let to = from + part / 1e6;
            bars[k].push([from, to, low, high]);
            let share = part / 1e6 / total(row).max(f64::MIN_POSITIVE);
            let text =
                format!("{}: {} {} ms, {} (n {})", names[i], phases.parts[k], ms(*part), percent(share), row.requests);
            spots.push(Spot { panel: Some(0), x: (from, to), y: Some((low, high)), text });
            if (to - from) / x.to > NARROW {
                words.push(Mark::Words {
                    x: from,
                    y: middle,
                    text: percent(share),
                    ink: Ink::Surface,
                    side: Side::Right,
                });
            }
            from = to;
        }
        let text = format!("{} ms, n {}", ms(from * 1e6), amount(row.requests as f64));
        words.push(Mark::Words { x: from, y: middle, text, ink: Ink::Muted, side: Side::Right });
    }
    let drawn = bars.into_iter().zip(inks).map(|(bars, ink)| Mark::Bars { bars, ink: *ink, alpha: 1.0 });
    let mut marks: Vec<Mark> = drawn.collect();
    marks.extend(words);
    marks.push(Mark::Key(inks.iter().zip(phases.parts).map(|(ink, part)| (*ink, part.to_string())).collect()));
    let first = phases.rows.first().map_or(0, |row| row.requests);
    let subtitle =
        format!("Mean time of a request by prompt tokens, and of the slowest hundredth; {}", counted(first, "request"));
    let note = match phases.recorded {
        true => {
            "As the server recorded it: time outside of the server is not in it. A preemption lengthens prefill or decode."
        }
        false => {
            "As the client saw it. What of the wait was queue and what prefill, only the server's records tell: its log, spans or metrics."
        }
    };
    let one = |row: &PhaseRow| {
        let parts = row.mean_ns.iter().zip(phases.parts).map(|(v, part)| format!("{part} {} ms", ms(*v)));
        format!("{}: {}.", name(row), parts.collect::<Vec<_>>().join(", "))
    };
    Ok(Figure {
        title: PHASE_BREAKDOWN.title.to_string(),
        subtitle,
        panels: vec![Panel { height: ROW * names.len() as f64, x, y, marks }],
        note: note.to_string(),
        spots,
        description: phases.rows.iter().map(one).collect::<Vec<_>>().join(" "),
    })
}

fn name(row: &PhaseRow) -> String {
    match row.scope {
        PhaseScope::All => "all".to_string(),
        PhaseScope::Bucket { lo, hi } => token_range(Some(lo), hi),
        PhaseScope::Slowest => "slowest 1 %".to_string(),
    }
}
