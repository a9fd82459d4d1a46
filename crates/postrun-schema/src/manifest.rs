//! `manifest.json`: what a dataset is, where it came from, what it lacks.

use crate::issue::Issue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema name and major version of what this build writes.
pub const SCHEMA: &str = "postrun.dataset/1";
/// Name of the manifest inside the dataset folder.
pub const MANIFEST_FILE: &str = "manifest.json";

/// The manifest of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the run, unique among the runs it was ingested with.
    pub label: String,
    /// The benchmark client.
    pub tool: Tool,
    /// Model, where recorded.
    pub model: Option<String>,
    /// Tool-specific facts about the server, as recorded.
    #[serde(default)]
    pub server: BTreeMap<String, String>,
    /// Shape of the load.
    pub load: Load,
    /// Duration of the measurement in nanoseconds as the client measured it.
    pub duration_ns: Option<i64>,
    /// When that measurement began, in Unix time, where the client stored it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_from_unix_ns: Option<i64>,
    /// What the client counted itself, where the rows cannot say it.
    pub counted: Counted,
    /// The clocks of the run.
    pub clocks: Clocks,
    /// Where `output_tokens` and `prompt_tokens` come from.
    pub output_tokens_source: TokenSource,
    /// Where `prompt_tokens` comes from.
    pub prompt_tokens_source: TokenSource,
    /// The files it was read from.
    pub sources: Vec<SourceFile>,
    /// What could not be read, or is doubtful.
    pub issues: Vec<Issue>,
    /// The tables with their size and hash.
    pub tables: BTreeMap<String, TableFile>,
    /// Facts this recording does not hold.
    pub not_recorded: Vec<String>,
}

impl Manifest {
    /// The names of the files that it was read from.
    pub fn source_names(&self) -> String {
        self.sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The benchmark client that wrote the recording.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Tool {
    /// Name as people say it: `vllm bench serve`.
    pub name: String,
    /// Version, where recorded.
    pub version: Option<String>,
    /// How name and version are known.
    pub how_known: String,
}

/// Shape of the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Load {
    /// Requests a second asked for; null when unbounded or not recorded.
    pub request_rate: Option<f64>,
    /// True: requests were sent as fast as `max_concurrency` (if any) allows.
    pub unbounded: bool,
    /// Shape of the gaps between arrivals; 1 is Poisson.
    pub burstiness: Option<f64>,
    /// Most requests the client kept in flight.
    pub max_concurrency: Option<u32>,
    /// Requests the client meant to send.
    pub num_prompts: Option<u64>,
    /// Data set name.
    pub dataset: Option<String>,
    /// API or backend the client spoke.
    pub backend: Option<String>,
    /// Local time at which the client saved the file, as recorded, or at which it began.
    pub date: Option<String>,
    /// `date` is when the client began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub date_is_start: bool,
    /// Everything else the client recorded of its settings, as text.
    pub other: BTreeMap<String, String>,
}

/// The client's own totals; used where the file has no per-request rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Requests that succeeded.
    pub completed: Option<u64>,
    /// Requests that failed.
    pub failed: Option<u64>,
    /// Prompt tokens of the successes.
    pub prompt_tokens: Option<u64>,
    /// Output tokens of the successes.
    pub output_tokens: Option<u64>,
}

impl Counted {
    /// All requests, as far as they were counted; `None` without a count of those that succeeded.
    pub fn requests(&self) -> Option<u64> {
        Some(self.completed?.saturating_add(self.failed.unwrap_or(0)))
    }
}

/// What kind of clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// Arbitrary origin, never steps.
    Monotonic,
    /// Unix time.
    Wall,
    /// No point in time is recorded.
    None,
}

/// One clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Its kind.
    pub kind: ClockKind,
    /// Unix time of the run's origin in nanoseconds, where known.
    pub origin_unix_ns: Option<i64>,
    /// What the clock read at the run's origin, in nanoseconds, so that the source's own times can be rebuilt.
    pub origin_source_ns: Option<i64>,
}

/// The server's clock, and how it lies to the client's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerClock {
    /// Its kind.
    pub kind: ClockKind,
    /// What this clock read at the origin of the dataset's server times, in nanoseconds (Unix time for a wall clock).
    pub origin_unix_ns: Option<i64>,
    /// Server clock minus client clock, both as their sources wrote them; null: not aligned, or a local clock of unknown
    /// zone.
    pub offset_ns: Option<i64>,
    /// Half-width of the interval in which the true offset lies; null: not aligned, and then no server time may be
    /// compared with a client time.
    pub offset_uncertainty_ns: Option<i64>,
    /// How much the server clock gains on the client clock, in parts per million; null: not measured.
    #[serde(default)]
    pub drift_ppm: Option<f64>,
    /// How the offset was found, or why it was not.
    pub how: String,
}

/// Client and server clocks are never mixed without an alignment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// The load generator's clock.
    pub client: Clock,
    /// The server's clock, where anything of the server is recorded.
    pub server: Option<ServerClock>,
}

/// Where a token count comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// Counted by the server (usage).
    Server,
    /// Counted by the client's tokenizer.
    ClientTokenizer,
    /// Server usage where it was sent, else the client's tokenizer.
    ServerElseClient,
    /// Only the number asked for.
    Requested,
    /// Not known.
    Unknown,
}

impl TokenSource {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            TokenSource::Server => "server",
            TokenSource::ClientTokenizer => "client tokenizer",
            TokenSource::ServerElseClient => "server else client",
            TokenSource::Requested => "requested",
            TokenSource::Unknown => "unknown",
        }
    }
}

/// One input file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Base name, so that a dataset can be given to someone else.
    pub name: String,
    /// Size as it lay on disk.
    pub bytes: u64,
    /// Hash of the file as it lay on disk.
    pub sha256: String,
    /// Ingestor that read it.
    pub format: String,
    /// Position of this run among the runs of the file, from 0.
    pub run_in_file: u32,
    /// Requests, or records of the server, read from it into this run.
    pub records: u64,
    /// Records left out.
    pub skipped: u64,
    /// Files of the server's side: whether their times lie on the run's time; null for the client's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aligned: Option<bool>,
}

/// One table file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableFile {
    /// Rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Hash of the file.
    pub sha256: String,
}
