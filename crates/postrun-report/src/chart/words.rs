//! Where the words beside points stand, so that they touch no line, no dot and no other words. In pixels.

use super::figure::{Mark, Panel};
use super::layout::{Frame, LABEL_STEP};

/// From a point to the words beside it, and to the middle of those above or below it.
const BESIDE: f64 = 8.0;
const ABOVE: f64 = 12.0;
/// Half of a line of words.
const HALF: f64 = LABEL_STEP / 2.0;

/// What of words stands at their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Left,
    Middle,
    Right,
}

/// Words with their place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed {
    pub at: (f64, f64),
    pub end: End,
}

/// What is drawn already.
pub(super) struct Drawn {
    frame: Frame,
    segments: Vec<[(f64, f64); 2]>,
    dots: Vec<Frame>,
    words: Vec<Frame>,
}

impl Drawn {
    /// Lines and dots of a panel. Only so few points have words that every one of them can be asked for each.
    pub(super) fn of(panel: &Panel, frame: Frame) -> Drawn {
        let at = |x: f64, y: f64| (frame.x(panel.x.place(x)), frame.y(panel.y.place(y)));
        let mut drawn = Drawn { frame, segments: Vec::new(), dots: Vec::new(), words: Vec::new() };
        for mark in &panel.marks {
            match mark {
                Mark::Line { points, .. } => {
                    let ends =
                        |pair: &[(f64, Option<f64>)]| Some([at(pair[0].0, pair[0].1?), at(pair[1].0, pair[1].1?)]);
                    drawn.segments.extend(points.windows(2).filter_map(ends));
                }
                Mark::Dots { points, size, .. } => {
                    let dot = |(x, y): &(f64, f64)| {
                        let (x, y) = at(*x, *y);
                        Frame { left: x - size, right: x + size, top: y - size, bottom: y + size }
                    };
                    drawn.dots.extend(points.iter().map(dot));
                }
                _ => {}
            }
        }
        drawn
    }

    /// A place for words of this width beside a point, best first: above, below, to the sides. `None` where each touches
    /// something, unless they `must` stand.
    pub(super) fn place(&mut self, (x, y): (f64, f64), width: f64, must: bool) -> Option<Placed> {
        let near = 0.6 * BESIDE;
        let places = [
            (x, y - ABOVE, End::Middle),
            (x, y + ABOVE, End::Middle),
            (x - near, y - ABOVE, End::Right),
            (x + near, y - ABOVE, End::Left),
            (x + near, y + ABOVE, End::Left),
            (x - near, y + ABOVE, End::Right),
            (x + BESIDE, y, End::Left),
            (x - BESIDE, y, End::Right),
        ];
        let candidates = places.map(|(x, y, end)| {
            let left = match end {
                End::Left => x,
                End::Middle => x - width / 2.0,
                End::Right => x - width,
            };
            (Placed { at: (x, y), end }, Frame { left, right: left + width, top: y - HALF, bottom: y + HALF })
        });
        let free = candidates.iter().find(|(_, words)| self.touches(words) == 0);
        let (placed, words) = match free {
            Some(found) => *found,
            None if must => *candidates.iter().min_by_key(|(_, words)| self.touches(words))?,
            None => return None,
        };
        self.words.push(words);
        Some(placed)
    }

    /// How many things these words would touch; what sticks out of the plot touches many.
    fn touches(&self, words: &Frame) -> usize {
        const OUTSIDE: usize = 100;
        let f = &self.frame;
        let inside = words.left >= f.left && words.right <= f.right && words.top >= f.top && words.bottom <= f.bottom;
        let overlap =
            |o: &&Frame| o.left < words.right && words.left < o.right && o.top < words.bottom && words.top < o.bottom;
        let frames = self.dots.iter().chain(&self.words).filter(overlap).count();
        let segments = self.segments.iter().filter(|s| crosses(s, words)).count();
        frames + segments + if inside { 0 } else { OUTSIDE }
    }
}

/// True if a line from one point to another has a part inside (the method of Liang and Barsky).
fn crosses([(x0, y0), (x1, y1)]: &[(f64, f64); 2], f: &Frame) -> bool {
    let (dx, dy) = (x1 - x0, y1 - y0);
    let (mut enter, mut leave) = (0.0f64, 1.0f64);
    for (p, q) in [(-dx, x0 - f.left), (dx, f.right - x0), (-dy, y0 - f.top), (dy, f.bottom - y0)] {
        if p == 0.0 && q < 0.0 {
            return false;
        }
        if p < 0.0 {
            enter = enter.max(q / p);
        } else if p > 0.0 {
            leave = leave.min(q / p);
        }
    }
    enter <= leave
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Frame = Frame { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 };

    fn drawn(segments: Vec<[(f64, f64); 2]>) -> Drawn {
        Drawn { frame: PLOT, segments, dots: Vec::new(), words: Vec::new() }
    }

    #[test]
    fn lines_cross_frames() {
        let f = Frame { left: 10.0, top: 10.0, right: 20.0, bottom: 20.0 };
        assert!(crosses(&[(0.0, 15.0), (30.0, 15.0)], &f) && crosses(&[(15.0, 0.0), (15.0, 12.0)], &f));
        assert!(crosses(&[(12.0, 12.0), (13.0, 13.0)], &f) && crosses(&[(0.0, 8.0), (30.0, 22.0)], &f));
        assert!(!crosses(&[(0.0, 5.0), (30.0, 5.0)], &f) && !crosses(&[(0.0, 15.0), (5.0, 15.0)], &f));
        assert!(!crosses(&[(0.0, 0.0), (30.0, 5.0)], &f) && !crosses(&[(25.0, 0.0), (25.0, 30.0)], &f));
    }

    #[test]
    fn words_stand_where_nothing_is() {
        let middle = (100.0, 50.0);
        assert_eq!(drawn(vec![]).place(middle, 40.0, false), Some(Placed { at: (100.0, 38.0), end: End::Middle }));
        // A line that rises from the point leaves no room above it.
        let steep = vec![[(0.0, 52.0), middle], [middle, (104.0, 0.0)]];
        let below = drawn(steep.clone()).place(middle, 40.0, false);
        assert_eq!(below.map(|p| p.at), Some((100.0, 62.0)));
        // At the top of the plot there is none either. Two never share a place: the second goes without, or stands elsewhere.
        let mut two = drawn(vec![]);
        assert_eq!(two.place((100.0, 3.0), 40.0, false).map(|p| p.at), Some((100.0, 15.0)));
        assert_eq!(two.place((102.0, 3.0), 40.0, false), None);
        assert_eq!(two.place((120.0, 3.0), 40.0, false).map(|p| p.at), Some((124.8, 15.0)));
    }

    #[test]
    fn words_without_room_are_left_out_unless_they_must_stand() {
        let full: Vec<[(f64, f64); 2]> =
            (0..50).map(|i| [(0.0, f64::from(i) * 2.0), (200.0, f64::from(i) * 2.0)]).collect();
        assert_eq!(drawn(full.clone()).place((100.0, 50.0), 40.0, false), None);
        assert!(drawn(full).place((100.0, 50.0), 40.0, true).is_some());
    }
}
