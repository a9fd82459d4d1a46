//! What to try: one list for the whole project, each with the flag of the server in use.

use serde::Serialize;
use std::borrow::Cow;

/// Servers whose flags are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM.
    TensorRtLlm,
    /// Anything else, or not recorded.
    Unknown,
}

impl Server {
    /// By the name in the manifest, else by the benchmark client, which usually measures its own server.
    pub fn named(server: Option<&str>, client: &str) -> Server {
        let name = server.unwrap_or(client).to_lowercase();
        match () {
            () if name.contains("vllm") => Server::Vllm,
            () if name.contains("sglang") => Server::Sglang,
            () if name.contains("tensorrt") || name.contains("trt") => Server::TensorRtLlm,
            () => Server::Unknown,
        }
    }
}

/// A measure with the words and the flag for the server at hand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Stable id of the measure.
    pub measure: Cow<'static, str>,
    /// What to do.
    pub text: Cow<'static, str>,
    /// The server's own flag or setting, where known.
    pub flag: Option<&'static str>,
    /// What it stands at now, where recorded.
    pub now: Option<String>,
    /// The server has it on already.
    #[serde(skip)]
    pub in_force: bool,
}

impl Advice {
    /// In the user's own words.
    pub(crate) fn in_words(text: &str) -> Advice {
        Advice {
            measure: Cow::Borrowed("own_words"),
            text: Cow::Owned(text.to_string()),
            flag: None,
            now: None,
            in_force: false,
        }
    }
}

macro_rules! measures {
    ($($name:ident $id:literal $text:literal $vllm:literal $sglang:literal $trt:literal),* $(,)?) => {
        /// Everything postrun may recommend.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)] // the text of each is its documentation
        pub enum Measure { $($name),* }

        impl Measure {
            /// All of them.
            pub const ALL: &[Measure] = &[$(Measure::$name),*];

            /// For a server. A flag that it does not have is left out.
            pub fn on(self, server: Server) -> Advice {
                let (measure, text, flags) = match self {
                    $(Measure::$name => ($id, $text, [$vllm, $sglang, $trt])),*
                };
                let flag = match server {
                    Server::Vllm => flags[0],
                    Server::Sglang => flags[1],
                    Server::TensorRtLlm => flags[2],
                    Server::Unknown => "",
                };
                Advice {
                    measure: Cow::Borrowed(measure),
                    text: Cow::Borrowed(text),
                    flag: Some(flag).filter(|f| !f.is_empty()),
                    now: None,
                    in_force: false,
                }
            }
        }
    };
}

