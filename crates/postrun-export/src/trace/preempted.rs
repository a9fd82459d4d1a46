//! When the server took requests off the batch, from its own events.

use super::clocks::Clocks;
use crate::error::ExportError;
use arrow_array::{Array, Int64Array, StringArray, UInt32Array};
use postrun_schema::{Dataset, EventKind, Table, batches, column};

const ROWS: usize = 1 << 16;

/// A time in which a request was off the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Off {
    pub request: u32,
    pub from_ns: i64,
    pub to_ns: i64,
}

/// All of them, by request and in time. A preemption without a recorded return has no length, and is not among them.
pub(crate) fn of(dataset: &Dataset, clocks: &Clocks) -> Result<Vec<Off>, ExportError> {
    let Some(path) = dataset.path(Table::Events).filter(|_| clocks.server) else { return Ok(Vec::new()) };
    let mut events: Vec<(u32, i64, bool)> = Vec::new();
    for batch in batches(&path, &["request", "at_ns", "kind"], ROWS)? {
        let batch = batch?;
        let (Some(requests), Some(at), Some(kinds)) = (
            column::<UInt32Array>(&batch, "request"),
            column::<Int64Array>(&batch, "at_ns"),
            column::<StringArray>(&batch, "kind"),
        ) else {
            continue;
        };
        for i in (0..batch.num_rows()).filter(|i| !requests.is_null(*i)) {
            let kind = kinds.value(i);
            let off = kind == EventKind::Preempted.name();
            if off || kind == EventKind::Resumed.name() || kind == EventKind::Scheduled.name() {
                events.push((requests.value(i), at.value(i), off));
            }
        }
    }
    events.sort_unstable();
    Ok(pairs(&events))
}

/// Each preemption with the first return after it.
fn pairs(events: &[(u32, i64, bool)]) -> Vec<Off> {
    let mut out = Vec::new();
    let mut since: Option<(u32, i64)> = None;
    for (request, at, off) in events {
        let open = since.filter(|(of, _)| of == request);
        match (open, off) {
            (Some((_, from_ns)), false) => {
                out.push(Off { request: *request, from_ns, to_ns: *at });
                since = None;
            }
            (None, true) => since = Some((*request, *at)),
            // Taken off again before it came back: it is the same absence.
            (Some(_), true) => {}
            (None, false) => since = None,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preemption_lasts_until_the_request_is_back() {
        let events = [(1, 0, false), (1, 10, true), (1, 15, true), (1, 30, false), (1, 50, true), (2, 60, false)];
        assert_eq!(pairs(&events), [Off { request: 1, from_ns: 10, to_ns: 30 }]);
    }
}
