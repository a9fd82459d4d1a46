//! A picture before it is drawn: panels with axes and marks in the units of the data.

use super::axis::Axis;
use super::ink::Ink;

/// A picture: panels from top to bottom.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub title: String,
    /// What is shown, and of how many.
    pub subtitle: String,
    pub panels: Vec<Panel>,
    /// How to read it; below the panels.
    pub note: String,
    /// What hovering shows.
    pub spots: Vec<Spot>,
    /// The picture in a sentence, for those who do not see it.
    pub description: String,
}

/// One plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Panel {
    /// Height of the plot without its labels, in pixels.
    pub height: f64,
    pub x: Axis,
    pub y: Axis,
    /// Drawn in order.
    pub marks: Vec<Mark>,
}

/// Something drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mark {
    /// A line, interrupted where there is no value; its label stands beside its last point.
    Line { points: Vec<(f64, Option<f64>)>, ink: Ink, width: f64, dashed: bool, label: String },
    /// The whole height between two places; its label stands at the top.
    Band { from: f64, to: f64, label: String },
    /// Rectangles, `[left, right, bottom, top]`.
    Bars { bars: Vec<[f64; 4]>, ink: Ink, alpha: f64 },
    /// Single points.
    Dots { points: Vec<(f64, f64)>, ink: Ink, size: f64, alpha: f64 },
    /// The whole height at one place, its label at the foot.
    Upright { x: f64, ink: Ink, label: String },
    /// Places in ascending order, each with a line up to its label; the labels stand above each other at the top.
    Flags { at: Vec<(f64, String)>, ink: Ink },
    /// The whole width at one value; its label stands beside its end.
    Across { y: f64, ink: Ink, label: String },
    /// The head of an arrow at the end of a line: it goes on; two heads where it has no end.
    Arrow { x: f64, y: f64, way: Way, endless: bool, ink: Ink },
    /// Words.
    Words { x: f64, y: f64, text: String, ink: Ink, side: Side },
    /// What colours mean, in a row above the plot.
    Key(Vec<(Ink, String)>),
}

/// Where an arrow points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Left,
    Right,
    Up,
    Down,
}

/// Where words stand from their point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Right,
    Above,
    /// Where it touches no line, no dot and no other such words; left out where there is no such place.
    Free,
    /// The same before all others, and never left out.
    First,
}

/// A region that shows a text when pointed at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spot {
    /// Position of the panel; `None`: all of them, above each other.
    pub panel: Option<usize>,
    pub x: (f64, f64),
    /// `None`: the whole height.
    pub y: Option<(f64, f64)>,
    pub text: String,
}

impl Mark {
    /// A line of the usual width.
    pub(crate) fn line(points: Vec<(f64, Option<f64>)>, ink: Ink, label: &str) -> Mark {
        Mark::line_of_width(points, ink, 1.8, label)
    }

    pub(crate) fn line_of_width(points: Vec<(f64, Option<f64>)>, ink: Ink, width: f64, label: &str) -> Mark {
        Mark::Line { points, ink, width, dashed: false, label: label.to_string() }
    }
}
