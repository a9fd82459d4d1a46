//! Many runs at a glance: one row a run.

use crate::headline::not_whole;
use crate::quantity::{ms, number, percentile_name, setting};
use crate::report::Report;
use crate::section::{Grid, Section};
use crate::wording::{FEW_NOTE, cell, few_mark};
use postrun_analysis::{Percentile, RunAnalysis};
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

/// Figures that differ by less than this share are as good as each other: runs repeat no better.
const NOISE: f64 = 0.01;

/// A figure that runs are compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shown {
    value: f64,
    /// Where the true value lies, as far as it is known.
    low: f64,
    high: f64,
    /// It rests on single requests.
    few: bool,
    /// The client's own figure.
    reported: bool,
}

impl Shown {
    fn of(value: f64) -> Shown {
        Shown { value, low: value, high: value, few: false, reported: false }
    }

    fn percentile(x: &Percentile) -> Shown {
        let (low, high) = (x.low.unwrap_or(x.value), x.high.unwrap_or(x.value));
        Shown { low, high, few: x.few_samples, ..Shown::of(x.value) }
    }

    fn reported(value: f64) -> Shown {
        Shown { reported: true, ..Shown::of(value) }
    }

    /// Whether chance alone may have made the difference to `other`.
    fn as_good_as(&self, other: &Shown) -> bool {
        let near = (self.value - other.value).abs() <= NOISE * self.value.abs().max(other.value.abs());
        near || (self.low <= other.high && other.low <= self.high)
    }
}

/// One figure of every run.
#[derive(Default)]
struct Column {
    values: Vec<Option<Shown>>,
}

impl Column {
    /// Rows with the best value, or one that cannot be told from it. None where that is all of them, where a figure rests on
    /// single requests (it might be the best), and where some are computed and some are the client's.
    fn best(&self, higher: bool) -> Vec<usize> {
        let known: Vec<&Shown> = self.values.iter().flatten().collect();
        let order = |a: &&Shown, b: &&Shown| a.value.total_cmp(&b.value);
        let best = known.iter().copied().max_by(|a, b| if higher { order(a, b) } else { order(b, a) });
        let Some(best) = best.filter(|b| known.iter().all(|s| !s.few && s.reported == b.reported)) else {
            return Vec::new();
        };
        let good = |s: &Option<Shown>| s.is_some_and(|s| s.as_good_as(best));
        let rows: Vec<usize> = (0..self.values.len()).filter(|row| good(&self.values[*row])).collect();
        if rows.len() < known.len() { rows } else { Vec::new() }
    }
}

