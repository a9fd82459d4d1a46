//! Long pauses between the chunks of a stream.

/// What a pause looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StallClass {
    /// The request was taken off the batch while others went on.
    Preemption,
    /// Another request's prefill held up the batch.
    PrefillInterference,
    /// Everyone paused.
    GlobalStall,
    /// Ordinary unevenness.
    Jitter,
}

impl StallClass {
    /// As it stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            StallClass::Preemption => "preemption",
            StallClass::PrefillInterference => "prefill_interference",
            StallClass::GlobalStall => "global_stall",
            StallClass::Jitter => "jitter",
        }
    }
}

/// One long pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Key of the request.
    pub request: u32,
    /// Start in nanoseconds since the first send.
    pub at_ns: i64,
    /// Length in nanoseconds.
    pub length_ns: i64,
    /// What it looks like.
    pub class: StallClass,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
}

/// The long pauses of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stalls {
    /// All of them.
    pub total: u64,
    /// The longest, longest first, at most 1,000.
    pub longest: Vec<Stall>,
}
