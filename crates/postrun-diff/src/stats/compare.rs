//! The change of every figure between two sides, with intervals that hold for all of them together.

use super::block;
use super::figure::{Figure, Scale};
use super::joint::{self, Adds};

/// One figure on both sides, one value a run.
pub(crate) struct Pair {
    pub base: Vec<Figure>,
    pub candidate: Vec<Figure>,
    pub scale: Scale,
    /// Counted among the comparisons that hold together; else only drawn, with the width that these need.
    pub tested: bool,
    /// Which comparisons are corrected together.
    pub family: usize,
    /// Its series decides how long blocks are.
    pub sets_length: bool,
    /// It contains the wait for a server that may not keep up.
    pub waits: bool,
    /// It has a course of its own, whatever the others do.
    pub own_course: bool,
}

/// The change of a figure on the scale of comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    pub change: f64,
    pub low: f64,
    pub high: f64,
    /// Standard error of the change.
    pub spread: f64,
    /// It does not settle within the run: the interval is that of a random walk.
    pub drifts: bool,
}

/// What was decided for all comparisons.
pub(crate) struct Joint {
    pub changes: Vec<Change>,
    /// Stretches in a block.
    pub length: usize,
    /// Spreads that an interval reaches, by family.
    pub critical: Vec<f64>,
}

/// What a side adds by stretch on the scale of comparison, the mean of its runs.
fn adds(runs: &[Figure], scale: Scale) -> Adds {
    let stretches = runs.iter().map(|f| f.adds.len()).min().unwrap_or(0);
    let n = runs.len().max(1) as f64;
    let mut out = vec![0.0; stretches];
    for figure in runs {
        let slope = figure.slope(scale) / n;
        out.iter_mut().zip(&figure.adds).for_each(|(sum, a)| *sum += a * slope);
    }
    out
}

fn value(runs: &[Figure], scale: Scale) -> f64 {
    runs.iter().map(|f| scale.of(f.value)).sum::<f64>() / runs.len().max(1) as f64
}

/// How far below and above a side may be off.
fn reach(runs: &[Figure], scale: Scale, length: usize, critical: f64) -> (f64, f64) {
    let n = runs.len().max(1) as f64;
    let (mut down, mut up) = (0.0, 0.0);
    for figure in runs {
        let by = critical * joint::spread(&figure.adds, length);
        let (d, u) = figure.reach(scale, by);
        down += d * d;
        up += u * u;
    }
    (down.sqrt() / n, up.sqrt() / n)
}

/// Compares all pairs; each family holds with its level.
pub(crate) fn compare(pairs: &[Pair], levels: &[f64]) -> Joint {
    let sides: Vec<(Adds, Adds)> =
        pairs.iter().map(|p| (adds(&p.base, p.scale), adds(&p.candidate, p.scale))).collect();
    let differences: Vec<Adds> = sides.iter().map(|(a, b)| a.iter().zip(b).map(|(a, b)| b - a).collect()).collect();
    // A queue that grows shows in one of the sides, even where the difference is too noisy to show it.
    let own = |(d, (a, b)): (&Adds, &(Adds, Adds))| block::wanders(d) || block::wanders(a) || block::wanders(b);
    let mut wandering: Vec<bool> = differences.iter().zip(&sides).map(own).collect();
    let wait = pairs.iter().zip(&wandering).any(|(p, w)| p.waits && p.sets_length && *w);
    pairs
        .iter()
        .zip(&mut wandering)
        .for_each(|(p, w)| *w = if p.waits { wait } else { *w && (p.sets_length || p.own_course) });
    let deciding = pairs.iter().zip(&differences).zip(&wandering).filter(|((p, _), w)| p.sets_length && !**w);
    let length = joint::common_length(deciding.map(|((_, d), _)| d.as_slice()));
    let stretches = differences.first().map_or(1, Vec::len);
    let length = block::at_least(length, stretches);
    let long = (stretches / block::LONG_BLOCKS).max(length);
    let tested = pairs.iter().zip(&differences).filter(|(p, _)| p.tested);
    let (families, tested): (Vec<usize>, Vec<Adds>) = tested.map(|(p, d)| (p.family, d.clone())).unzip();
    let critical = joint::critical(&tested, &families, levels, length);
    let change = |i: usize| {
        let (pair, (a, b), difference) = (&pairs[i], &sides[i], &differences[i]);
        let spread = joint::spread(difference, length).max(joint::spread(difference, long));
        let wider = match wandering[i] && spread > 0.0 {
            true => (block::wandering_spread(difference) / spread).max(1.0),
            false => 1.0,
        };
        let c = wider * critical.get(pair.family).copied().unwrap_or(f64::INFINITY);
        let (sa, sb) = (joint::spread(a, length), joint::spread(b, length));
        let together = if sa > 0.0 && sb > 0.0 { (sa * sa + sb * sb - spread * spread) / (2.0 * sa * sb) } else { 0.0 };
        let (a_down, a_up) = reach(&pair.base, pair.scale, length, c);
        let (b_down, b_up) = reach(&pair.candidate, pair.scale, length, c);
        let both = |x: f64, y: f64| match x.is_finite() && y.is_finite() {
            true => (x * x + y * y - 2.0 * together.clamp(-1.0, 1.0) * x * y).max(0.0).sqrt(),
            false => f64::INFINITY,
        };
        let change = value(&pair.candidate, pair.scale) - value(&pair.base, pair.scale);
        let (low, high) = (change - both(b_down, a_up), change + both(b_up, a_down));
        Change { change, low, high, spread: spread * wider, drifts: wandering[i] }
    };
    let changes = (0..pairs.len()).map(change).collect();
    Joint { changes, length, critical }
}
