//! First tokens later than the end of their request: of few requests an oddity, of most of them another unit.

use postrun_schema::{IssueCode, Issues, RequestRow, Status};

/// Closer than this the two are the same instant, rounded apart.
const ROUNDING_NS: i64 = 1_000;
/// A first token this many times later than the end is no matter of rounding or of when a clock was read.
const FAR_BEHIND: i64 = 2;

/// Is this first token later than the end?
pub(crate) fn is_late(ttft_ns: i64, end_ns: i64) -> bool {
    ttft_ns - end_ns > ROUNDING_NS
}

/// Counts of the requests of which both are known.
#[derive(Debug, Default)]
pub(crate) struct FirstTokens {
    timed: u64,
    late: u64,
    far: u64,
    /// The first late one: where, and what.
    first: Option<(String, String)>,
}

impl FirstTokens {
    /// Looks at one request that succeeded.
    pub(crate) fn look(&mut self, ttft_ns: i64, end_ns: i64, place: impl FnOnce() -> String) {
        self.timed += 1;
        self.far += u64::from(ttft_ns / FAR_BEHIND > end_ns);
        if is_late(ttft_ns, end_ns) {
            self.late += 1;
            self.first.get_or_insert_with(|| {
                let (ttft, end) = (ttft_ns as f64 / 1e9, end_ns as f64 / 1e9);
                (place(), format!("first token at {ttft:.6} s, end at {end:.6} s at the latest"))
            });
        }
    }

    /// Looks at a row.
    pub(crate) fn look_at(&mut self, row: &RequestRow, place: &dyn Fn() -> String) {
        if let (Status::Ok, Some(ttft), Some(end)) = (row.status, row.ttft_ns, end_of(row)) {
            self.look(ttft, end, place);
        }
    }

    /// Most first tokens are far later than the end: one of the two is in another unit.
    pub(crate) fn in_doubt(&self) -> bool {
        self.far * 2 > self.timed
    }

    /// Says what was found.
    pub(crate) fn tell(self, issues: &mut Issues) {
        let code = if self.in_doubt() { IssueCode::UnitInDoubt } else { IssueCode::FirstTokenAfterEnd };
        if let Some((place, example)) = self.first {
            issues.add_many(code, self.late, || place, || example);
        }
    }
}

/// The earlier of the two ends.
fn end_of(row: &RequestRow) -> Option<i64> {
    row.e2e_ns.into_iter().chain(row.stream_end_ns).min()
}

/// Takes a first token that is later than the end out of `row`, and what was made of it.
pub(crate) fn withhold(row: &mut RequestRow) {
    let Some(end) = end_of(row).filter(|end| row.ttft_ns.is_some_and(|ttft| is_late(ttft, *end))) else { return };
    (row.ttft_ns, row.first_token_ns, row.stream_end_ns) = (None, None, None);
    row.e2e_ns = Some(end);
    row.last_token_ns = row.sent_ns.map(|sent| sent.saturating_add(end));
}
