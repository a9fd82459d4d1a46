//! Comparisons and trends as text for a terminal and as Markdown.

use crate::diff_sections::of_diff;
use crate::markdown::to_markdown_text;
use crate::section::Section;
use crate::terminal::{Look, to_text};
use crate::trend_section::of_trend;
use postrun_diff::{Breach, NotJudged, RunDiff, Trend};

/// Columns that curves are drawn for.
const WIDTH: u16 = 100;

/// A comparison as text that ends in a line break; `breaches` of limits, and limits that were not judged.
pub fn diff_to_table(diff: &RunDiff, breaches: &[Breach], not_judged: &[NotJudged], look: Look) -> String {
    to_text(&sections(diff, breaches, not_judged), look)
}

/// A comparison for a pull request.
pub fn diff_to_markdown(diff: &RunDiff, breaches: &[Breach], not_judged: &[NotJudged]) -> String {
    to_markdown_text("postrun diff", &sections(diff, breaches, not_judged))
}

fn sections(diff: &RunDiff, breaches: &[Breach], not_judged: &[NotJudged]) -> Vec<Section> {
    of_diff(diff, breaches, not_judged).into_iter().map(|(_, section)| section).collect()
}

/// A trend as text that ends in a line break.
pub fn trend_to_table(trend: &Trend, look: Look) -> String {
    to_text(&of_trend(trend, look.width), look)
}

/// A trend for a pull request.
pub fn trend_to_markdown(trend: &Trend) -> String {
    to_markdown_text("postrun trend", &of_trend(trend, WIDTH))
}
