//! Long pauses of streams: how many of each kind, and the longest.

use crate::quantity::{ms, number, seconds};
use crate::section::{Grid, Section};
use crate::wording::cell;
use postrun_analysis::{RunAnalysis, Stall, StallClass};

/// Pauses named.
const NAMED: usize = 3;

/// `None` without long pauses.
pub(crate) fn of_run(a: &RunAnalysis) -> Option<Section> {
    let stalls = a.stalls.as_ref().filter(|s| s.total > 0 && a.window.is_none())?;
    let mut grid = Grid::new(&["", "pauses", "of them sure", "time in all", "longest, ms", "at", "request"]);
    grid.drop_order = vec![6, 5, 2];
    for class in StallClass::ALL {
        if stalls.count(class) == 0 {
            continue;
        }
        let longest = stalls.longest_of(class);
        grid.push(vec![
            words(class).to_string(),
            stalls.count(class).to_string(),
            stalls.sure(class).to_string(),
            seconds(stalls.total_ns(class) as f64 / 1e9),
            cell(longest.map(|s| ms(s.length_ns as f64))),
            cell(longest.and_then(at)),
            cell(longest.map(|s| s.request.to_string())),
        ]);
    }
    let mut section = Section::new("Long pauses in streams");
    section.table = Some(grid);
    let named: Vec<String> = stalls.longest.iter().take(NAMED).map(pause).collect();
    section.notes.push(format!("The longest: {}. See `postrun explain stalls`.", named.join("; ")));
    Some(section)
}

/// A class in words.
pub(crate) fn words(class: StallClass) -> &'static str {
    match class {
        StallClass::Preemption => "looks like preemption",
        StallClass::PrefillInterference => "another's prefill",
        StallClass::GlobalStall => "everyone paused",
        StallClass::Jitter => "other jitter",
    }
}

fn at(s: &Stall) -> Option<String> {
    s.at_ns.map(|ns| seconds(ns as f64 / 1e9))
}

fn pause(s: &Stall) -> String {
    let when = at(s).map(|at| format!(" at {at}")).unwrap_or_default();
    let sure = number(s.confidence);
    format!("request {}{when}, {} ms, {} ({sure})", s.request, ms(s.length_ns as f64), words(s.class))
}