/// Why no run can be the best: they are of different things.
fn unlike(runs: &[&RunAnalysis]) -> Option<&'static str> {
    let differ = |of: &dyn Fn(&RunAnalysis) -> Option<String>| {
        let mut all = runs.iter().filter_map(|a| of(a));
        all.next().is_some_and(|first| all.any(|other| other != first))
    };
    if differ(&|a| Some(a.manifest.tool.name.clone())) {
        return Some("No best of the runs is marked: they are of different tools, which measure differently.");
    }
    differ(&|a| a.manifest.model.clone()).then_some("No best of the runs is marked: they are of different models.")
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
    // E2E, ITL, TPOT, tokens, and the load last: what is left says how much was asked and done, how many failed and how
    // long one waits.
    grid.drop_order = vec![10, 9, 8, 5, 1];
    let (mut borrowed, mut few, mut workloads, mut lost) = (false, false, Vec::new(), Vec::new());
    let mut columns: Vec<Column> = Vec::new();
    let names = short_labels(&runs);
    for (at, (a, name)) in runs.iter().copied().zip(names).enumerate() {
        lost.extend(not_whole(a).map(|_| name.clone()));
        // Of a workload nobody knows how its requests ended.
        let [ok, failed] = match a.is_workload() {
            true => {
                workloads.push(format!("{} of {name}", a.requests.total));
                [None, None]
            }
            false if !a.counts_requests() => [None, None],
            false => [Some(a.requests.ok), Some(a.requests.failed)],
        };
        let count = |n: Option<u64>| cell(n.map(|n| n.to_string()));
        let mut row = vec![name, load(a), count(ok), count(failed)];
        let mut values: Vec<Option<Shown>> = Vec::new();
        let mut theirs = |value: Option<f64>| {
            borrowed |= value.is_some();
            (value.map(Shown::reported), cell(value.map(|v| format!("{}†", number(v)))))
        };
        let mut push = |(value, text): (Option<Shown>, String)| {
            values.push(value);
            row.push(text);
        };
        for id in ["requests_per_s", "output_tokens_per_s"] {
            push(match a.value(id) {
                Some(v) => (Some(Shown::of(v)), number(v)),
                None => theirs(reported(a, id, "value")),
            });
        }
        for (_, id, p) in LATENCIES {
            push(match a.metric(id).and_then(|s| s.percentile(p)) {
                Some(x) => {
                    few |= x.few_samples;
                    (Some(Shown::percentile(x)), format!("{}{}", ms(x.value), few_mark(x)))
                }
                None => theirs(reported(a, id, &format!("p{p}")).filter(|_| a.requests.ok > 0)),
            });
        }
        if goodput {
            values.push(a.value("goodput_requests_per_s").map(Shown::of));
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
    let unlike = unlike(&runs);
    for (at, column) in columns.iter().enumerate().filter(|_| unlike.is_none()) {
        for row in column.best(rates.contains(&at)) {
            grid.rows[row].cells[FIRST_FIGURE + at].insert_str(0, BEST);
            marked = true;
        }
    }
    let mut section = Section::new(format!("{} runs", runs.len()));
    section.table = Some(grid);
    if marked {
        section.notes.push(format!("{BEST} best of the runs; where it stands twice, chance may make the difference."));
    }
    section.notes.extend(unlike.map(str::to_string));
    if few {
        section.notes.push(FEW_NOTE.to_string());
    }
    if !lost.is_empty() {
        section.notes.push(format!("NOT WHOLE, see data quality: {}.", lost.join(", ")));
    }
    if !workloads.is_empty() {
        section
            .notes
            .push(format!("A workload holds arrivals and lengths, and no answers: requests {}.", workloads.join(", ")));
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

/// Labels without the words that all of them have in the same place.
fn short_labels(runs: &[&RunAnalysis]) -> Vec<String> {
    shortened(&runs.iter().map(|a| a.manifest.label.as_str()).collect::<Vec<_>>())
}

fn shortened(labels: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = labels.iter().map(|l| l.split_inclusive(['_', '-', '/', ' ', '.']).collect()).collect();
    let least = words.iter().map(Vec::len).min().unwrap_or(0);
    let alike = words.iter().all(|w| w.len() == least);
    // Of labels of different lengths only what all begin with is in the same place.
    let same = |at: usize| words.iter().all(|w| w[at] == words[0][at]);
    let head = (0..least).take_while(|at| same(*at)).count();
    let common = |at: usize| if alike { same(at) } else { at < head };
    let short = |own: &Vec<&str>| {
        let mut out = String::new();
        let mut at = 0;
        while at < own.len() {
            let end = (at..own.len()).find(|k| common(*k) != common(at)).unwrap_or(own.len());
            let part = own[at..end].concat();
            // A short common part is kept: names read better whole.
            let left_out = common(at) && part.chars().count() > 12;
            out.push_str(if left_out { "…" } else { &part });
            at = end;
        }
        out
    };
    words.iter().map(short).collect()
}

fn reported(a: &RunAnalysis, metric: &str, stat: &str) -> Option<f64> {
    a.reported.iter().find(|f| f.metric == metric && f.stat == stat && !f.includes_ttft()).and_then(|f| f.reported)
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
        let best = |values: &[Option<f64>], higher| {
            Column { values: values.iter().map(|v| v.map(Shown::of)).collect() }.best(higher)
        };
        assert_eq!(best(&[Some(3.0), None, Some(5.0), Some(5.0)], true), [2, 3]);
        assert_eq!(best(&[Some(3.0), None, Some(5.0)], false), [0]);
        assert!(best(&[Some(3.0), Some(3.0)], true).is_empty());
        assert!(best(&[Some(3.0), None], false).is_empty());
        assert!(best(&[], false).is_empty());
        assert_eq!(best(&[Some(3.0), Some(3.02), Some(5.0)], false), [0, 1]);
        assert!(best(&[Some(3.0), Some(3.02)], false).is_empty());
    }

    #[test]
    fn labels_are_cut_between_words() {
        let long = ["sweep_of_everything_tp2_conc64_isl1024_osl1024", "sweep_of_everything_tp4_conc64_isl1024_osl1024"];
        assert_eq!(shortened(&long), ["…tp2_…", "…tp4_…"]);
        assert_eq!(shortened(&["run-c1", "run-c16"]), ["run-c1", "run-c16"]);
        assert_eq!(shortened(&["a_very_long_name_x", "a_very_long_name_y_z"]), ["…x", "…y_z"]);
        assert!(shortened(&[]).is_empty());
    }

    #[test]
    fn chance_chooses_no_best() {
        let best = |a: Shown, b: Shown| Column { values: vec![Some(a), Some(b), Some(Shown::of(90.0))] }.best(false);
        let (three, five) = (Shown::of(3.0), Shown::of(5.0));
        assert_eq!(best(three, five), [0]);
        assert_eq!(best(Shown { high: 4.0, ..three }, Shown { low: 3.5, ..five }), [0, 1]);
        assert!(best(three, Shown { few: true, ..five }).is_empty());
        assert!(best(three, Shown { reported: true, ..five }).is_empty());
        let reported = Column { values: vec![Some(Shown::reported(3.0)), Some(Shown::reported(5.0))] };
        assert_eq!(reported.best(false), [0]);
    }
}
