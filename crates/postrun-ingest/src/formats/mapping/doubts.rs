//! Times that no server has, in most rows of a table: another unit than the mapping says.

use postrun_schema::{IssueCode, Issues, RequestRow};

/// A first token after an hour, or within a microsecond, is not one that many requests have.
const LIKELY_TTFT_NS: std::ops::RangeInclusive<i64> = 1_000..=3_600_000_000_000;
/// Time of one output token, likewise.
const LIKELY_TPOT_NS: std::ops::RangeInclusive<i64> = 1_000..=10_000_000_000;
/// A first token this many times later than the end is in another unit than the end.
const FAR_BEHIND: i64 = 50;

/// Counts of rows that look like a wrong unit.
#[derive(Default)]
pub(super) struct Doubts {
    ttft: Share,
    tpot: Share,
    order: Share,
}

#[derive(Default)]
struct Share {
    rows: u64,
    odd: u64,
    example: Option<String>,
}

impl Share {
    fn add(&mut self, odd: bool, example: impl FnOnce() -> String) {
        self.rows += 1;
        if odd {
            self.odd += 1;
            self.example.get_or_insert_with(example);
        }
    }
}

impl Doubts {
    pub(super) fn look(&mut self, row: &RequestRow) {
        let Some(ttft) = row.ttft_ns else { return };
        self.ttft.add(!LIKELY_TTFT_NS.contains(&ttft), || format!("a first token after {:e} s", ttft as f64 / 1e9));
        let Some(e2e) = row.e2e_ns else { return };
        self.order.add(ttft / FAR_BEHIND > e2e, || {
            format!("a first token after {} s, an end after {} s", ttft as f64 / 1e9, e2e as f64 / 1e9)
        });
        if let Some(tokens) = row.output_tokens.filter(|n| *n > 1 && e2e > ttft) {
            let each = (e2e - ttft) / i64::from(tokens - 1);
            self.tpot.add(!LIKELY_TPOT_NS.contains(&each), || format!("{:e} s for an output token", each as f64 / 1e9));
        }
    }

    /// More than half of the rows are odd: the units are in doubt, and the report says so.
    pub(super) fn tell(self, file: &str, issues: &mut Issues) {
        for share in [self.ttft, self.tpot, self.order] {
            if share.odd * 2 > share.rows {
                let example = share.example.unwrap_or_default();
                issues.add_many(IssueCode::UnitInDoubt, share.odd, || file.to_string(), || example);
            }
        }
    }
}
