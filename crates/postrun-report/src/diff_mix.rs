//! How much of a change of a mean is the workload, how much the system, and what cannot be told apart.

use crate::quantity::{number, percent};
use crate::section::{Grid, Section};
use crate::wording::metric_label;
use postrun_diff::{Mix, NotSplit, RunDiff};

/// The parts of each mean, or why there are none; nothing where no mean can be asked.
pub(crate) fn section(d: &RunDiff) -> Option<Section> {
    if (d.mix.is_empty() && d.not_split.is_empty()) || d.same_recording {
        return None;
    }
    let mut s = Section::new("Workload or system: the change of each mean, in ms");
    s.lines.extend(d.not_split.first().map(|n| not_split(&d.not_split, n)));
    if d.mix.is_empty() {
        return Some(s);
    }
    let mut grid = Grid::new(&["", "base", "candidate", "change", "workload", "system"]);
    let one_sided = d.mix.iter().find(|m| m.common_share.iter().any(|share| *share < 1.0));
    grid.header.extend(one_sided.map(|_| "not comparable".to_string()));
    let ms = |ns: f64| number(ns / 1e6);
    for m in &d.mix {
        let third = one_sided.map(|_| ms(m.not_comparable));
        let cells = [m.base, m.candidate, m.candidate - m.base, m.workload, m.system].map(ms);
        grid.push([metric_label(m.metric).to_string()].into_iter().chain(cells).chain(third).collect());
    }
    s.table = Some(grid);
    s.notes.push(
        "workload: what other prompt and output lengths do to the mean; system: what changed for equal lengths."
            .to_string(),
    );
    if d.method.runs != [1, 1] {
        s.notes.push(
            "Means: over all requests of the repeats together, so they may differ from those of the table.".to_string(),
        );
    }
    s.notes.extend(one_sided.map(|m| {
        let [a, b] = m.common_share.map(percent);
        format!(
            "not comparable: what requests of lengths do that one side alone has; {a} of the base's and {b} of the candidate's \
             have lengths that both have, and these are split."
        )
    }));
    s.notes.extend(d.mix.iter().filter(|m| m.paradox).map(paradox));
    Some(s)
}

/// Which means are not split, and why.
fn not_split(all: &[NotSplit], first: &NotSplit) -> String {
    let named: Vec<&str> = all.iter().map(|n| metric_label(n.metric)).collect();
    let [a, b] = first.common_share.map(percent);
    format!(
        "Not split ({}): only {a} of the base's requests and {b} of the candidate's have prompt and output lengths that the other \
         side has too; of the others nothing tells the workload from the system.",
        named.join(", ")
    )
}

/// Simpson's paradox in words.
fn paradox(m: &Mix) -> String {
    let (whole, cells) = if m.candidate > m.base { ("rose", "fell") } else { ("fell", "rose") };
    format!(
        "{}: the mean {whole} though it {cells} or stayed for requests of equal lengths (Simpson's paradox): what changed is \
         which lengths were sent.",
        metric_label(m.metric)
    )
}
