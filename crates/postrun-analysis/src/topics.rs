//! Pages that are about no single metric: each is the documentation of the module that does the work.

use postrun_schema::Doc;

/// A page.
pub struct Topic {
    /// Stable id.
    pub id: &'static str,
    /// Its text.
    pub doc: Doc,
}

/// All topics, in the order a listing shows them.
pub static TOPICS: &[Topic] = &[
    Topic { id: "percentiles", doc: Doc::from_source(include_str!("percentile.rs")) },
    Topic { id: "buckets", doc: Doc::from_source(include_str!("bucket.rs")) },
    Topic { id: "window", doc: Doc::from_source(include_str!("window.rs")) },
    Topic { id: "steady_state", doc: Doc::from_source(include_str!("steady.rs")) },
    Topic { id: "timeline", doc: Doc::from_source(include_str!("timeline.rs")) },
    Topic { id: "clocks", doc: Doc::from_source(include_str!("server/clock.rs")) },
    Topic { id: "kv_cache", doc: Doc::from_source(include_str!("server/kv_tokens.rs")) },
    Topic { id: "stalls", doc: Doc::from_source(include_str!("stall/mod.rs")) },
    Topic { id: "conventions", doc: Doc::from_source(include_str!("convention/client.rs")) },
    Topic { id: "parity", doc: Doc::from_source(include_str!("parity.rs")) },
];
