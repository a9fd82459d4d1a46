//! How much runs of one configuration differ, from earlier repeats of it.

use crate::stats::student::student;
use postrun_analysis::RunAnalysis;

/// Figures whose noise is looked at.
const FIGURES: [(&str, &str); 5] =
    [("ttft_ms", "p50"), ("ttft_ms", "p95"), ("tpot_ms", "p50"), ("e2e_ms", "p95"), ("output_tokens_per_s", "value")];
/// Fewer repeats say nothing of their spread.
const FEWEST: usize = 3;

/// By how much two runs may differ with 95 % probability, as a share: the largest over latencies and throughput. Student's t of
/// the spread of logarithms, times √2 for two runs. `None` from fewer than three repeats.
pub fn noise_of_repeats(runs: &[RunAnalysis]) -> Option<f64> {
    let of = |(metric, stat): &(&str, &str)| -> Option<f64> {
        let value = |r: &RunAnalysis| match *stat {
            "value" => r.value(metric),
            stat => r.metric(metric)?.stat(stat),
        };
        let values: Option<Vec<f64>> = runs.iter().map(|r| value(r).filter(|v| *v > 0.0)).collect();
        spread_of_two(&values?)
    };
    FIGURES.iter().filter_map(of).reduce(f64::max)
}

fn spread_of_two(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let mean = values.iter().map(|v| v.ln()).sum::<f64>() / n as f64;
    let squares = values.iter().map(|v| (v.ln() - mean).powi(2)).sum::<f64>();
    let spread = (squares / (n - 1) as f64).sqrt();
    Some((student(n - 1) * spread * std::f64::consts::SQRT_2).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_show_their_noise() {
        assert_eq!(spread_of_two(&[10.0, 11.0]), None);
        assert_eq!(spread_of_two(&[10.0; 4]), Some(0.0));
        // Logarithms -0.1, 0, 0.1: their spread is 0.1, and t of 2 degrees of freedom 4.303.
        let noise = spread_of_two(&[(-0.1f64).exp(), 1.0, 0.1f64.exp()]).unwrap();
        assert!((noise - (4.303 * 0.1 * 2f64.sqrt()).exp_m1()).abs() < 1e-9, "{noise}");
    }
}
