//! Limits of a scenario: every field is checked before anything is drawn, so that nothing loops for ever or grows without
//! bound.

use crate::error::{Result, SimulateError, invalid};
use crate::scenario::{Arrivals, Scenario, Stalls};

/// Requests of one run, at most.
pub(crate) const MAX_REQUESTS: u32 = 200_000;
/// Tokens put out in one run, at most.
pub(crate) const MAX_OUTPUT_TOKENS: u64 = 20_000_000;
/// Steps of one run, at most.
pub(crate) const MAX_STEPS: u64 = 10_000_000;
/// Simulated seconds, at most.
pub(crate) const MAX_SECONDS: f64 = 24.0 * 3600.0;

impl Scenario {
    /// Checks every field.
    pub fn validate(&self) -> Result<()> {
        self.validate_names()?;
        self.validate_load()?;
        self.validate_client()?;
        self.validate_server()?;
        self.validate_step()?;
        self.validate_cache()?;
        self.validate_disturbances()?;
        self.validate_recording()
    }

    /// Names go into logs, labels and paths of other programs.
    fn validate_names(&self) -> Result<()> {
        for (field, name) in [("name", &self.name), ("server.model", &self.server.model)] {
            let fits = !name.is_empty() && name.len() <= 200;
            if !fits || name.chars().any(|c| c.is_control() || "\"'\\{}".contains(c)) {
                return invalid(
                    field,
                    "1 to 200 bytes without quotes, braces, backslashes and control characters expected",
                );
            }
        }
        Ok(())
    }

    fn validate_load(&self) -> Result<()> {
        let load = &self.load;
        whole("load.requests", load.requests, 1, MAX_REQUESTS)?;
        if load.arrivals != Arrivals::Unbounded && load.ramp.is_none() {
            range("load.rate_per_s", load.rate_per_s, 1e-3, 1e5)?;
            let seconds = f64::from(load.requests) / load.rate_per_s;
            if seconds > MAX_SECONDS {
                return Err(SimulateError::TooLarge(format!(
                    "{} requests at {} per second arrive over {seconds:.0} s; at most {MAX_SECONDS} s",
                    load.requests, load.rate_per_s
                )));
            }
        }
        range("load.burstiness", load.burstiness, 0.01, 1e4)?;
        if let Some(limit) = load.max_concurrency {
            whole("load.max_concurrency", limit, 1, MAX_REQUESTS)?;
        }
        if let Some(ramp) = &load.ramp {
            whole("load.ramp.start_per_s", ramp.start_per_s, 1, 100_000)?;
            whole("load.ramp.end_per_s", ramp.end_per_s, 1, 100_000)?;
            if load.arrivals == Arrivals::Unbounded {
                return invalid("load.ramp", "needs arrivals other than unbounded");
            }
        }
        Ok(())
    }

    fn validate_client(&self) -> Result<()> {
        let client = &self.client;
        range("client.send_cpu_us", client.send_cpu_us, 0.0, 1e7)?;
        range("client.chunk_cpu_us", client.chunk_cpu_us, 0.0, 1e6)?;
        if let Some(connections) = client.connections {
            whole("client.connections", connections, 1, MAX_REQUESTS)?;
        }
        if let Some(timeout) = client.timeout_ms {
            range("client.timeout_ms", timeout, 1.0, MAX_SECONDS * 1e3)?;
        }
        stalls("client.stalls", &client.stalls)?;
        range("network.delay_us", self.network.delay_us, 0.0, 1e7)?;
        range("network.jitter_us", self.network.jitter_us, 0.0, 1e6)?;
        range("network.hold_share", self.network.hold_share, 0.0, 1.0)?;
        range("network.flush_ms", self.network.flush_ms, 0.0, 60_000.0)?;
        stalls("network.holds", &self.network.holds)
    }

    fn validate_server(&self) -> Result<()> {
        let server = &self.server;
        for (field, lengths) in [("prompts", &self.prompts), ("outputs", &self.outputs)] {
            if let Some(problem) = lengths.problem(false) {
                return invalid(field, problem);
            }
        }
        whole("server.max_num_seqs", server.max_num_seqs, 1, 10_000)?;
        whole("server.max_num_batched_tokens", server.max_num_batched_tokens, 1, 10_000_000)?;
        let drafts = self.speculation.draft_tokens;
        whole("speculation.draft_tokens", drafts, 0, 64)?;
        if server.max_num_batched_tokens < server.max_num_seqs.max(1 + drafts) {
            return invalid(
                "server.max_num_batched_tokens",
                "less than max_num_seqs (or than a draft): some requests would never get a token",
            );
        }
        whole("server.stream_interval", server.stream_interval, 1, 10_000)?;
        range("server.swap_us_per_block", server.swap_us_per_block, 0.0, 1e6)?;
        range("server.frontend_us", server.frontend_us, 0.0, 1e7)?;
        range("server.tokenize_us_per_token", server.tokenize_us_per_token, 0.0, 1e5)?;
        range("server.output_us", server.output_us, 0.0, 1e6)?;
        range("speculation.acceptance", self.speculation.acceptance, 0.0, 1.0)?;
        range("speculation.draft_us_per_token", self.speculation.draft_us_per_token, 0.0, 1e6)
    }

