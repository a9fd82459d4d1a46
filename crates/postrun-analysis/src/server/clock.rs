//! The server's clock: how its times are brought onto the client's, and how sure that is.
//!
//! A client's clock is often monotonic with an arbitrary zero, a server's is wall time, a log's has neither year nor zone.
//! No duration is ever taken between two clocks that are not aligned. Alignment happens when the files are read, in the
//! best way that they allow:
//!
//! 1. **Joined requests.** A request cannot arrive before it was sent, and a token cannot be received before it was made.
//!    Over all joined requests that bounds the offset from both sides; the middle is the estimate and half the width its
//!    uncertainty, usually a few milliseconds. Bounds that contradict each other are another run's. On runs of ten minutes
//!    and more the drift is measured too.
//! 2. **The counter of generated tokens.** Scraped once a second, it is the client's curve of received tokens, shifted. Each
//!    scrape gives one shift, their median is the estimate. Ten to forty milliseconds on a run of a minute. Tokens that the
//!    client never saw (broken streams, other clients) and tokens held back for others of their chunk make it wider.
//! 3. **Levels.** Running plus waiting requests against requests in flight, and the rates of a log against the client's.
//!    About a tenth of a second from scrapes, a second from a log. Refused where two shifts fit nearly as well, and where
//!    spans of the same time are not the client's requests.
//! 4. **The user.** `--clock-offset` wins over everything; what contradicts it is listed under data quality, and widens its
//!    uncertainty. Two wall clocks that nothing could compare are taken as equal.
//!
//! Requests are joined by id; else by the number in the server's id that is the request's place in the client's file, as
//! `vllm bench serve` makes them; else by the order of arrival, where prompt lengths agree and arrivals follow sends at an
//! even distance. In all cases the client must have waited as long as the server took, or longer. What was not joined is
//! counted.
//!
//! Where the client stored when it saved its file, the run must end shortly before, in whatever zone: that tells apart runs
//! of one workload. One recording over several runs goes to each run at its own time; where two runs fit the same time, the
//! one that fits clearly better gets it, else none, and data quality says so.
//!
//! A log's stamps are brought onto the server's Unix time by the multiple of fifteen minutes (and days) that both fit.
//! Samples of devices in local time are placed by the only such multiple at which they cover the run. Where nothing fits, a
//! file's figures are taken over the whole of it, data quality says so, and no time of it is compared with the client's.
//!
//! `offset_ms` in the JSON report is server clock minus client clock, both as their files wrote them; null where the server
//! has only a local clock, whose zone and perhaps year nobody knows.

use postrun_schema::Manifest;
use serde::Serialize;

/// How the server's clock lies to the client's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockFacts {
    /// Server clock minus client clock in milliseconds; null: not aligned, or the client's clock has no reading.
    pub offset_ms: Option<f64>,
    /// Half-width of the interval around it.
    pub uncertainty_ms: Option<f64>,
    /// What the server's clock gains, in parts per million.
    pub drift_ppm: Option<f64>,
    /// How it was found, or why it was not.
    pub how: String,
}

pub(crate) fn of(manifest: &Manifest) -> Option<ClockFacts> {
    let server = manifest.clocks.server.as_ref()?;
    let ms = |ns: i64| ns as f64 / 1e6;
    Some(ClockFacts {
        offset_ms: server.offset_ns.map(ms),
        uncertainty_ms: server.offset_uncertainty_ns.map(ms),
        drift_ppm: server.drift_ppm,
        how: server.how.clone(),
    })
}
