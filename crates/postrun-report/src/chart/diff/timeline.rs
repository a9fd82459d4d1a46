//! Both sides over time, each since its own first send: latencies, requests in flight, and the server where it was recorded.

use super::super::axis::Axis;
use super::super::figure::{Figure, Mark, Panel, Spot};
use super::super::over_time::{percentile_ms, points, said, spread_axis};
use super::super::{Build, Built, Chart};
use super::{Drawn, left_out};
use crate::comparison::Comparison;
use crate::quantity::seconds;
use postrun_analysis::{Timeline, TimelineWindow};
use postrun_schema::Doc;

pub(super) static DIFF_TIMELINE: Chart = Chart {
    id: "diff_timeline",
    title: "Both sides over time",
    shows: &["mean_concurrency", "waiting_*", "kv_cache_*", "preemption*", "ttft_ms", "itl_ms"],
    doc: Doc::from_source(include_str!("timeline.rs")),
    build: Build::Diff(build),
};

type Get = fn(&TimelineWindow) -> Option<f64>;

/// One row of the picture.
struct Row {
    label: &'static str,
    /// Short, with its unit, for those who hover.
    said: (&'static str, &'static str),
    get: Get,
    height: f64,
    /// The upper end of a strip that begins at the value.
    strip: Option<Get>,
    bars: bool,
    /// Without a panel where it is 0 for all of both runs.
    quiet_at_zero: bool,
}

/// More runs than this, and strips would hide each other.
const MOST_STRIPS: usize = 2;

const ROWS: [Row; 6] = [
    Row {
        label: "TTFT, ms",
        said: ("TTFT P50", " ms"),
        get: |w| percentile_ms(w.ttft.as_ref(), 50.0),
        height: 120.0,
        strip: Some(|w| percentile_ms(w.ttft.as_ref(), 95.0)),
        bars: false,
        quiet_at_zero: false,
    },
    Row {
        label: "ITL, ms",
        said: ("ITL P50", " ms"),
        get: |w| percentile_ms(w.itl.as_ref(), 50.0),
        height: 100.0,
        strip: Some(|w| percentile_ms(w.itl.as_ref(), 95.0)),
        bars: false,
        quiet_at_zero: false,
    },
    Row {
        label: "In flight, mean",
        said: ("in flight", ""),
        get: |w| w.mean_concurrency,
        height: 80.0,
        strip: None,
        bars: false,
        quiet_at_zero: false,
    },
    Row {
        label: "Waiting on the server, mean",
        said: ("waiting", ""),
        get: |w| w.server.waiting,
        height: 70.0,
        strip: None,
        bars: false,
        quiet_at_zero: true,
    },
    Row {
        label: "KV cache, highest, %",
        said: ("KV cache", " %"),
        get: |w| w.server.kv_cache_usage.map(|s| s * 100.0),
        height: 70.0,
        strip: None,
        bars: false,
        quiet_at_zero: false,
    },
    Row {
        label: "Preemptions in a window",
        said: ("preemptions", ""),
        get: |w| w.server.preemptions,
        height: 60.0,
        strip: None,
        bars: true,
        quiet_at_zero: true,
    },
];

fn build(c: &Comparison<'_>) -> Built {
    let sides = Drawn::both(c);
    let lines: Vec<(&Drawn<'_>, &Timeline)> =
        sides.iter().flat_map(|s| s.runs().filter_map(move |run| Some((s, run.timeline.as_ref()?)))).collect();
    let there = |who: &str| lines.iter().any(|(s, _)| s.who == who);
    let lacking = sides.iter().find(|s| !there(s.who));
    if let Some(side) = lacking {
        return Err(format!("send times of the {} are not recorded", side.who));
    }
    let quiet = |row: &&Row| row.quiet_at_zero && silent(row, &lines);
    let known = |row: &&Row| lines.iter().any(|(_, t)| t.windows.iter().any(|w| (row.get)(w).is_some()));
    let rows: Vec<&Row> = ROWS.iter().filter(known).filter(|row| !quiet(row)).collect();
    if rows.is_empty() {
        return Err("no latency, load or state of the server is recorded over time".to_string());
    }
    let length = |t: &Timeline| t.windows.last().map_or(0.0, |w| w.start_s + t.width_s);
    let end = lines.iter().map(|(_, t)| length(t)).fold(0.0, f64::max);
    let axis = Axis::seconds("since the first send of each run", end);
    let last = rows.len().saturating_sub(1);
    let mut panels: Vec<Panel> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let x = if i == last { axis.clone() } else { axis.clone().quiet() };
        panels.push(panel(row, &lines, x));
    }
    if let Some(first) = panels.first_mut() {
        first.marks.push(Mark::Key(sides.iter().map(Drawn::key).collect()));
    }
    let widths: Vec<f64> = lines.iter().map(|(_, t)| t.width_s).collect();
    let (least, most) = widths.iter().fold((f64::INFINITY, 0f64), |(a, b), w| (a.min(*w), b.max(*w)));
    let windows = if least == most { seconds(most) } else { format!("{} to {}", seconds(least), seconds(most)) };
    let strips = lines.len() <= MOST_STRIPS && rows.iter().any(|r| r.strip.is_some());
    let shown = if strips {
        " Latencies: the line is the P50 of a window, the strip above it reaches to its P95."
    } else {
        " Latencies: the P50 of a window."
    };
    let absent: Vec<&str> = ROWS.iter().filter(|r| !known(r)).map(|r| r.said.0).collect();
    let absent = if absent.is_empty() { String::new() } else { format!(" Not recorded: {}.", absent.join(", ")) };
    let zero: Vec<&str> = ROWS.iter().filter(known).filter(quiet).map(|r| r.said.0).collect();
    let zero = if zero.is_empty() { String::new() } else { format!(" 0 throughout: {}.", zero.join(", ")) };
    let own =
        if c.diff.convention.is_another() { " Over time, latencies are by postrun's own definitions." } else { "" };
    let one_side: Vec<String> = rows.iter().filter_map(|row| one_side(row, &lines)).collect();
    Ok(Figure {
        title: DIFF_TIMELINE.title.to_string(),
        subtitle: format!("Windows of {windows}; both start at their first send"),
        panels,
        note: format!("{}{}{absent}{zero}{}{}", shown.trim_start(), one_side.concat(), own, left_out(&sides)),
        spots: spots(&lines, &rows, end),
        description: format!(
            "{} of base and candidate over time, above each other.",
            rows.iter().map(|r| r.label).collect::<Vec<_>>().join("; ")
        ),
    })
}

