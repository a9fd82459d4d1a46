//! When requests were sent: the times between sends, their rate and how uneven they are.

use crate::requests::Requests;
use crate::summary::Summary;
use crate::window::Window;

/// The sends of one part of a run.
pub(crate) struct Arrivals {
    /// How many requests were sent.
    pub sends: u64,
    /// Nanoseconds from each send to the next, in no order.
    gaps: Vec<f64>,
}

impl Arrivals {
    /// Of the measured requests, however they ended; `None`: no send time is known.
    pub(crate) fn of(requests: &Requests, window: Option<Window>) -> Option<Arrivals> {
        let known = (0..requests.len()).filter(|i| requests.measured[*i]).filter_map(|i| requests.sent_ns[i]);
        let mut sends: Vec<i64> = known.filter(|at| window.is_none_or(|w| w.contains(*at))).collect();
        if sends.is_empty() {
            return None;
        }
        sends.sort_unstable();
        let gaps = sends.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        Some(Arrivals { sends: sends.len() as u64, gaps })
    }

    /// The distribution of the times between sends; `None` with a single send.
    pub(crate) fn summary(&self, percentiles: &[f64]) -> Option<Summary> {
        Summary::of(&mut self.gaps.clone(), percentiles)
    }

    /// Sends a second.
    pub(crate) fn per_s(&self) -> Option<f64> {
        let length: f64 = self.gaps.iter().sum();
        (length > 0.0).then(|| self.gaps.len() as f64 / (length / 1e9))
    }

    /// Spread over mean of the times between sends; a single one has no spread.
    pub(crate) fn variation(&self) -> Option<f64> {
        let gaps = self.summary(&[]).filter(|s| s.count > 1 && s.mean > 0.0)?;
        Some(gaps.std / gaps.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::Outcome;

    fn sent(at_s: &[i64]) -> Requests {
        let n = at_s.len();
        Requests {
            measured: vec![true; n],
            status: vec![Outcome::Failed; n],
            sent_ns: at_s.iter().map(|s| Some(s * 1_000_000_000)).collect(),
            ..Requests::default()
        }
    }

    #[test]
    fn on_paper() {
        // Sorted: 0, 1, 2, 7. Gaps 1, 1, 5: mean 7/3, variance 32/9.
        let arrivals = Arrivals::of(&sent(&[2, 0, 7, 1]), None).unwrap();
        assert_eq!((arrivals.sends, arrivals.per_s()), (4, Some(3.0 / 7.0)));
        let cv = arrivals.variation().unwrap();
        assert!((cv - (32.0f64).sqrt() / 7.0).abs() < 1e-12, "{cv}");
        assert_eq!(arrivals.summary(&[50.0]).unwrap().stat("p50"), Some(1e9));
        let late = Window { start_ns: 1_000_000_000, end_ns: 3_000_000_000 };
        let some = Arrivals::of(&sent(&[2, 0, 7, 1]), Some(late)).unwrap();
        assert_eq!((some.sends, some.per_s(), some.variation()), (2, Some(1.0), None));
    }

    #[test]
    fn too_few_sends_have_no_rate() {
        assert!(Arrivals::of(&sent(&[]), None).is_none());
        let one = Arrivals::of(&sent(&[5]), None).unwrap();
        assert_eq!((one.sends, one.per_s(), one.variation(), one.summary(&[]).is_none()), (1, None, None, true));
        let at_once = Arrivals::of(&sent(&[5, 5, 5]), None).unwrap();
        assert_eq!((at_once.per_s(), at_once.variation()), (None, None));
        assert_eq!(at_once.summary(&[]).map(|s| (s.count, s.max)), Some((2, 0.0)));
    }
}
