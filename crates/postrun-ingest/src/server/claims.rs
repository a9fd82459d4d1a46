//! Which of several runs a recording of the server belongs to.
//!
//! A recording may hold several runs, one after the other: each gets it. But at one time only one run can have made what
//! it shows. Where the places of two runs overlap, the one whose requests are joined wins over one that a curve placed,
//! and of two curves the one that places [`CLEARLY`] times as well. Where neither does, neither gets the recording.

/// A run's claim to a stretch of a recording.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub run: usize,
    pub recording: usize,
    /// Start and end of the run on the recording's clock.
    pub window: (i64, i64),
    pub uncertainty_ns: i64,
    pub joined: bool,
}

/// A claim is clearly better where its uncertainty is so many times smaller.
const CLEARLY: i64 = 4;
/// Share of the shorter run by which two places must overlap to be rivals.
const OVERLAP: f64 = 0.1;

/// What became of a claim that does not stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Another run fits clearly better.
    ToBetter,
    /// Another run fits about as well.
    Tied,
}

/// Claims that do not stand: run, recording, why.
pub(crate) fn lost(claims: &[Claim]) -> Vec<(usize, usize, Lost)> {
    let mut out = Vec::new();
    for claim in claims {
        let rivals = claims.iter().filter(|other| other.recording == claim.recording && other.run != claim.run);
        let against = rivals.filter(|other| overlap(claim, other)).filter_map(|other| outcome(claim, other));
        if let Some(worst) = against.max_by_key(|lost| *lost == Lost::ToBetter) {
            out.push((claim.run, claim.recording, worst));
        }
    }
    out
}

fn outcome(claim: &Claim, other: &Claim) -> Option<Lost> {
    let better = |a: &Claim, b: &Claim| a.uncertainty_ns.max(1).saturating_mul(CLEARLY) <= b.uncertainty_ns;
    match (claim.joined, other.joined) {
        // Two clients at once, each with its own requests.
        (true, _) => None,
        (false, true) => Some(Lost::ToBetter),
        (false, false) if better(claim, other) => None,
        (false, false) if better(other, claim) => Some(Lost::ToBetter),
        (false, false) => Some(Lost::Tied),
    }
}

fn overlap(a: &Claim, b: &Claim) -> bool {
    let length = |w: (i64, i64)| w.1.saturating_sub(w.0);
    let both = length((a.window.0.max(b.window.0), a.window.1.min(b.window.1)));
    both as f64 > OVERLAP * length(a.window).min(length(b.window)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(run: usize, window: (i64, i64), uncertainty_ns: i64, joined: bool) -> Claim {
        Claim { run, recording: 0, window, uncertainty_ns, joined }
    }

    #[test]
    fn runs_one_after_the_other_share_a_recording_and_overlapping_ones_do_not() {
        let first = claim(0, (0, 100), 5, false);
        assert_eq!(lost(&[first.clone(), claim(1, (100, 200), 90, false)]), []);
        let worse = claim(1, (50, 150), 25, false);
        assert_eq!(lost(&[first.clone(), worse]), [(1, 0, Lost::ToBetter)]);
        let alike = claim(1, (50, 150), 8, false);
        assert_eq!(lost(&[first.clone(), alike]), [(0, 0, Lost::Tied), (1, 0, Lost::Tied)]);
        assert_eq!(lost(&[first, claim(1, (50, 150), 90, true)]), [(0, 0, Lost::ToBetter)]);
    }
}