/// True where nothing but 0 was recorded on both sides.
fn silent(row: &Row, lines: &[(&Drawn<'_>, &Timeline)]) -> bool {
    lines.iter().flat_map(|(_, t)| &t.windows).filter_map(row.get).all(|v| v == 0.0)
}

/// Which side lacks a row that the other has.
fn one_side(row: &Row, lines: &[(&Drawn<'_>, &Timeline)]) -> Option<String> {
    let has = |who: &str| lines.iter().any(|(s, t)| s.who == who && t.windows.iter().any(|w| (row.get)(w).is_some()));
    let lacks = ["base", "candidate"].into_iter().find(|who| !has(who))?;
    Some(format!(" The {lacks} has no record of {}.", row.said.0))
}

fn panel(row: &Row, lines: &[(&Drawn<'_>, &Timeline)], x: Axis) -> Panel {
    let strip = row.strip.filter(|_| lines.len() <= MOST_STRIPS);
    let ends = strip.unwrap_or(row.get);
    let values = || lines.iter().flat_map(|(_, t)| &t.windows).flat_map(|w| [(row.get)(w), ends(w)]).flatten();
    let y = match row.strip {
        Some(_) => spread_axis(row.label, values()),
        None => Axis::from_zero(row.label, values()),
    };
    let mut marks = Vec::new();
    let bars_of = |t: &Timeline, top: Get, from: Get, part: (f64, f64)| -> Vec<[f64; 4]> {
        let at = |w: &TimelineWindow, share: f64| w.start_s + t.width_s * share;
        t.windows.iter().filter_map(|w| Some([at(w, part.0), at(w, part.1), from(w)?, top(w)?])).collect()
    };
    if let Some(top) = strip {
        for (side, t) in lines {
            marks.push(Mark::Bars { bars: bars_of(t, top, row.get, (0.0, 1.0)), ink: side.ink, alpha: 0.22 });
        }
    }
    let mut named: Option<&str> = None;
    // The candidate's thick lines below the base's thin ones: where both are equal, both are seen.
    for (side, t) in lines.iter().rev() {
        let label = if named == Some(side.who) { "" } else { side.who };
        named = Some(side.who);
        if row.bars && lines.len() <= MOST_STRIPS {
            // Beside each other, the base on the left.
            let part = if side.who == "base" { (0.08, 0.5) } else { (0.5, 0.92) };
            let bars = bars_of(t, row.get, |_| Some(0.0), part);
            marks.push(Mark::Bars { bars, ink: side.ink, alpha: 1.0 });
            continue;
        }
        let points = points(t, row.get);
        marks.push(Mark::Line { points, ink: side.ink, width: side.width, dashed: false, label: label.to_string() });
    }
    Panel { height: row.height, x, y, marks }
}

/// What each window says of both sides, by the finer windows of the first runs.
fn spots(lines: &[(&Drawn<'_>, &Timeline)], rows: &[&Row], end: f64) -> Vec<Spot> {
    let first = |who: &str| lines.iter().find(|(s, _)| s.who == who).map(|(_, t)| *t);
    let (Some(base), Some(candidate)) = (first("base"), first("candidate")) else { return Vec::new() };
    let width = base.width_s.min(candidate.width_s);
    let window =
        |t: &'_ Timeline, at: f64| t.windows.iter().position(|w| at >= w.start_s && at < w.start_s + t.width_s);
    let count = if width > 0.0 { (end / width).ceil() as usize } else { 0 };
    let spot = |i: usize| {
        let (from, to) = (i as f64 * width, (i + 1) as f64 * width);
        let middle = (from + to) / 2.0;
        let words = |row: &&Row| {
            let value = |t: &Timeline| window(t, middle).and_then(|w| t.windows.get(w)).and_then(row.get);
            let (name, unit) = row.said;
            let both = [said("base", value(base), unit), said("candidate", value(candidate), unit)];
            let both: Vec<String> = both.into_iter().flatten().collect();
            (!both.is_empty()).then(|| format!("{name}: {}", both.join(", ")))
        };
        let lines: Vec<String> = rows.iter().filter_map(words).collect();
        let text = format!("{} to {}\n{}", seconds(from), seconds(to), lines.join("\n"));
        Spot { panel: None, x: (from, to), y: None, text }
    };
    (0..count.min(MOST_SPOTS)).map(spot).collect()
}

/// A run far longer than the windows of the other are wide has spots over its start alone.
const MOST_SPOTS: usize = 240;
