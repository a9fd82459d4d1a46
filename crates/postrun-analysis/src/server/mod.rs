//! What the server's side says of a run: levels and counters over time, preemption, KV cache and memory.

mod clock;
pub(crate) mod facts;
mod kv_tokens;
pub(crate) mod level;
pub(crate) mod tracks;

pub use clock::ClockFacts;
pub use facts::{KvCacheUsage, Level, Preemption, ServerFacts};
pub use kv_tokens::{Holder, KvTokens};
