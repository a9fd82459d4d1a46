//! Output throughput: tokens generated a second, over all requests.
//!
//! # Definition
//! `output tokens of ok requests / duration`. In a window: tokens of the chunks that arrived inside it, whatever request
//! they belong to, by the window's length.
//!
//! # Peers
//! vLLM, SGLang: the same for the whole run. Clients that re-tokenise the text may count a few tokens fewer.
//!
//! # Needs
//! The duration of the run: the client's own measurement, else the span from first send to last end.
//!
//! # Caveats
//! Where chunks do not say how many tokens they carry, each chunk of a request counts its mean.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static OUTPUT_THROUGHPUT: Metric = Metric {
    id: "output_tokens_per_s",
    label: "Output tokens/s",
    unit: Unit::TokensPerSecond,
    better: Better::Higher,
    requires: &[(Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("output_throughput.rs")),
    compute: Compute::PerRun(|run| run.rate(run.output_tokens)),
};
