//! Draws a figure on any plotters backend: the one place that knows how charts look.

use super::axis::Axis;
use super::error::ChartError;
use super::figure::{Figure, Mark, Panel, Side, Way};
use super::font::FAMILY;
use super::ink::{Ink, Theme};
use super::layout::{Frame, LABEL_ABOVE, LABEL_STEP, Layout, TEXT, TITLE, WIDTH, spread};
use super::words::{Drawn, End};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const DASH: f64 = 5.0;
/// A viewer's own font may be so much wider than the one that texts are measured in.
pub(super) const WIDER: f64 = 1.2;

/// A sheet to draw on: a backend with its scale and theme.
pub(super) struct Sheet<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    scale: f64,
    theme: Theme,
    /// How much lower texts are put: backends differ in what the middle of a line is.
    sink: f64,
}

/// How wide a text is, in unscaled pixels.
pub(super) fn measure(text: &str) -> f64 {
    // Measured large, since the result is a whole number of pixels.
    let wide = FontDesc::new(FontFamily::Name(FAMILY), TEXT * 10.0 * EM, FontStyle::Normal).box_size(text);
    wide.map_or(0.0, |(w, _)| f64::from(w) / 10.0)
}

/// plotters' size of a font is that of its line: so much more than the em.
const EM: f64 = 1.24;

impl<'a, DB: DrawingBackend> Sheet<'a, DB> {
    pub(super) fn new(area: &'a DrawingArea<DB, Shift>, (scale, sink): (f64, f64), theme: Theme) -> Self {
        Sheet { area, scale, theme, sink }
    }

