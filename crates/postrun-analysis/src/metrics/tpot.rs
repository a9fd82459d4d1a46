//! Time Per Output Token: mean time between output tokens of one request, without the first.
//!
//! # Definition
//! One value a request: `(last token − first token) / (output tokens − tokens of the first chunk)`, where the first chunk
//! counts as one token unless the recording says otherwise. Null below two tokens, where first and last token came in one
//! chunk, and where only the requested output length is known.
//!
//! # Peers
//! vLLM and SGLang: `(latency − TTFT) / (output tokens − 1)`; SGLang's latency ends with the last line of the stream,
//! so its TPOT is a little longer. GuideLLM 0.3 divides by all output tokens; newer GuideLLM starts at the request, prefill
//! included. AIPerf calls this value inter-token latency. LLMPerf divides e2e by output tokens.
//!
//! # Needs
//! `ttft_ns`, `e2e_ns`, `output_tokens` of the requests table.
//!
//! # Caveats
//! A mean per request: a single long stall disappears in it. Look at itl_ms for stalls.

use crate::metric::{Better, Compute, Metric};
use polars::prelude::*;
use postrun_schema::{Doc, Table, Unit};

pub(super) static TPOT: Metric = Metric {
    id: "tpot_ms",
    label: "TPOT",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    requires: &[(Table::Requests, "ttft_ns"), (Table::Requests, "e2e_ns"), (Table::Requests, "output_tokens")],
    doc: Doc::from_source(include_str!("tpot.rs")),
    compute: Compute::PerRequest(|| {
        let later_tokens = col("output_tokens").cast(DataType::Float64)
            - col("first_chunk_tokens").cast(DataType::Float64).fill_null(lit(1.0));
        let decode_ns = (col("e2e_ns") - col("ttft_ns")).cast(DataType::Float64);
        let defined = later_tokens.clone().gt(lit(0.0)).and(decode_ns.clone().gt(lit(0.0)));
        when(defined).then(decode_ns / later_tokens).otherwise(lit(NULL))
    }),
};
