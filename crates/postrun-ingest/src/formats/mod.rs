//! The registry of ingestors: one file each, one line here.

mod llama_cpp_log;
mod sglang_bench;
mod tgi_log;
mod vllm_bench;
mod vllm_server_log;

use crate::ingestor::Ingestor;

/// All ingestors, in the order a listing shows them.
pub static INGESTORS: &[&Ingestor] = &[
    &vllm_bench::VLLM_BENCH,
    &sglang_bench::SGLANG_BENCH,
    &vllm_server_log::VLLM_SERVER_LOG,
    &tgi_log::TGI_LOG,
    &llama_cpp_log::LLAMA_CPP_LOG,
];