    fn validate_step(&self) -> Result<()> {
        let step = &self.step;
        range("step.cpu_us", step.cpu_us, 0.0, 1e7)?;
        range("step.cpu_us_per_request", step.cpu_us_per_request, 0.0, 1e6)?;
        range("step.gpu_us", step.gpu_us, 0.0, 1e7)?;
        range("step.decode_us_per_request", step.decode_us_per_request, 0.0, 1e6)?;
        range("step.kv_read_ns_per_token", step.kv_read_ns_per_token, 0.0, 1e6)?;
        range("step.prefill_us_per_token", step.prefill_us_per_token, 0.0, 1e6)?;
        range("step.attention_ns_per_pair", step.attention_ns_per_pair, 0.0, 1e4)?;
        range("step.noise_sigma", step.noise_sigma, 0.0, 2.0)?;
        if step.cpu_us + step.gpu_us < 1.0 {
            return invalid("step.gpu_us", "a step needs at least 1 us of fixed cost");
        }
        Ok(())
    }

    fn validate_cache(&self) -> Result<()> {
        whole("kv.block_size", self.kv.block_size, 1, 4096)?;
        whole("kv.num_blocks", self.kv.num_blocks, 1, 10_000_000)?;
        whole("server.max_model_len", self.server.max_model_len, 2, 10_000_000)?;
        let capacity = u64::from(self.kv.block_size) * u64::from(self.kv.num_blocks);
        if u64::from(self.server.max_model_len) > capacity {
            return invalid(
                "server.max_model_len",
                format!("{} tokens do not fit in a KV cache of {capacity}", self.server.max_model_len),
            );
        }
        range("prefix.share", self.prefix.share, 0.0, 1.0)?;
        whole("prefix.groups", self.prefix.groups, 1, 1_000_000)?;
        whole("prefix.tokens", self.prefix.tokens, 0, 10_000_000)
    }

    fn validate_disturbances(&self) -> Result<()> {
        stalls("disturbances.server_stalls", &self.disturbances.server_stalls)?;
        if let Some(warm_up) = &self.disturbances.warm_up {
            whole("disturbances.warm_up.requests", warm_up.requests, 0, MAX_REQUESTS)?;
            range("disturbances.warm_up.seconds", warm_up.seconds, 0.0, MAX_SECONDS)?;
            range("disturbances.warm_up.factor", warm_up.factor, 0.1, 1000.0)?;
        }
        if let Some(change) = &self.disturbances.change {
            range("disturbances.change.at_s", change.at_s, 0.0, MAX_SECONDS)?;
            range("disturbances.change.factor", change.factor, 0.1, 1000.0)?;
            if change.until_s.is_some_and(|until| !(change.at_s..=MAX_SECONDS).contains(&until)) {
                return invalid("disturbances.change.until_s", "must not be before at_s, nor after a day");
            }
        }
        range("failures.http_500_share", self.failures.http_500_share, 0.0, 1.0)?;
        range("failures.broken_stream_share", self.failures.broken_stream_share, 0.0, 1.0)
    }

    fn validate_recording(&self) -> Result<()> {
        range("clocks.start_unix_s", self.clocks.start_unix_s, 0.0, 4e9)?;
        range("clocks.client_zero_s", self.clocks.client_zero_s, 0.0, 1e9)?;
        range("clocks.server_ahead_ms", self.clocks.server_ahead_ms, -1e9, 1e9)?;
        range("recording.scrape_s", self.recording.scrape_s, 0.2, 3600.0)?;
        range("recording.log_s", self.recording.log_s, 1.0, 3600.0)?;
        range("recording.idle_s", self.recording.idle_s, 0.0, 600.0)
    }
}

fn range(field: &'static str, value: f64, low: f64, high: f64) -> Result<()> {
    if value.is_finite() && (low..=high).contains(&value) {
        return Ok(());
    }
    invalid(field, format!("{value} is not between {low} and {high}"))
}

fn whole(field: &'static str, value: u32, low: u32, high: u32) -> Result<()> {
    range(field, f64::from(value), f64::from(low), f64::from(high))
}

fn stalls(field: &'static str, stalls: &Stalls) -> Result<()> {
    range(field, stalls.per_s, 0.0, 100.0)?;
    range(field, stalls.length_ms, 0.0, 600_000.0)?;
    range(field, stalls.spread, 0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lengths::Lengths;

    fn refused(change: impl FnOnce(&mut Scenario)) -> String {
        let mut scenario = Scenario::default();
        change(&mut scenario);
        scenario.validate().unwrap_err().to_string()
    }

    #[test]
    fn names_the_field_and_the_limit() {
        assert!(Scenario::default().validate().is_ok());
        assert_eq!(refused(|s| s.load.requests = 0), "scenario field load.requests: 0 is not between 1 and 200000");
        assert!(refused(|s| s.load.rate_per_s = f64::NAN).contains("load.rate_per_s: NaN"));
        assert!(refused(|s| s.step.gpu_us = -1.0).contains("step.gpu_us"));
        assert!(refused(|s| s.kv.num_blocks = 10).contains("do not fit in a KV cache of 160"));
        assert!(refused(|s| s.prompts = Lengths::uniform(5, 4)).contains("prompts: from 5 to 4"));
        assert!(refused(|s| s.load.rate_per_s = 0.001).contains("too large"));
        assert!(refused(|s| s.server.max_num_batched_tokens = 100).contains("never get a token"));
        let nested = Lengths::mixed(Lengths::constant(1), 0.5, Lengths::constant(2));
        let nested = Lengths::mixed(nested, 0.5, Lengths::constant(2));
        assert!(refused(|s| s.outputs = nested).contains("inside a mixture"));
    }

    #[test]
    fn json_has_defaults_and_refuses_unknown_fields() {
        assert_eq!(Scenario::from_json("{}").unwrap(), Scenario::default());
        let text = Scenario::default().to_json().unwrap();
        assert_eq!(Scenario::from_json(&text).unwrap(), Scenario::default());
        assert!(Scenario::from_json("{\"lod\":{}}").unwrap_err().to_string().contains("unknown field `lod`"));
        assert!(Scenario::from_json("{\"load\":{\"requests\":0}}").is_err());
    }
}
