//! Computes metrics, buckets, percentiles and timelines from a dataset.
//!
//! The only crate that knows Polars: it scans, filters and derives columns; selecting percentiles is ours
//! (`order_stats`), since one exact selection for all percentiles beats any engine's quantile function. Entry point:
//! [`analyse`]. No code here asks which tool a run came from.

mod arrivals;
mod availability;
mod bucket;
mod chunk_scan;
mod convention;
mod curve;
mod error;
mod evidence;
mod facts;
mod figure;
mod frames;
mod gap_groups;
mod gap_rule;
mod gaps;
mod in_flight;
mod lengths;
mod metric;
mod metrics;
mod moments;
mod objective;
mod order_stats;
mod parity;
mod pauses;
mod percentile;
mod request_values;
mod requests;
mod run;
mod samples;
mod scope;
mod server;
mod shape;
mod stall;
mod steady;
mod summary;
mod timeline;
mod topics;
mod window;

pub use availability::{Unavailable, supplier, without_client};
pub use bucket::{BucketEdges, BucketResult};
pub use convention::client::{CLIENTS, ClientConvention, Defined, find_client};
pub use convention::example::{EXAMPLE, Example};
pub use convention::redefined::RequestColumn;
pub use convention::{CONVENTIONS, Convention};
pub use curve::{Curve, curves};
pub use error::AnalysisError;
pub use evidence::{
    ChangePoint, Crowding, Evidence, Failures, Feature, Growth, Lateness, Outside, Tail, TtftDrivers, WarmUp,
};
pub use facts::RunFacts;
pub use figure::{MetricSummary, RunValue};
pub use lengths::{Lengths, lengths};
pub use metric::{Better, Compute, GapValue, Metric};
pub use metrics::{METRICS, find_metric};
pub use objective::Objective;
pub use parity::ReportedFigure;
pub use pauses::{Pauses, pauses};
pub use percentile::{CONFIDENCE, FEW_ABOVE, Percentile, expected_beyond};
pub use request_values::{RequestValues, request_values};
pub use requests::CREDIBLE_NS;
pub use run::{Options, RequestCounts, RunAnalysis, analyse};
pub use samples::{GapSamples, Samples, samples, shared_edges};
pub use server::{ClockFacts, Holder, KvCacheUsage, KvTokens, Level, Preemption, ServerFacts};
pub use shape::{
    Density, DensityAxis, DensityCell, GapBin, GoodputCurve, ListedRequest, ObjectiveCurve, PhaseRow, PhaseScope,
    Phases, Quantiles, RequestOutcome, Shapes,
};
pub use stall::{Stall, StallClass, Stalls, Trigger};
pub use steady::SteadyState;
pub use summary::{PERCENTILES, Summary};
pub use timeline::{ServerWindow, Timeline, TimelineWindow};
pub use topics::{TOPICS, Topic};
pub use window::Window;