    fn at(&self, (x, y): (f64, f64)) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }

    fn done<E: std::fmt::Display>(result: Result<(), E>) -> Result<(), ChartError> {
        result.map_err(|e| ChartError(e.to_string()))
    }

    fn rect(&self, f: Frame, ink: Ink, alpha: f64) -> Result<(), ChartError> {
        let corners = [self.at((f.left, f.top)), self.at((f.right, f.bottom))];
        Self::done(self.area.draw(&Rectangle::new(corners, ink.colour(self.theme).mix(alpha).filled())))
    }

    fn path(&self, points: &[(f64, f64)], ink: Ink, width: f64) -> Result<(), ChartError> {
        let style = ink.colour(self.theme).stroke_width((width * self.scale).round().max(1.0) as u32);
        let points: Vec<(i32, i32)> = points.iter().map(|p| self.at(*p)).collect();
        Self::done(self.area.draw(&PathElement::new(points, style)))
    }

    fn dashes(&self, points: &[(f64, f64)], ink: Ink, width: f64) -> Result<(), ChartError> {
        let mut along = 0.0;
        for pair in points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let length = (b.0 - a.0).hypot(b.1 - a.1);
            let on = |t: f64| (a.0 + (b.0 - a.0) * t / length, a.1 + (b.1 - a.1) * t / length);
            let mut from = 0.0;
            while from < length {
                let position: f64 = (along + from) % (2.0 * DASH);
                let left = if position < DASH { DASH - position } else { 2.0 * DASH - position };
                let to = (from + left.max(0.01)).min(length);
                if position < DASH {
                    self.path(&[on(from), on(to)], ink, width)?;
                }
                from = to;
            }
            along += length;
        }
        Ok(())
    }

    fn text(&self, text: &str, at: (f64, f64), ink: Ink, h: HPos, size: f64, bold: bool) -> Result<(), ChartError> {
        if text.is_empty() {
            return Ok(());
        }
        let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
        let font = FontDesc::new(FontFamily::Name(FAMILY), size * self.scale * EM, style);
        let colour = ink.colour(self.theme);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(h, VPos::Center));
        Self::done(self.area.draw(&Text::new(text.to_string(), self.at((at.0, at.1 + self.sink * size)), style)))
    }

    /// Draws all of it.
    pub(super) fn figure(&self, figure: &Figure, layout: &Layout) -> Result<(), ChartError> {
        let whole = Frame { left: 0.0, top: 0.0, right: WIDTH, bottom: layout.height };
        self.rect(whole, Ink::Surface, 1.0)?;
        let edge = Layout::edge();
        self.text(&figure.title, (edge, 18.0), Ink::Text, HPos::Left, TITLE, true)?;
        self.text(&figure.subtitle, (edge, 38.0), Ink::Muted, HPos::Left, TEXT, false)?;
        for (panel, frame) in figure.panels.iter().zip(&layout.plots) {
            self.panel(panel, *frame)?;
        }
        for (i, line) in layout.note.iter().enumerate() {
            self.text(line, (edge, layout.note_y(i)), Ink::Muted, HPos::Left, TEXT, false)?;
        }
        Self::done(self.area.present())
    }

    fn panel(&self, panel: &Panel, f: Frame) -> Result<(), ChartError> {
        for mark in panel.marks.iter().filter(|m| matches!(m, Mark::Band { .. })) {
            self.mark(mark, panel, f)?;
        }
        self.axes(panel, f)?;
        for mark in panel.marks.iter().filter(|m| !matches!(m, Mark::Band { .. })) {
            self.mark(mark, panel, f)?;
        }
        self.free_words(panel, f)?;
        self.labels_beside(panel, f)
    }

    fn axes(&self, panel: &Panel, f: Frame) -> Result<(), ChartError> {
        for (v, text) in &panel.y.ticks {
            let y = f.y(panel.y.place(*v));
            if panel.y.grid {
                self.path(&[(f.left, y), (f.right, y)], Ink::Grid, 0.8)?;
            }
            self.text(text, (f.left - 7.0, y), Ink::Muted, HPos::Right, TEXT, false)?;
        }
        for (v, text) in &panel.x.ticks {
            let x = f.x(panel.x.place(*v));
            if panel.x.grid {
                self.path(&[(x, f.top), (x, f.bottom)], Ink::Grid, 0.8)?;
            }
            self.path(&[(x, f.bottom), (x, f.bottom + 4.0)], Ink::Muted, 0.8)?;
            self.text(text, (x, f.bottom + 12.0), Ink::Muted, HPos::Center, TEXT, false)?;
        }
        self.path(&[(f.left, f.bottom), (f.right, f.bottom)], Ink::Muted, 0.8)?;
        let ticks = if panel.x.ticks.iter().any(|(_, t)| !t.is_empty()) { 28.0 } else { 12.0 };
        self.text(&panel.x.label, (f.right, f.bottom + ticks), Ink::Text, HPos::Right, TEXT, false)?;
        self.text(&panel.y.label, (Layout::edge(), f.top - LABEL_ABOVE), Ink::Text, HPos::Left, TEXT, true)
    }

    fn mark(&self, mark: &Mark, panel: &Panel, f: Frame) -> Result<(), ChartError> {
        let (x, y) = (|v: f64| f.x(panel.x.place(v)), |v: f64| f.y(panel.y.place(v)));
        match mark {
            Mark::Line { points, ink, width, dashed, .. } => self.line(points, (&x, &y), *ink, *width, *dashed),
            Mark::Band { from, to, label } => {
                let band = Frame { left: x(*from), right: x(*to), ..f };
                self.rect(band, Ink::Shade, 1.0)?;
                let fits = measure(label) + 6.0 < band.right - band.left;
                let label = if fits { label } else { "" };
                self.text(label, ((band.left + band.right) / 2.0, f.top + 9.0), Ink::Muted, HPos::Center, TEXT, false)
            }
            Mark::Bars { bars, ink, alpha } => {
                for [left, right, bottom, top] in bars {
                    let bar = Frame { left: x(*left), right: x(*right), top: y(*top), bottom: y(*bottom) };
                    if bar.right > bar.left && bar.bottom > bar.top {
                        self.rect(Frame { right: bar.right.max(bar.left + 0.7), ..bar }, *ink, *alpha)?;
                    }
                }
                Ok(())
            }
            Mark::Dots { points, ink, size, alpha } => {
                let style = ink.colour(self.theme).mix(*alpha).filled();
                for (px, py) in points {
                    let radius = (size * self.scale).round().max(1.0) as i32;
                    Self::done(self.area.draw(&Circle::new(self.at((x(*px), y(*py))), radius, style)))?;
                }
                Ok(())
            }
            Mark::Upright { x: at, ink, label } => {
                let at = x(*at);
                self.path(&[(at, f.top), (at, f.bottom)], *ink, 1.2)?;
                let (h, to) = if at > f.x(0.7) { (HPos::Right, at - 4.0) } else { (HPos::Left, at + 4.0) };
                self.text(label, (to, f.bottom - 9.0), *ink, h, TEXT, false)
            }
            Mark::Arrow { x: px, y: py, way, endless, ink } => self.arrow((x(*px), y(*py)), *way, *endless, *ink),
            Mark::Flags { at, ink } => self.flags(at, *ink, panel, f),
            Mark::Across { y: at, ink, .. } => self.dashes(&[(f.left, y(*at)), (f.right, y(*at))], *ink, 1.2),
            Mark::Words { x: px, y: py, text, ink, side } => {
                let (h, dx, dy) = match side {
                    Side::Right => (HPos::Left, 5.0, 0.0),
                    Side::Above => (HPos::Center, 0.0, -11.0),
                    Side::Free | Side::First => return Ok(()),
                };
                self.text(text, (x(*px) + dx, y(*py) + dy), *ink, h, TEXT, false)
            }
            Mark::Key(entries) => self.key(entries, panel, f),
        }
    }

    /// Its tip lies at the point, a second head behind it.
    fn arrow(&self, (x, y): (f64, f64), way: Way, endless: bool, ink: Ink) -> Result<(), ChartError> {
        const HEAD: f64 = 5.0;
        let (dx, dy) = match way {
            Way::Left => (-1.0, 0.0),
            Way::Right => (1.0, 0.0),
            Way::Up => (0.0, -1.0),
            Way::Down => (0.0, 1.0),
        };
        for k in 0..1 + usize::from(endless) {
            let back = HEAD * k as f64;
            let tip = (x - dx * back, y - dy * back);
            let wing = |side: f64| (tip.0 - HEAD * (dx + side * dy * 0.9), tip.1 - HEAD * (dy + side * dx * 0.9));
            self.path(&[wing(1.0), tip, wing(-1.0)], ink, 1.4)?;
        }
        Ok(())
    }

    /// Lines up to their labels, which stand to the right of them, or all to the left where the last has no room. So that
    /// no line goes through a label, each ends below the one whose label could reach it.
    fn flags(&self, at: &[(f64, String)], ink: Ink, panel: &Panel, f: Frame) -> Result<(), ChartError> {
        let place = |(at, label): &(f64, String)| (f.x(panel.x.place(*at)), measure(label) * WIDER + 5.0);
        let leftwards = at.last().map(place).is_some_and(|(x, wide)| x + wide > f.right);
        for (i, flag) in at.iter().enumerate() {
            let row = if leftwards { at.len() - 1 - i } else { i };
            let ((x, wide), y) = (place(flag), f.top + 7.0 + row as f64 * LABEL_STEP);
            self.path(&[(x, y - 6.0), (x, f.bottom)], ink, 1.2)?;
            let left = leftwards && x - wide > f.left;
            let (h, to) = if left { (HPos::Right, x - 5.0) } else { (HPos::Left, x + 5.0) };
            self.text(&flag.1, (to, y), ink, h, TEXT, false)?;
        }
        Ok(())
    }

    /// Words that stand where there is room, those that must stand first.
    fn free_words(&self, panel: &Panel, f: Frame) -> Result<(), ChartError> {
        let wanted = |which: Side| {
            panel.marks.iter().filter_map(move |mark| match mark {
                Mark::Words { x, y, text, ink, side } if *side == which => {
                    Some((*x, *y, text, *ink, which == Side::First))
                }
                _ => None,
            })
        };
        let mut words = wanted(Side::First).chain(wanted(Side::Free)).peekable();
        if words.peek().is_none() {
            return Ok(());
        }
        let mut drawn = Drawn::of(panel, f);
        for (x, y, text, ink, must) in words {
            let point = (f.x(panel.x.place(x)), f.y(panel.y.place(y)));
            if let Some(placed) = drawn.place(point, measure(text) * WIDER, must) {
                let h = match placed.end {
                    End::Left => HPos::Left,
                    End::Middle => HPos::Center,
                    End::Right => HPos::Right,
                };
                self.text(text, placed.at, ink, h, TEXT, false)?;
            }
        }
        Ok(())
    }

    fn key(&self, entries: &[(Ink, String)], panel: &Panel, f: Frame) -> Result<(), ChartError> {
        let mut left = match panel.y.label.as_str() {
            "" => f.left,
            label => (Layout::edge() + measure(label) * WIDER + 14.0).max(f.left),
        };
        for (ink, text) in entries {
            let swatch =
                Frame { left, right: left + 10.0, top: f.top - LABEL_ABOVE - 5.0, bottom: f.top - LABEL_ABOVE + 5.0 };
            self.rect(swatch, *ink, 1.0)?;
            self.text(text, (left + 14.0, f.top - LABEL_ABOVE), Ink::Text, HPos::Left, TEXT, false)?;
            left += 14.0 + measure(text) * WIDER + 14.0;
        }
        Ok(())
    }

    fn line(
        &self,
        points: &[(f64, Option<f64>)],
        (x, y): (&dyn Fn(f64) -> f64, &dyn Fn(f64) -> f64),
        ink: Ink,
        width: f64,
        dashed: bool,
    ) -> Result<(), ChartError> {
        for part in points.split(|(_, v)| v.is_none()) {
            let path: Vec<(f64, f64)> = part.iter().filter_map(|(at, v)| Some((x(*at), y((*v)?)))).collect();
            match path.as_slice() {
                [] => {}
                // A value between two gaps would not be seen as a line.
                [(px, py)] => self.path(&[(px - 2.0, *py), (px + 2.0, *py)], ink, width + 0.8)?,
                path if dashed => self.dashes(path, ink, width)?,
                path => self.path(path, ink, width)?,
            }
        }
        Ok(())
    }

    /// Labels of lines, beside their last points, moved apart.
    fn labels_beside(&self, panel: &Panel, f: Frame) -> Result<(), ChartError> {
        let mut labels: Vec<(f64, &str, Ink)> = Vec::new();
        for mark in &panel.marks {
            match mark {
                Mark::Line { points, ink, label, .. } if !label.is_empty() => {
                    let last = points.iter().rev().find_map(|(_, v)| *v);
                    labels.extend(last.map(|v| (f.y(place(&panel.y, v)), label.as_str(), *ink)));
                }
                Mark::Across { y, ink, label } if !label.is_empty() => {
                    labels.push((f.y(place(&panel.y, *y)), label.as_str(), *ink));
                }
                _ => {}
            }
        }
        let wanted: Vec<f64> = labels.iter().map(|l| l.0).collect();
        let places = spread(&wanted, LABEL_STEP, (f.top, f.bottom));
        for ((_, label, ink), y) in labels.into_iter().zip(places) {
            self.text(label, (f.right + 8.0, y), ink, HPos::Left, TEXT, false)?;
        }
        Ok(())
    }
}

fn place(axis: &Axis, v: f64) -> f64 {
    axis.place(v)
}
