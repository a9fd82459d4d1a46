//! Many runs in order, for a person.

use crate::diff_words::{stat_text, value_text};
use crate::quantity::signed_percent;
use crate::section::{Grid, Section};
use crate::spark::spark;
use crate::wording::{cell, metric_label};
use postrun_diff::{Trend, TrendSeries};
use postrun_schema::counted;

/// Above it chance is not excluded.
const BY_CHANCE: f64 = 0.05;
/// Room beside the curves.
const BESIDE_CURVE: usize = 50;

/// The changes in words, then every figure by run.
pub(crate) fn of_trend(t: &Trend, width: u16) -> Vec<Section> {
    vec![changes(t), curves(t, usize::from(width)), by_run(t)]
}

fn name(s: &TrendSeries) -> String {
    format!("{} {}", metric_label(s.metric), stat_text(s.stat)).trim_end().to_string()
}

fn changes(t: &Trend) -> Section {
    let mut s = Section::new(format!("{}, ordered by {}", counted(t.runs.len() as u64, "run"), t.ordered_by.text()));
    let mut lines: Vec<(usize, String)> = Vec::new();
    for series in &t.series {
        for c in &series.changes {
            let by = c.change_share.map_or("from 0".to_string(), signed_percent);
            let so_far = if c.at + 1 == t.runs.len() { ", in this run alone so far" } else { "" };
            let few = if c.p_value > BY_CHANCE { "too few runs to exclude chance: " } else { "" };
            lines.push((c.at, format!("from {} on{so_far}: {} {by} ({few}p = {:.3})", c.run, name(series), c.p_value)));
        }
    }
    lines.sort();
    s.lines = lines.into_iter().map(|(_, line)| line).collect();
    if s.lines.is_empty() {
        s.lines.push("No change is shown: every figure varies as its own runs do.".to_string());
    }
    s
}

fn curves(t: &Trend, width: usize) -> Section {
    let mut s = Section::new("Over the runs, latencies in ms");
    let mut grid = Grid::new(&["", "", "first", "last", "lowest", "highest"]);
    grid.text_columns = vec![0, 1];
    grid.drop_order = vec![4, 5];
    for series in &t.series {
        let known: Vec<f64> = series.values.iter().flatten().copied().collect();
        let text = |v: Option<f64>| cell(v.map(|v| value_text(series.metric, v)));
        let ends = [known.first().copied(), known.last().copied()];
        let range = [known.iter().copied().reduce(f64::min), known.iter().copied().reduce(f64::max)];
        let mut row = vec![name(series), spark(&series.values, width.saturating_sub(BESIDE_CURVE).clamp(12, 60))];
        row.extend(ends.into_iter().chain(range).map(text));
        grid.push(row);
    }
    s.table = Some(grid);
    s
}

fn by_run(t: &Trend) -> Section {
    let mut s = Section::new("By run, latencies in ms");
    let mut grid = Grid::new(&["run"]);
    grid.header
        .extend(t.series.iter().map(|series| format!("{}\n{}", metric_label(series.metric), stat_text(series.stat))));
    for (i, run) in t.runs.iter().enumerate() {
        let value = |series: &TrendSeries| {
            let changed = if series.changes.iter().any(|c| c.at == i) { "!" } else { "" };
            let value = series.values.get(i).copied().flatten();
            cell(value.map(|v| format!("{}{changed}", value_text(series.metric, v))))
        };
        grid.push([run.clone()].into_iter().chain(t.series.iter().map(value)).collect());
    }
    s.table = Some(grid);
    let last = |at: usize| at + 1 == t.runs.len();
    let changes = || t.series.iter().flat_map(|series| &series.changes);
    if changes().any(|c| !last(c.at)) {
        s.notes.push("! here a figure changed, and stayed changed.".to_string());
    }
    if changes().any(|c| last(c.at)) {
        s.notes.push("! at the last run: whether it stays is not known.".to_string());
    }
    s
}
