//! Times that no server has, in most rows of a table: another unit than the mapping says. First tokens later than the
//! end are looked for in the files of every client.

use crate::mapping::Unit;
use postrun_schema::{IssueCode, Issues, RequestRow};

/// A first token after an hour, or sooner than a request crosses a network and a model, is not one that many have.
const LIKELY_TTFT_NS: std::ops::RangeInclusive<i64> = 500_000..=3_600_000_000_000;
/// Time of one output token, likewise: nobody streams 10,000 tokens a second to one request.
const LIKELY_TPOT_NS: std::ops::RangeInclusive<i64> = 100_000..=10_000_000_000;

/// A stream that goes on for this many times the time to its last token, most streams so, is one in another unit.
const LIKELY_TAIL: i64 = 100;

/// Counts of rows that look like a wrong unit.
#[derive(Default)]
pub(super) struct Doubts {
    ttft: Share,
    tpot: Share,
    tail: Share,
    /// First and last send, of how many.
    sent: Option<(i64, i64, u64)>,
    longest_ns: i64,
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
        if let Some(sent) = row.sent_ns {
            let (first, last, rows) = self.sent.unwrap_or((sent, sent, 0));
            self.sent = Some((first.min(sent), last.max(sent), rows + 1));
        }
        self.longest_ns = self.longest_ns.max(row.e2e_ns.or(row.stream_end_ns).unwrap_or(0));
        if let (Some(last), Some(end)) = (row.e2e_ns.filter(|ns| *ns > 0), row.stream_end_ns) {
            let [last_s, end_s] = [last, end].map(|ns| ns as f64 / 1e9);
            let example = || format!("the last token at {last_s:.3} s, and the end of the stream at {end_s:.3} s");
            self.tail.add(end / last >= LIKELY_TAIL, example);
        }
        let Some(ttft) = row.ttft_ns else { return };
        self.ttft.add(!LIKELY_TTFT_NS.contains(&ttft), || format!("a first token after {:e} s", ttft as f64 / 1e9));
        let Some(e2e) = row.e2e_ns else { return };
        if let Some(tokens) = row.output_tokens.filter(|n| *n > 1 && e2e > ttft) {
            let each = (e2e - ttft) / i64::from(tokens - 1);
            self.tpot.add(!LIKELY_TPOT_NS.contains(&each), || format!("{:e} s for an output token", each as f64 / 1e9));
        }
    }

    /// More than half of the rows are odd: the units are in doubt, and the report says so.
    /// So are they where sends that would be dates in another unit all lie within one request: a clock that shows days
    /// since the machine started can look like one, a run that is shorter than its requests hardly.
    pub(super) fn tell(self, file: &str, sent_unit: Option<Unit>, issues: &mut Issues) {
        if let (Some((first, last, rows)), Some(unit)) = (self.sent, sent_unit)
            && let Some(date) = unit.as_date(first).filter(|_| rows > 1 && last - first < self.longest_ns)
        {
            let example = || format!("send times that are dates in {}, read in {}", date.name(), unit.name());
            issues.add_many(IssueCode::UnitInDoubt, rows, || file.to_string(), example);
        }
        // One row can be odd in several: it counts once.
        let odd = [self.ttft, self.tpot, self.tail].into_iter().filter(|share| share.odd * 2 > share.rows);
        if let Some(share) = odd.max_by_key(|share| share.odd) {
            let example = share.example.unwrap_or_default();
            issues.add_many(IssueCode::UnitInDoubt, share.odd, || file.to_string(), || example);
        }
    }
}
