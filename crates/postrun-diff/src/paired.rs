//! Requests of both runs in pairs, where both sent the same ones.
//!
//! Of each per-request metric the geometric means over the pairs are compared, as the statistic `paired`: their ratio is
//! what the change did to a typical request, whatever its length. The spread of the pairs' own ratios decides how sure it is.

use crate::figures::{Cut, FEWEST, Found, Key};
use crate::side::SideRun;
use crate::stats::figure::{Figure, Sums};
use crate::verdict::Reason;

/// Base and candidate by metric.
pub(crate) fn paired(base: &SideRun, candidate: &SideRun, stretches: usize) -> Vec<[Found; 2]> {
    let (a, b) = (&base.samples, &candidate.samples);
    let cut = Cut { rows: a.ok.len(), stretches };
    let both = a.metrics.iter().filter_map(|(metric, x)| {
        let (_, y) = b.metrics.iter().find(|(id, _)| id == metric)?;
        let known: Vec<usize> = (0..x.len().min(y.len())).filter(|i| x[*i] > 0.0 && y[*i] > 0.0).collect();
        (!known.is_empty()).then(|| [x, y].map(|column| typical(metric, column, &known, &cut)))
    });
    both.collect()
}

fn typical(metric: &'static str, column: &[f64], pairs: &[usize], cut: &Cut) -> Found {
    let mut sums = Sums::new(cut.stretches);
    pairs.iter().for_each(|i| sums.add(cut.stretch(*i), column[*i].ln(), 1.0));
    let n = pairs.len();
    let value = (pairs.iter().map(|i| column[*i].ln()).sum::<f64>() / n as f64).exp();
    // A deviation of the logarithm by one is a deviation by the value itself.
    let in_unit = |f: Figure| Figure { value, adds: f.adds.iter().map(|a| a * value).collect(), ..f };
    let figure = match n >= FEWEST {
        true => sums.ratio(n as f64).map(in_unit).ok_or(Reason::NotANumber),
        false => Err(Reason::TooFewRequests),
    };
    Found { key: Key { metric, stat: "paired".to_string(), bucket: None }, value, count: n as u64, figure }
}
