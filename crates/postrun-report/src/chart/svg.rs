//! A figure as SVG: drawn at a quarter of a pixel, with names for screen readers, texts to hover, and a dark variant.

use super::error::ChartError;
use super::figure::{Figure, Spot};
use super::font;
use super::ink::{Theme, dark_rules};
use super::layout::{Frame, Layout, WIDTH};
use super::render::{Sheet, measure};
use crate::markup::escape;
use plotters::prelude::*;

/// Units of the drawing in a pixel: plotters' coordinates are whole numbers.
const SCALE: f64 = 4.0;

/// Where a picture will stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// In a file of its own, which brings its dark colours.
    File,
    /// In a page that has the rules for dark colours; `id` is unique in it.
    Page { id: &'a str },
}

pub(crate) fn to_svg(figure: &Figure, place: Place<'_>) -> Result<String, ChartError> {
    font::register()?;
    let layout = Layout::of(figure, measure);
    let size = ((WIDTH * SCALE) as u32, (layout.height * SCALE) as u32);
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        Sheet::new(&area, (SCALE, 0.0), Theme::Light).figure(figure, &layout)?;
    }
    let body = drawn.split_once(">\n").map_or("", |(_, body)| body).trim_end().trim_end_matches("</svg>");
    // plotters breaks lines inside of texts.
    let body =
        body.replace(">\n", ">").replace("\n</text>", "</text>").replace(" \"/>", "\"/>").replace(" opacity=\"1\"", "");
    let spots: String = figure.spots.iter().map(|s| spot(s, figure, &layout)).collect();
    let id = if let Place::Page { id } = place { id } else { "chart" };
    let (w, h) = size;
    let attributes = match place {
        Place::File => format!("width=\"{}\" height=\"{}\"", WIDTH, layout.height),
        Place::Page { .. } => "class=\"chart\"".to_string(),
    };
    let style = match place {
        Place::File => {
            format!("<style>@media (prefers-color-scheme:dark){{{}}}</style>", dark_rules("svg"))
        }
        Place::Page { .. } => String::new(),
    };
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" {attributes} role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{style}{body}\
         <g fill-opacity=\"0\">{spots}</g></svg>\n",
        escape(&figure.title),
        escape(&figure.description),
    ))
}

fn spot(spot: &Spot, figure: &Figure, layout: &Layout) -> String {
    let (first, last) = match spot.panel {
        Some(panel) => (panel, panel),
        None => (0, figure.panels.len().saturating_sub(1)),
    };
    let (Some(panel), Some(top), Some(bottom)) =
        (figure.panels.get(first), layout.plots.get(first), layout.plots.get(last))
    else {
        return String::new();
    };
    let whole = Frame { bottom: bottom.bottom, ..*top };
    let (x0, x1) = (top.x(panel.x.place(spot.x.0)), top.x(panel.x.place(spot.x.1)));
    let (y0, y1) = match spot.y {
        Some((low, high)) => (top.y(panel.y.place(high)), top.y(panel.y.place(low))),
        None => (whole.top, whole.bottom),
    };
    let n = |v: f64| (v * SCALE).round() as i64;
    format!(
        "<rect class=\"spot\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
        n(x0),
        n(y0),
        n((x1 - x0).max(1.5)),
        n((y1 - y0).max(1.5)),
        escape(&spot.text)
    )
}
