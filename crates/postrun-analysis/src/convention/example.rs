//! One request, small enough to check on paper, under every convention.

use super::client::ClientConvention;
use super::facts::RequestFacts;
use super::find;
use super::quantity;
use crate::chunk_scan::RequestChunks;
use crate::gap_rule::GapRule;
use crate::moments::gap;
use postrun_schema::counted;

const MS: i64 = 1_000_000;

/// The request. Times since its send, in nanoseconds.
#[derive(Debug)]
pub struct Example {
    /// How long before the send it was meant to be sent.
    pub waited_ns: i64,
    /// A chunk with the role and nothing else.
    pub role_only_ns: i64,
    /// Chunks with tokens, and how many.
    pub chunks: &'static [(i64, u16)],
    /// The chunk with the final usage, and with it the end of the response.
    pub usage_ns: i64,
    /// Output tokens by the client's own tokenizer.
    pub client_tokens: u32,
}

/// The request that `postrun explain` works through.
pub static EXAMPLE: Example = Example {
    waited_ns: 10 * MS,
    role_only_ns: 40 * MS,
    chunks: &[(60 * MS, 1), (100 * MS, 3), (120 * MS, 1)],
    usage_ns: 130 * MS,
    client_tokens: 4,
};

impl Example {
    fn tokens(&self) -> u32 {
        self.chunks.iter().map(|(_, tokens)| u32::from(*tokens)).sum()
    }

    /// In words.
    pub fn text(&self) -> String {
        let ms = |ns: i64| ns / MS;
        let chunk = |(at, tokens): &(i64, u16)| format!("{} at {} ms", counted(u64::from(*tokens), "token"), ms(*at));
        let chunks: Vec<String> = self.chunks.iter().map(chunk).collect();
        format!(
            "meant to be sent {} ms before it was; since the send: a role-only chunk at {} ms, {}, the usage chunk and the end of the response at {} ms. {} output tokens by the server's count, {} by the client's tokenizer.",
            ms(self.waited_ns),
            ms(self.role_only_ns),
            chunks.join(", "),
            ms(self.usage_ns),
            self.tokens(),
            self.client_tokens,
        )
    }

    fn facts(&self) -> RequestFacts {
        RequestFacts {
            answered: true,
            first_chunk: Some(self.role_only_ns),
            first_token: self.chunks.first().map(|(at, _)| *at),
            last_token: self.chunks.last().map(|(at, _)| *at),
            response_end: Some(self.usage_ns),
            waited: Some(self.waited_ns),
            output: Some(self.tokens()),
            client_output: Some(self.client_tokens),
            first_chunk_tokens: self.chunks.first().map(|(_, tokens)| u32::from(*tokens)),
            chunks: u32::try_from(self.chunks.len()).ok(),
            ..RequestFacts::default()
        }
    }

    /// The mean of its gaps by a rule.
    fn mean_gap(&self, rule: GapRule) -> Option<f64> {
        let at_ns: Vec<i64> = self.chunks.iter().map(|(at, _)| *at).collect();
        let tokens: Vec<Option<u16>> = self.chunks.iter().map(|(_, tokens)| Some(*tokens)).collect();
        let chunks = RequestChunks {
            request: 0,
            sent_ns: Some(0),
            at_ns: &at_ns,
            tokens: &tokens,
            mean_tokens: 0.0,
            later_tokens: 0.0,
        };
        let mut gaps: Vec<u64> = at_ns.windows(2).map(|w| gap(w[0], w[1])).collect();
        rule.extra(Some(self.role_only_ns), &chunks, |_, gap, times| gaps.extend((0..times).map(|_| gap)));
        (!gaps.is_empty()).then(|| gaps.iter().sum::<u64>() as f64 / gaps.len() as f64)
    }

    /// What it gives for a metric under a convention, in milliseconds; `None`: the convention has no such metric, or it is
    /// none of one request.
    pub fn value_ms(&self, client: &ClientConvention, metric: &str) -> Option<f64> {
        let recipe = find(client.defined(metric)?.definition)?.recipe;
        let quantity = quantity::find(metric).filter(|q| q.id.ends_with("_ms"))?;
        let value = match GapRule::of(&recipe) {
            Some(rule) if metric == "itl_ms" => self.mean_gap(rule)?,
            _ => quantity.of(&self.facts(), &recipe)?.0,
        };
        Some(value / MS as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convention::client::{CLIENTS, find_client};

    fn value(client: &str, metric: &str) -> Option<f64> {
        EXAMPLE.value_ms(find_client(client).unwrap(), metric)
    }

    #[test]
    fn on_paper() {
        let expected = [
            ("postrun", "ttft_ms", 60.0),
            ("tensorrt-llm", "ttft_ms", 40.0),
            ("mlperf", "ttft_ms", 70.0),
            ("postrun", "tpot_ms", 15.0),
            ("sglang", "tpot_ms", 17.5),
            ("tensorrt-llm", "tpot_ms", 22.5),
            ("guidellm", "tpot_ms", 24.0),
            ("aiperf", "tpot_ms", 20.0),
            ("postrun", "itl_ms", 30.0),
            ("tensorrt-llm", "itl_ms", 80.0 / 3.0),
            ("inference-perf", "itl_ms", 15.0),
            ("guidellm", "itl_ms", 15.0),
            ("llmperf", "itl_ms", 40.0),
            ("postrun", "e2e_ms", 120.0),
            ("guidellm", "e2e_ms", 130.0),
            ("mlperf", "e2e_ms", 130.0),
            ("inference-perf", "e2e_per_output_token_ms", 32.5),
        ];
        for (client, metric, ms) in expected {
            let found = value(client, metric).unwrap();
            assert!((found - ms).abs() < 1e-9, "{client} {metric}: {found}, not {ms}");
        }
        assert_eq!(value("mlperf", "itl_ms"), None);
    }

    #[test]
    fn every_definition_is_in_the_one_table_and_every_time_has_an_example() {
        for client in CLIENTS {
            for defined in client.metrics {
                assert!(find(defined.definition).is_some(), "{}: {}", client.id, defined.definition);
                let of_a_request = quantity::find(defined.metric).is_some_and(|q| q.id.ends_with("_ms"));
                assert_eq!(
                    of_a_request,
                    value(client.id, defined.metric).is_some(),
                    "{} {}",
                    client.id,
                    defined.metric
                );
            }
        }
    }
}
