//! Distributions as a table: a row each.

use crate::quantity::percentile_name;
use crate::section::{Grid, Section};
use crate::wording::{FEW_NOTE, cell, few_mark, in_unit, unit_name};
use postrun_analysis::{Percentile, RunAnalysis, Summary};

/// A row.
pub(crate) struct Distribution<'a> {
    /// Metric id.
    pub id: &'static str,
    pub label: &'static str,
    pub summary: &'a Summary,
}

/// What stands beside the figures.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    /// A column of units, where they are not all the same.
    pub units: bool,
    /// A line with the 95 % interval of each percentile.
    pub intervals: bool,
}

impl Default for Columns {
    fn default() -> Columns {
        Columns { units: false, intervals: true }
    }
}

/// The table, at the percentiles that the run was asked for.
pub(crate) fn section(title: &str, rows: &[Distribution<'_>], a: &RunAnalysis, columns: Columns) -> Section {
    let unit = columns.units.then_some("unit");
    let mut header: Vec<String> =
        [""].into_iter().chain(unit).chain(["n", "mean", "std", "min"]).map(String::from).collect();
    header.extend(a.percentiles.iter().map(|p| percentile_name(*p)));
    header.push("max".to_string());
    let column = |name: &str| header.iter().position(|h| h == name);
    let drop_order = ["std", "min", "P99.9", "P90", "n", "mean"].iter().filter_map(|name| column(name)).collect();
    let text_columns = if columns.units { vec![0, 1] } else { vec![0] };
    let width = header.len();
    let mut grid = Grid { header, drop_order, text_columns, ..Grid::default() };
    let mut few = false;
    for Distribution { id, label, summary: s } in rows {
        let shown = |v: f64| in_unit(id, v);
        let mut row = vec![label.to_string()];
        row.extend(columns.units.then(|| unit_name(id).to_string()));
        row.extend([s.count.to_string(), shown(s.mean), shown(s.std), shown(s.min)]);
        let mut interval = vec![String::new(); width];
        interval[0] = "  95 % interval".to_string();
        for p in &a.percentiles {
            let found = s.percentile(*p);
            few |= found.is_some_and(|x| x.few_samples);
            interval[row.len()] = found.map(|x| interval_text(x, shown)).unwrap_or_default();
            row.push(cell(found.map(|x| format!("{}{}", shown(x.value), few_mark(x)))));
        }
        row.push(shown(s.max));
        grid.push_about(id, row);
        if columns.intervals {
            grid.push_detail(interval);
        }
    }
    let mut section = Section::new(title);
    section.table = Some(grid);
    if few {
        section.notes.push(FEW_NOTE.to_string());
    }
    section
}

fn interval_text(p: &Percentile, shown: impl Fn(f64) -> String) -> String {
    match (p.low, p.high) {
        (Some(low), Some(high)) => format!("{}–{}", shown(low), shown(high)),
        (Some(low), None) => format!("≥{}", shown(low)),
        (None, Some(high)) => format!("≤{}", shown(high)),
        (None, None) => String::new(),
    }
}
