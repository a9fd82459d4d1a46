//! A row of small bars: a curve that fits a line of text.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// At most `width` bars for `values`, each the largest of the values it stands for; a gap where there is none.
pub(crate) fn spark(values: &[Option<f64>], width: usize) -> String {
    let per_bar = values.len().div_ceil(width.max(1)).max(1);
    let top = values.iter().flatten().copied().fold(0.0, f64::max);
    let bar = |chunk: &[Option<f64>]| match chunk.iter().flatten().copied().reduce(f64::max) {
        None => ' ',
        Some(v) if top <= 0.0 || v <= 0.0 => BARS[0],
        Some(v) => BARS[(((v / top) * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    values.chunks(per_bar).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_follow_values() {
        assert_eq!(spark(&[Some(0.0), Some(1.0), None, Some(8.0)], 10), "▁▁ █");
        assert_eq!(spark(&[Some(1.0), Some(8.0), Some(4.0), Some(4.0)], 2), "█▄");
    }
}
