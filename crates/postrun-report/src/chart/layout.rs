//! Where the parts of a picture lie, in pixels of its own scale.

use super::figure::{Figure, Mark, Panel};
use super::render::WIDER;

pub(super) const WIDTH: f64 = 860.0;
pub(super) const TEXT: f64 = 11.5;
pub(super) const TITLE: f64 = 15.0;
const EDGE: f64 = 14.0;
const HEAD: f64 = 54.0;
/// Above a plot: its label and what its colours mean.
const ABOVE: f64 = 28.0;
/// How far above a plot that stands: the highest tick's text must not touch it.
pub(super) const LABEL_ABOVE: f64 = 17.0;
const BETWEEN: f64 = 12.0;
const X_TICKS: f64 = 18.0;
const X_LABEL: f64 = 18.0;
const NOTE_LINE: f64 = 16.0;
/// Labels beside lines may take this share of the width.
const MOST_BESIDE: f64 = 0.3;
/// Between two labels beside lines.
pub(super) const LABEL_STEP: f64 = 14.0;

/// A rectangle: left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Frame {
    pub(super) fn x(&self, share: f64) -> f64 {
        self.left + (self.right - self.left) * share
    }

    pub(super) fn y(&self, share: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * share
    }
}

/// The places of everything.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub height: f64,
    /// The plot of each panel.
    pub plots: Vec<Frame>,
    /// Lines of the note, and where the first stands.
    pub note: Vec<String>,
    pub note_top: f64,
}

impl Layout {
    /// `measure` tells how wide a text is.
    pub(super) fn of(figure: &Figure, measure: impl Fn(&str) -> f64) -> Layout {
        let widest = |texts: &mut dyn Iterator<Item = String>| texts.map(|t| measure(&t)).fold(0.0, f64::max);
        let ticks = |p: &Panel| p.y.ticks.iter().map(|(_, t)| t.clone()).collect::<Vec<_>>();
        let left = EDGE + widest(&mut figure.panels.iter().flat_map(ticks)) + 8.0;
        let beside = widest(&mut figure.panels.iter().flat_map(|p| p.marks.iter().filter_map(label_beside)));
        let right = WIDTH - EDGE - if beside > 0.0 { (beside * WIDER + 8.0).min(WIDTH * MOST_BESIDE) } else { 0.0 };
        let mut at = HEAD;
        let mut plots = Vec::new();
        for (i, panel) in figure.panels.iter().enumerate() {
            let above = if panel.y.label.is_empty() && !has_key(panel) { 6.0 } else { ABOVE };
            at += above + if i > 0 { BETWEEN } else { 0.0 };
            plots.push(Frame { left, top: at, right, bottom: at + panel.height });
            at += panel.height;
            if panel.x.ticks.iter().any(|(_, t)| !t.is_empty()) {
                at += X_TICKS;
            }
            if !panel.x.label.is_empty() {
                at += X_LABEL;
            }
        }
        let note = wrapped(&figure.note, (WIDTH - 2.0 * EDGE) / WIDER, &measure);
        let note_top = at + 16.0;
        let height = at + EDGE + if note.is_empty() { 0.0 } else { 6.0 + note.len() as f64 * NOTE_LINE };
        Layout { height: height.ceil(), plots, note, note_top }
    }

    pub(super) fn note_y(&self, line: usize) -> f64 {
        self.note_top + line as f64 * NOTE_LINE
    }

    pub(super) const fn edge() -> f64 {
        EDGE
    }
}

fn has_key(panel: &Panel) -> bool {
    panel.marks.iter().any(|m| matches!(m, Mark::Key(_)))
}

fn label_beside(mark: &Mark) -> Option<String> {
    match mark {
        Mark::Line { label, .. } | Mark::Across { label, .. } if !label.is_empty() => Some(label.clone()),
        _ => None,
    }
}

fn wrapped(text: &str, width: f64, measure: &impl Fn(&str) -> f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if measure(&format!("{line} {word}")) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Moves places apart until they are `step` from each other, inside `from` to `to` as far as there is room.
pub(super) fn spread(wanted: &[f64], step: f64, (from, to): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut out = wanted.to_vec();
    let mut least = from;
    for i in &order {
        out[*i] = out[*i].max(least);
        least = out[*i] + step;
    }
    let mut most = to;
    for i in order.iter().rev() {
        out[*i] = out[*i].min(most);
        most = out[*i] - step;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_touch() {
        assert_eq!(spread(&[50.0, 52.0, 10.0], 10.0, (0.0, 100.0)), [50.0, 60.0, 10.0]);
        assert_eq!(spread(&[99.0, 98.0], 10.0, (0.0, 100.0)), [100.0, 90.0]);
    }
}
