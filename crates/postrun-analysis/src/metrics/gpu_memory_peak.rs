//! Peak device memory: most memory in use on all devices together.
//!
//! # Definition
//! The largest sum over devices at any sample between first send and last token.
//!
//! # Peers
//! AIPerf reports the largest value of one device.
//!
//! # Needs
//! nvidia-smi or DCGM samples, or a client's device telemetry.
//!
//! # Caveats
//! Servers that reserve a share of the memory at start (vLLM, SGLang) use the same amount under any load: look at the KV
//! cache instead.

use crate::metric::{Better, Compute, Metric};
use postrun_schema::{Doc, Table, Unit};

pub(super) static GPU_MEMORY_PEAK: Metric = Metric {
    id: "gpu_memory_peak_bytes",
    label: "Peak device memory",
    unit: Unit::Bytes,
    better: Better::Lower,
    requires: &[(Table::Samples, "gpu_memory_used_bytes")],
    doc: Doc::from_source(include_str!("gpu_memory_peak.rs")),
    compute: Compute::PerRun(|run| run.server.gpu_memory_peak_bytes),
};
