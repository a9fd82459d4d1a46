//! Default values of a scenario: a small healthy server, about an 8B model on one device, under light load.

use crate::lengths::Lengths;
use crate::scenario::*;

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            name: "simulated".to_string(),
            causes: Vec::new(),
            seed: 0,
            load: Load::default(),
            client: Client::default(),
            prompts: Lengths::uniform(150, 350),
            outputs: Lengths::uniform(80, 160),
            server: Server::default(),
            step: StepCost::default(),
            kv: KvCache::default(),
            prefix: Prefix::default(),
            speculation: Speculation::default(),
            network: Network::default(),
            failures: Failures::default(),
            disturbances: Disturbances::default(),
            clocks: Clocks::default(),
            recording: Recording::default(),
        }
    }
}

impl Default for Load {
    fn default() -> Load {
        Load {
            requests: 300,
            arrivals: Arrivals::Poisson,
            rate_per_s: 5.0,
            burstiness: 1.0,
            max_concurrency: None,
            ramp: None,
        }
    }
}

impl Default for Client {
    fn default() -> Client {
        Client { send_cpu_us: 120.0, chunk_cpu_us: 6.0, connections: None, stalls: Stalls::default(), timeout_ms: None }
    }
}

impl Default for Ramp {
    fn default() -> Ramp {
        Ramp { start_per_s: 1, end_per_s: 10 }
    }
}

impl Default for Stalls {
    fn default() -> Stalls {
        Stalls { per_s: 0.0, length_ms: 100.0, spread: 0.5 }
    }
}

impl Default for Server {
    fn default() -> Server {
        Server {
            model: "simulated-8b".to_string(),
            max_num_seqs: 128,
            max_num_batched_tokens: 2048,
            max_model_len: 8192,
            chunked_prefill: true,
            lazy_admission: false,
            preemption: PreemptionMode::Recompute,
            swap_us_per_block: 100.0,
            stream_interval: 1,
            frontend_us: 400.0,
            tokenize_us_per_token: 0.5,
            output_us: 20.0,
        }
    }
}

impl Default for StepCost {
    fn default() -> StepCost {
        StepCost {
            cpu_us: 1500.0,
            cpu_us_per_request: 8.0,
            gpu_us: 9000.0,
            decode_us_per_request: 40.0,
            kv_read_ns_per_token: 60.0,
            prefill_us_per_token: 60.0,
            attention_ns_per_pair: 2.0,
            noise_sigma: 0.03,
        }
    }
}

impl Default for KvCache {
    fn default() -> KvCache {
        KvCache { block_size: 16, num_blocks: 8000 }
    }
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix { caching: true, share: 0.0, groups: 1, tokens: 0 }
    }
}

impl Default for Speculation {
    fn default() -> Speculation {
        Speculation { draft_tokens: 0, acceptance: 0.7, draft_us_per_token: 1000.0 }
    }
}

impl Default for Network {
    fn default() -> Network {
        Network { delay_us: 150.0, jitter_us: 30.0, holds: Stalls::default(), hold_share: 1.0, flush_ms: 0.0 }
    }
}

impl Default for WarmUp {
    fn default() -> WarmUp {
        WarmUp { requests: 0, seconds: 0.0, factor: 1.0 }
    }
}

impl Default for Change {
    fn default() -> Change {
        Change { at_s: 0.0, until_s: None, factor: 1.0 }
    }
}

impl Default for Clocks {
    fn default() -> Clocks {
        // 2026-01-02 03:04:05 UTC, and a machine that was up for some hours.
        Clocks { start_unix_s: 1_767_323_045.25, client_zero_s: 9245.5, server_ahead_ms: 0.0 }
    }
}

impl Default for Recording {
    fn default() -> Recording {
        Recording { scrape_s: 1.0, log_s: 10.0, idle_s: 5.0 }
    }
}
