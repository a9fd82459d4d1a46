//! When the requests of a run were sent, as far as it tells which of the recorded times are times of the run.
//!
//! A run is not longer than 115 days: a send time that lies further from most of the others is another clock's, or stands
//! for none. 0 is also what clients write of a request that was never sent: of a failed request it is taken for that
//! where the others begin later than they last.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A run is not longer; a send time beyond is another clock's.
pub(crate) const MAX_RUN_NS: i64 = 10_000_000_000_000_000;
/// Times that lie so near to 0 may count from the start of the client.
const FROM_THE_START_NS: i64 = 60_000_000_000;
/// Stretches of 115 days that are told apart; a file with more has no clock.
const MOST_STRETCHES: usize = 1024;

/// Send times in stretches of 115 days.
#[derive(Debug, Default)]
pub(crate) struct Sends {
    stretches: BTreeMap<i64, Stretch>,
    /// Failed requests with a send time of 0.
    at_zero: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    count: u64,
    earliest_ns: i64,
    latest_send_ns: i64,
    latest_ns: i64,
}

/// The clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first send.
    pub origin_ns: i64,
    /// The last event.
    pub latest_ns: i64,
    /// A failed request with a send time of 0 was never sent.
    pub zero_is_none: bool,
}

impl Span {
    /// Why this is no send time of the run; `None`: it is one.
    pub(crate) fn refuses(&self, sent_ns: i64, failed: bool) -> Option<&'static str> {
        match sent_ns.saturating_sub(self.origin_ns) {
            _ if self.zero_is_none && failed && sent_ns == 0 => Some("a send time of 0, which stands for none"),
            since if since < 0 => Some("sent more than 115 days before most requests"),
            since if since > MAX_RUN_NS => Some("sent more than 115 days after the first request"),
            _ => None,
        }
    }
}

impl Sends {
    /// Takes a request that was sent, and ended or was last heard of at `end_ns`.
    pub(crate) fn add(&mut self, sent_ns: i64, end_ns: i64, failed: bool) {
        if failed && sent_ns == 0 {
            self.at_zero += 1;
            return;
        }
        let key = sent_ns.div_euclid(MAX_RUN_NS);
        if self.stretches.len() >= MOST_STRETCHES && !self.stretches.contains_key(&key) {
            return;
        }
        let new = Stretch { count: 0, earliest_ns: sent_ns, latest_send_ns: sent_ns, latest_ns: end_ns };
        let stretch = self.stretches.entry(key).or_insert(new);
        stretch.count += 1;
        stretch.earliest_ns = stretch.earliest_ns.min(sent_ns);
        stretch.latest_send_ns = stretch.latest_send_ns.max(sent_ns);
        stretch.latest_ns = stretch.latest_ns.max(end_ns);
    }

    /// The stretch, and the next, in which most were sent; of equal ones the first, but for one that begins at 0.
    pub(crate) fn span(&self) -> Option<Span> {
        let with_next = |(key, one): (&i64, &Stretch)| match self.stretches.get(&(key + 1)) {
            Some(next) if next.latest_send_ns.saturating_sub(one.earliest_ns) <= MAX_RUN_NS => Stretch {
                count: one.count + next.count,
                earliest_ns: one.earliest_ns,
                latest_send_ns: next.latest_send_ns,
                latest_ns: one.latest_ns.max(next.latest_ns),
            },
            _ => *one,
        };
        let rank = |s: &Stretch| (s.count, s.earliest_ns != 0, Reverse(s.earliest_ns));
        let Some(most) = self.stretches.iter().map(with_next).max_by_key(rank) else {
            return (self.at_zero > 0).then_some(Span { origin_ns: 0, latest_ns: 0, zero_is_none: false });
        };
        let Stretch { earliest_ns: origin_ns, latest_send_ns, latest_ns, .. } = most;
        let lasted_ns = latest_send_ns.saturating_sub(origin_ns).max(FROM_THE_START_NS);
        let zero_is_none = self.at_zero > 0 && origin_ns > lasted_ns;
        let from_zero = self.at_zero > 0 && !zero_is_none;
        Some(Span { origin_ns: if from_zero { origin_ns.min(0) } else { origin_ns }, latest_ns, zero_is_none })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;
    const UNIX: i64 = 1_796_000_000 * S;

    fn span(sends: &[(i64, bool)]) -> Span {
        let mut all = Sends::default();
        sends.iter().for_each(|(sent, failed)| all.add(*sent, sent + S, *failed));
        all.span().unwrap()
    }

    #[test]
    fn most_say_which_clock_it_is() {
        let run = span(&[(0, false), (UNIX, false), (UNIX + S, false)]);
        assert_eq!((run.origin_ns, run.latest_ns), (UNIX, UNIX + 2 * S));
        assert!(run.refuses(0, false).is_some() && run.refuses(UNIX, false).is_none());
        // One against one: the first, unless it is 0.
        assert_eq!(span(&[(5, false), (UNIX, false)]).origin_ns, 5);
        assert_eq!(span(&[(0, false), (UNIX, false)]).origin_ns, UNIX);
        // A run across the border of two stretches is one.
        let border = MAX_RUN_NS * 3;
        assert_eq!(span(&[(border - S, false), (border + S, false), (border + 2 * S, false)]).origin_ns, border - S);
        assert_eq!(Sends::default().span(), None);
    }

    #[test]
    fn a_failed_request_at_zero_was_never_sent() {
        let uptime = 8665 * S;
        let run = span(&[(uptime, false), (0, true), (uptime + 20 * S, false)]);
        assert_eq!((run.origin_ns, run.zero_is_none), (uptime, true));
        assert!(run.refuses(0, true).is_some());
        // Times from the start of the client.
        let relative = span(&[(0, true), (S, false), (30 * S, false)]);
        assert_eq!((relative.origin_ns, relative.zero_is_none), (0, false));
        assert_eq!(span(&[(0, true)]).origin_ns, 0);
    }
}
