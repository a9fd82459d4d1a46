//! How gaps between chunks are distributed: counts in bins, with the percentiles marked.

use super::axis::Axis;
use super::figure::{Figure, Mark, Panel, Spot};
use super::ink::Ink;
use super::palette::{ITL, PERCENTILES};
use super::{Build, Built, Chart, lacking, shapes};
use crate::quantity::{ms, number, percent};
use crate::report::Report;
use postrun_analysis::GapBin;
use postrun_schema::{Doc, counted};
use std::collections::BTreeMap;

pub(super) static ITL_DISTRIBUTION: Chart = Chart {
    id: "itl_distribution",
    title: "Inter-token latency",
    shows: &["itl_ms", "itl_per_token_ms", "tokens_per_chunk"],
    doc: Doc::from_source(include_str!("itl_distribution.rs")),
    build: Build::Run(build),
};

const FEWEST_BARS: f64 = 16.0;
const MOST_BARS: f64 = 140.0;
/// Foot of a logarithmic axis: below one gap.
const LOWEST: f64 = 0.5;
/// Room above the bars, of their height.
const HEADROOM: f64 = 0.28;

/// Gaps of `from` to `to` milliseconds.
struct Bar {
    from: f64,
    to: f64,
    count: u64,
}

fn build(report: &Report) -> Built {
    let a = &report.run;
    if !a.convention.itl_is_gaps() {
        return Err(format!("inter-token latency is one mean a request as {} defines it", a.convention.id));
    }
    let bins = bars(&shapes(a)?.gaps);
    let (Some(summary), false) = (a.metric("itl_ms"), bins.is_empty()) else {
        return Err(lacking(a, "times of single chunks are not recorded"));
    };
    let shown = |ms: f64| ms.max(1e-3);
    let x = Axis::log("gap between chunks, ms", bins.iter().flat_map(|b| [shown(b.from), shown(b.to)]));
    let most = bins.iter().map(|b| b.count).max().unwrap_or(1) as f64;
    let few = bins.iter().map(|b| b.count).min().unwrap_or(1) as f64;
    // A stall is one in thousands: only a logarithmic axis shows both.
    let logarithmic = most / few >= 200.0;
    // The tallest bar ends below the names of the percentiles.
    let (y, floor) = match logarithmic {
        true => {
            let to = most * (most / LOWEST).powf(HEADROOM);
            (Axis { from: LOWEST, to, ..Axis::log("Gaps", [LOWEST, most].into_iter()) }, LOWEST)
        }
        false => {
            let axis = Axis::from_zero("Gaps", [most].into_iter());
            (Axis { to: most * (1.0 + HEADROOM), ..axis }, 0.0)
        }
    };
    let bars = bins.iter().map(|b| [shown(b.from), shown(b.to), floor, b.count as f64]).collect();
    let flag = |(p, name, _): (f64, &str, f64)| {
        let v = summary.percentile(p)?.value;
        Some((shown(v / 1e6), format!("{name} {} ms", ms(v))))
    };
    let flags = PERCENTILES.into_iter().filter_map(flag).collect();
    let marks = vec![Mark::Bars { bars, ink: ITL, alpha: 0.7 }, Mark::Flags { at: flags, ink: Ink::Text }];
    let spot = |b: &Bar| Spot {
        panel: Some(0),
        x: (shown(b.from), shown(b.to)),
        y: None,
        text: format!(
            "{} to {} ms\n{}, {}",
            number(b.from),
            number(b.to),
            counted(b.count, "gap"),
            percent(b.count as f64 / summary.count as f64)
        ),
    };
    let description = format!(
        "{} from {} to {} ms; median {} ms, P99 {} ms.",
        counted(summary.count, "gap"),
        ms(summary.min),
        ms(summary.max),
        ms(summary.stat("p50").unwrap_or(f64::NAN)),
        ms(summary.stat("p99").unwrap_or(f64::NAN))
    );
    let count = if logarithmic { " Both axes are logarithmic." } else { " The axis of gaps is logarithmic." };
    Ok(Figure {
        title: ITL_DISTRIBUTION.title.to_string(),
        subtitle: format!("{} between chunks, mean {} ms", counted(summary.count, "gap"), number(summary.mean / 1e6)),
        panels: vec![Panel { height: 230.0, x, y, marks }],
        note: format!(
            "Every gap counts alike, whichever request it belongs to; a chunk may carry several tokens.{count}"
        ),
        spots: bins.iter().map(spot).collect(),
        description,
    })
}

/// Neighbouring bins put together, by as many as it takes: few values need wide bars.
fn bars(bins: &[GapBin]) -> Vec<Bar> {
    let count: u64 = bins.iter().map(|b| b.count).sum();
    let most = (2.0 * (count as f64).sqrt()).clamp(FEWEST_BARS, MOST_BARS) as usize;
    let mut together = 1;
    loop {
        let mut out: BTreeMap<u32, u64> = BTreeMap::new();
        bins.iter().for_each(|b| *out.entry(b.place / together).or_default() += b.count);
        if out.len() <= most || together > 16 * GapBin::PER_OCTAVE {
            let ms = |k: u32| GapBin::start_ns(k * together) / 1e6;
            return out.into_iter().map(|(k, count)| Bar { from: ms(k), to: ms(k + 1), count }).collect();
        }
        together *= 2;
    }
}
