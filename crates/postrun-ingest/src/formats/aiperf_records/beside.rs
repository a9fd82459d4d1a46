//! What a record says of the exchange itself: the phases of HTTP, reads and writes, bytes.

use super::Record;
use crate::client::extras::Extras;
use crate::client::value::{self, Judge};
use crate::json::Tree;
use postrun_schema::IssueCode;

/// AIPerf's name of a metric, and the number that it becomes.
pub(in crate::formats) const NUMBERS: &[(&str, &str)] = &[
    ("http_req_blocked", "http_blocked_ms"),
    ("http_req_dns_lookup", "http_dns_lookup_ms"),
    ("http_req_connecting", "http_connecting_ms"),
    ("http_req_sending", "http_sending_ms"),
    ("http_req_waiting", "http_waiting_ms"),
    ("http_req_receiving", "http_receiving_ms"),
    ("http_req_duration", "http_duration_ms"),
    ("http_req_connection_overhead", "http_connection_overhead_ms"),
    ("http_req_total", "http_total_ms"),
    ("http_req_connection_reused", "http_connection_reused"),
    ("http_req_chunks_sent", "http_writes"),
    ("http_req_chunks_received", "http_reads"),
    ("http_req_data_sent", "http_sent_bytes"),
    ("http_req_data_received", "http_received_bytes"),
];

/// The number that one of AIPerf's metrics becomes.
pub(in crate::formats) fn number_of(metric: &str) -> Option<&'static str> {
    NUMBERS.iter().find(|(tag, _)| *tag == metric).map(|(_, name)| *name)
}

/// What turns a value in `unit` into the unit that stands at the end of `name`; `None`: it cannot be one.
pub(in crate::formats) fn scale(name: &str, unit: &str) -> Option<f64> {
    if name.ends_with("_ms") {
        return value::per_second(unit).map(|per_second| 1e3 / per_second as f64);
    }
    if name.ends_with("_bytes") {
        return match unit {
            "B" | "bytes" => Some(1.0),
            "KB" => Some(1024.0),
            "MB" => Some(1024.0 * 1024.0),
            "GB" => Some(1024.0 * 1024.0 * 1024.0),
            _ => None,
        };
    }
    Some(1.0)
}

impl Record {
    /// The numbers of this record.
    pub(super) fn extras(&self, judge: &mut Judge<'_>) -> Extras {
        let mut extras = Extras::default();
        for (tag, name) in NUMBERS {
            let metric = self.metric(tag);
            if *metric == Tree::Null {
                continue;
            }
            let unit = metric.get("unit").text().unwrap_or_default();
            match scale(name, unit) {
                Some(scale) => extras.add(name, tag, metric.get("value"), scale, judge),
                None => judge.bad(IssueCode::WrongType, tag, format!("unit {unit:?}")),
            }
        }
        if let Tree::Bool(skipped) = self.frame.metadata.get("context_overflow_skip") {
            extras.push("context_overflow", f64::from(u8::from(*skipped)));
        }
        extras
    }
}