measures! {
    TrimPrompts "trim_prompts"
        "shorten prompts: drop stale history, de-duplicate and rerank retrieved passages" "" "" "",
    PrefixCaching "prefix_caching"
        "let requests that begin alike share their prefill"
        "--enable-prefix-caching" "on unless --disable-radix-cache" "kv_cache_config.enable_block_reuse: true",
    ChunkedPrefill "chunked_prefill"
        "split long prefills, so that decodes go on between the parts"
        "--enable-chunked-prefill" "--chunked-prefill-size" "enable_chunked_prefill: true",
    SmallerPrefillChunk "smaller_prefill_chunk"
        "give a step fewer prompt tokens, so that it holds up decodes less"
        "--max-num-batched-tokens" "--chunked-prefill-size" "max_num_tokens",
    LargerPrefillBudget "larger_prefill_budget"
        "give a step more prompt tokens, so that prefills finish sooner"
        "--max-num-batched-tokens" "--max-prefill-tokens" "max_num_tokens",
    FasterAttention "faster_attention"
        "use a faster attention kernel"
        "--attention-backend" "--attention-backend" "attn_backend",
    LowerConcurrency "lower_concurrency"
        "let fewer requests run at once"
        "--max-num-seqs" "--max-running-requests" "max_batch_size",
    RaiseConcurrency "raise_concurrency"
        "send more requests at once, and let more of them run"
        "--max-num-seqs" "--max-running-requests" "max_batch_size",
    MoreKvCache "more_kv_cache"
        "give the KV cache more memory"
        "--gpu-memory-utilization" "--mem-fraction-static" "kv_cache_config.free_gpu_memory_fraction",
    LiftKvOverride "lift_kv_override"
        "lift the override of the KV cache's size: the server measured room for more"
        "remove --num-gpu-blocks-override" "remove --max-total-tokens" "remove kv_cache_config.max_tokens",
    SmallerKvDtype "smaller_kv_dtype"
        "store the KV cache in fewer bits"
        "--kv-cache-dtype fp8" "--kv-cache-dtype fp8_e5m2" "kv_cache_config.dtype: fp8",
    ShorterContext "shorter_context"
        "bound the length of contexts"
        "--max-model-len" "--context-length" "max_seq_len",
    CapOutputs "cap_outputs"
        "bound the length of answers" "max_tokens of the request" "max_new_tokens of the request" "max_tokens of the request",
    QuantizeWeights "quantize_weights"
        "quantize the weights, which leaves memory for the KV cache"
        "--quantization" "--quantization" "quant_config",
    ScaleOut "scale_out"
        "add replicas or devices"
        "--data-parallel-size, --tensor-parallel-size" "--dp-size, --tp-size" "tensor_parallel_size",
    BucketByLength "bucket_by_length"
        "serve short and long requests apart, so that they do not wait for each other" "" "" "",
    BoundQueue "bound_queue"
        "bound the number of waiting requests and turn others away early"
        "--max-num-queued-reqs" "--max-queued-requests" "",
    SplitOnlineOffline "split_online_offline"
        "give interactive and batch traffic instances of their own" "" "" "",
    LowerRate "lower_rate"
        "offer no more load than the server finishes: find the knee by a sweep of rates" "" "" "",
    SpeculativeDecoding "speculative_decoding"
        "try speculative decoding"
        "--speculative-config" "--speculative-algorithm" "speculative_config",
    LessLogging "less_logging"
        "log less and asynchronously; keep proxies from buffering streams"
        "--disable-log-requests" "--log-level warning" "",
    ProfileHost "profile_host"
        "profile the host: tokenizing, scheduling and detokenizing leave the devices idle"
        "--api-server-count, VLLM_TORCH_PROFILER_DIR" "--tokenizer-worker-num" "",
    AsyncScheduling "async_scheduling"
        "overlap scheduling with computing"
        "--async-scheduling" "on unless --disable-overlap-schedule" "disable_overlap_scheduler: false",
    StrongerClient "stronger_client"
        "give the load generator more processes or a machine of its own" "" "" "",
    OpenLoop "open_loop"
        "measure at a fixed arrival rate instead of a fixed number in flight, which hides waiting" "--request-rate of the client" "--request-rate of the client" "",
    WarmUpFirst "warm_up_first"
        "send warm-up requests first and leave them out" "--num-warmups of the client" "--warmup-requests of the client" "",
    MoreRequests "more_requests"
        "measure more requests" "--num-prompts of the client" "--num-prompts of the client" "",
    FixFailures "fix_failures"
        "find out why requests fail before reading any latency" "" "" "",
    SetTimeouts "set_timeouts"
        "set time-outs, and retry or drop what exceeds them" "" "" "",
    IsolateLongRequests "isolate_long_requests"
        "run very long requests apart from the others" "" "" "",
    WatchQueue "watch_queue"
        "record waiting requests, KV cache and preemptions during the run" "/metrics once a second" "--enable-metrics, /metrics once a second" "/metrics",
    ReadPerToken "read_per_token"
        "read ITL per token, not gaps between chunks" "" "" "",
    StreamEveryToken "stream_every_token"
        "stream every token where single gaps matter" "--stream-interval 1" "--stream-interval 1" "",
    FindChange "find_change"
        "look at what happened at that moment: deployments, neighbours, thermal limits, other clients" "" "" "",
    SteadyStateOnly "steady_state_only"
        "compare the steady state, not the whole run" "" "" "",
}
