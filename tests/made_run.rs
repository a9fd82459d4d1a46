//! Small results of `vllm bench serve`, made as a test needs them.

use serde_json::json;
use std::path::{Path, PathBuf};

/// What a made run is like. Times vary by ±20 % from request to request.
#[derive(Clone)]
pub struct Made {
    pub requests: usize,
    /// Prompt lengths, in turn.
    pub prompts: Vec<u32>,
    pub ttft_s: f64,
    /// By so much of itself TTFT grows in the second half of the run; 0: not at all.
    pub grows: f64,
    pub gap_s: f64,
    /// Every so manieth request fails; 0: none.
    pub fails_every: usize,
    pub rate: f64,
    pub date: String,
    pub seed: u64,
}

impl Made {
    pub fn new(seed: u64) -> Made {
        Made {
            requests: 300,
            prompts: (0..30).map(|i| 100 + i * 10).collect(),
            ttft_s: 0.1,
            grows: 0.0,
            gap_s: 0.02,
            fails_every: 0,
            rate: 10.0,
            date: "20260301-120000".to_string(),
            seed,
        }
    }

    /// Writes `<dir>/<name>/result.json` and gives the folder.
    pub fn write(&self, dir: &Path, name: &str) -> PathBuf {
        let folder = dir.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("result.json"), self.json().to_string()).unwrap();
        folder
    }

    fn json(&self) -> serde_json::Value {
        let mut state = self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut vary = |v: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            v * (0.8 + 0.4 * (state >> 11) as f64 / (1u64 << 53) as f64)
        };
        let n = self.requests;
        let failed = |i: usize| self.fails_every > 0 && i.is_multiple_of(self.fails_every);
        let ttft = |i: usize| self.ttft_s * (1.0 + self.grows * (2.0 * i as f64 / n as f64 - 1.0).max(0.0));
        let ok = (0..n).filter(|i| !failed(*i)).count();
        let ttfts: Vec<f64> = (0..n).map(|i| if failed(i) { 0.0 } else { vary(ttft(i)) }).collect();
        let gaps: Vec<Vec<f64>> =
            (0..n).map(|i| if failed(i) { vec![] } else { (0..9).map(|_| vary(self.gap_s)).collect() }).collect();
        let prompts: Vec<u32> = (0..n).map(|i| self.prompts[i % self.prompts.len()]).collect();
        let duration = n as f64 / self.rate + 1.0;
        json!({
            "date": self.date, "endpoint_type": "vllm", "backend": "vllm", "label": null, "model_id": "toy/model",
            "tokenizer_id": "toy/model", "num_prompts": n, "request_rate": self.rate, "burstiness": 1.0,
            "max_concurrency": null, "duration": duration, "completed": ok, "failed": n - ok,
            "total_input_tokens": prompts.iter().sum::<u32>(), "total_output_tokens": ok * 10,
            "request_throughput": ok as f64 / duration, "output_throughput": ok as f64 * 10.0 / duration,
            "input_lens": prompts,
            "output_lens": (0..n).map(|i| if failed(i) { 0 } else { 10 }).collect::<Vec<_>>(),
            "ttfts": ttfts, "itls": gaps,
            "start_times": (0..n).map(|i| 100.0 + i as f64 / self.rate).collect::<Vec<_>>(),
            "generated_texts": vec!["text"; n],
            "errors": (0..n).map(|i| if failed(i) { "refused" } else { "" }).collect::<Vec<_>>(),
        })
    }
}
