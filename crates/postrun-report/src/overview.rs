//! Many runs at a glance: one row a run.

use crate::quantity::{ms, number, percentile_name, setting};
use crate::report::Report;
use crate::section::{Grid, Section};
use crate::wording::{FEW_NOTE, cell, few_mark};
use postrun_analysis::RunAnalysis;
use postrun_diagnose::Severity;

const LATENCIES: [(&str, &str, f64); 5] = [
    ("TTFT", "ttft_ms", 50.0),
    ("TTFT", "ttft_ms", 99.0),
    ("TPOT", "tpot_ms", 50.0),
    ("ITL", "itl_ms", 99.0),
    ("E2E", "e2e_ms", 99.0),
];

/// Columns before the first figure: run, load, ok, failed.
const FIRST_FIGURE: usize = 4;
/// Before the best figure of a column.
const BEST: &str = "▸";

/// One figure of every run.
#[derive(Default)]
struct Column {
    values: Vec<Option<f64>>,
}

impl Column {
    /// Rows with the best value. None where all are the same, or where only one run has it: there is nothing to choose.
    fn best(&self, higher: bool) -> Vec<usize> {
        let known = || self.values.iter().flatten().copied();
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        let best = if higher { high } else { low };
        let rows = self.values.iter().enumerate().filter(|(_, v)| **v == Some(best)).map(|(row, _)| row);
        if low < high { rows.collect() } else { Vec::new() }
    }
}

/// One row a run. Where a file holds the client's summary only, the client's figure stands in, marked.
pub(crate) fn overview(reports: &[Report]) -> Section {
    let runs: Vec<&RunAnalysis> = reports.iter().map(|r| &r.run).collect();
    let mut grid = Grid::new(&["Run", "load", "ok", "failed", "\nreq/s", "output\ntok/s"]);
    grid.text_columns = vec![0, 1];
    for (label, _, p) in LATENCIES {
        grid.header.push(format!("{label}\n{} ms", percentile_name(p)));
    }
    let goodput = runs.iter().any(|a| !a.objectives.is_empty());
    if goodput {
        grid.header.push("goodput\nreq/s".to_string());
    }
    grid.text_columns.push(grid.header.len());
    grid.header.push("verdict".to_string());
    // E2E, load, ITL, TPOT: what is left still says how much, how many failed and how long one waits.
    grid.drop_order = vec![10, 1, 9, 8];
    let (mut borrowed, mut few) = (false, false);
    let mut columns: Vec<Column> = Vec::new();
    let names = short_labels(&runs);
    for (at, (a, name)) in runs.iter().copied().zip(names).enumerate() {
        let mut row = vec![name, load(a), a.requests.ok.to_string(), a.requests.failed.to_string()];
        let mut theirs = |value: Option<f64>| {
            borrowed |= value.is_some();
            cell(value.map(|v| format!("{}†", number(v))))
        };
        let mut values: Vec<Option<f64>> = Vec::new();
        for id in ["requests_per_s", "output_tokens_per_s"] {
            values.push(a.value(id));
            row.push(match a.value(id) {
                Some(v) => number(v),
                None => theirs(reported(a, id, "value")),
            });
        }
        for (_, id, p) in LATENCIES {
            let own = a.metric(id).and_then(|s| s.percentile(p));
            values.push(own.map(|x| x.value));
            row.push(match own {
                Some(x) => {
                    few |= x.few_samples;
                    format!("{}{}", ms(x.value), few_mark(x))
                }
                None => theirs(reported(a, id, &format!("p{p}")).filter(|_| a.requests.ok > 0)),
            });
        }
        if goodput {
            values.push(a.value("goodput_requests_per_s"));
            row.push(cell(a.value("goodput_requests_per_s").map(number)));
        }
        columns.resize_with(values.len(), Column::default);
        columns.iter_mut().zip(values).for_each(|(column, value)| column.values.push(value));
        row.push(verdict(&reports[at]));
        grid.push(row);
    }
    // Throughput and goodput are better the higher, latencies the lower.
    let rates = [0, 1, 2 + LATENCIES.len()];
    let mut marked = false;
    for (at, column) in columns.iter().enumerate() {
        for row in column.best(rates.contains(&at)) {
            grid.rows[row].cells[FIRST_FIGURE + at].insert_str(0, BEST);
            marked = true;
        }
    }
    let mut section = Section::new(format!("{} runs", runs.len()));
    section.table = Some(grid);
    if marked {
        section.notes.push(format!("{BEST} best of the runs."));
    }
    if few {
        section.notes.push(FEW_NOTE.to_string());
    }
    if borrowed {
        section.notes.push("† as the client reported it: the file holds no records to compute it from.".to_string());
    }
    section
}

/// The rule of the first finding that is more than a note.
fn verdict(report: &Report) -> String {
    let first = report.diagnosis.findings.iter().find(|f| f.severity > Severity::Info);
    let nothing = if report.run.is_workload() { "a workload" } else { "-" };
    first.map_or_else(|| nothing.to_string(), |f| f.rule.clone())
}

/// Labels without what they all begin and end with.
fn short_labels(runs: &[&RunAnalysis]) -> Vec<String> {
    let labels: Vec<Vec<char>> = runs.iter().map(|a| a.manifest.label.chars().collect()).collect();
    let shortest = labels.iter().map(Vec::len).min().unwrap_or(0);
    let same = |at: &dyn Fn(&[char]) -> Option<char>| labels.iter().all(|l| at(l) == at(&labels[0]));
    let head = (0..shortest).take_while(|i| same(&|l| l.get(*i).copied())).count();
    let tail = (0..shortest - head).take_while(|i| same(&|l| l.iter().rev().nth(*i).copied())).count();
    // A short common part is kept: names read better whole.
    let (head, tail) = (if head > 12 { head } else { 0 }, if tail > 12 { tail } else { 0 });
    let part = |l: &Vec<char>| {
        let middle: String = l[head..l.len() - tail].iter().collect();
        format!("{}{middle}{}", if head > 0 { "…" } else { "" }, if tail > 0 { "…" } else { "" })
    };
    labels.iter().map(part).collect()
}

fn reported(a: &RunAnalysis, metric: &str, stat: &str) -> Option<f64> {
    a.reported.iter().find(|f| f.metric == metric && f.stat == stat).and_then(|f| f.reported)
}

fn load(a: &RunAnalysis) -> String {
    let load = &a.manifest.load;
    let rate = match load.request_rate {
        Some(rate) => Some(format!("{}/s", setting(rate))),
        None => load.unbounded.then(|| "∞".to_string()),
    };
    let limit = load.max_concurrency.map(|c| format!("≤{c}"));
    let parts: Vec<String> = rate.into_iter().chain(limit).collect();
    if parts.is_empty() { "-".to_string() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_marked_where_there_is_a_choice() {
        let best = |values: &[Option<f64>], higher| Column { values: values.to_vec() }.best(higher);
        assert_eq!(best(&[Some(3.0), None, Some(5.0), Some(5.0)], true), [2, 3]);
        assert_eq!(best(&[Some(3.0), None, Some(5.0)], false), [0]);
        assert!(best(&[Some(3.0), Some(3.0)], true).is_empty());
        assert!(best(&[Some(3.0), None], false).is_empty());
        assert!(best(&[], false).is_empty());
    }
}
