//! Pictures of a comparison. A chart is a file here and a line in [`DIFF_CHARTS`]; it is drawn as those of runs are.
//!
//! The base is blue and thin, the candidate orange and thick; verdicts have other colours. Of repeats every run has its line.

mod buckets;
mod distributions;
mod interval;
mod percentiles;
mod timeline;

use super::ink::Ink;
use super::{Build, Built, Chart, Picture};
use crate::comparison::Comparison;
use crate::section::ellipsis;
use postrun_analysis::RunAnalysis;
use postrun_diff::{Side, SideFacts};

/// Every chart of a comparison, in the order of its page.
pub static DIFF_CHARTS: &[&Chart] = &[
    &percentiles::DIFF_PERCENTILES,
    &distributions::DIFF_DISTRIBUTIONS,
    &buckets::DIFF_BUCKETS,
    &timeline::DIFF_TIMELINE,
];

/// Of more repeats than this only the first are drawn as lines.
const MOST_RUNS: usize = 6;
/// Longest name of a side, in characters.
const NAME: usize = 36;

/// The pictures of a comparison.
pub fn diff_pictures(c: &Comparison<'_>) -> Vec<Picture<'static>> {
    let picture = |chart: &&'static Chart| match chart.build {
        Build::Diff(build) => Some(Picture { chart, run: None, figure: built(c, build) }),
        _ => None,
    };
    DIFF_CHARTS.iter().filter_map(picture).collect()
}

/// A figure that says where its two sides are no answer to one question.
fn built(c: &Comparison<'_>, build: fn(&Comparison<'_>) -> Built) -> Built {
    let mut figure = build(c)?;
    if !c.diff.comparable.comparable() {
        figure.subtitle = format!("NOT THE SAME QUESTION. {}", figure.subtitle);
    }
    Ok(figure)
}

/// One of the two sides, as it is drawn.
struct Drawn<'a> {
    /// `base`, `candidate`.
    who: &'static str,
    ink: Ink,
    width: f64,
    side: &'a Side,
    facts: &'a SideFacts,
}

impl<'a> Drawn<'a> {
    fn both(c: &Comparison<'a>) -> [Drawn<'a>; 2] {
        let thinner = if c.base.runs.len().max(c.candidate.runs.len()) > 1 { 0.8 } else { 0.0 };
        [
            Drawn { who: "base", ink: Ink::Blue, width: 1.4 - thinner / 2.0, side: c.base, facts: &c.diff.base },
            Drawn {
                who: "candidate",
                ink: Ink::Orange,
                width: 3.0 - thinner,
                side: c.candidate,
                facts: &c.diff.candidate,
            },
        ]
    }

    /// The runs that have lines.
    fn runs(&self) -> impl Iterator<Item = &'a RunAnalysis> + Clone + use<'a> {
        self.side.runs.iter().take(MOST_RUNS).map(|r| &r.run)
    }

    /// What its colour means.
    fn key(&self) -> (Ink, String) {
        let labels = &self.facts.labels;
        let name = match labels.as_slice() {
            [one] => ellipsis(one, NAME),
            several => format!("{} runs", several.len()),
        };
        (self.ink, format!("{}: {name}", self.who))
    }
}

/// How many runs of each side have no line; nothing where all have.
fn left_out(sides: &[Drawn<'_>; 2]) -> String {
    let more = sides.iter().any(|s| s.side.runs.len() > MOST_RUNS);
    if more { format!(" Of each side the first {MOST_RUNS} runs are drawn.") } else { String::new() }
}
