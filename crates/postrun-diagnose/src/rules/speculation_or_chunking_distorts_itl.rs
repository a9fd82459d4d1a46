//! Speculation or chunking distorts ITL: a gap between chunks is not the time of a token.
//!
//! # What it finds
//! How many tokens a chunk carries, and how far ITL and ITL per token lie apart.
//!
//! # Why it happens
//! Speculative decoding accepts several tokens in a step; a stream interval or a proxy collects tokens. Two systems with the
//! same speed then have a different ITL.
//!
//! # How it is decided
//! Output tokens over chunks of the stream. Where a chunk carries so many that ITL misleads, it is a warning, and weighs as
//! much as the share of ITL that is not the time of a token.
//!
//! # What to try
//! Read ITL per token, and compare TPOT; stream every token where single gaps matter.
//!
//! # When it is wrong
//! A client that reads several chunks at once makes them one. Speculative decoding is meant to do this: whoever never reads
//! ITL can raise `misleading_tokens_per_chunk`.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, time_text};
use postrun_schema::Doc;

pub(super) static SPECULATION_OR_CHUNKING_DISTORTS_ITL: Rule = Rule {
    id: "speculation_or_chunking_distorts_itl",
    title: "Speculation or chunking distorts ITL",
    doc: Doc::from_source(include_str!("speculation_or_chunking_distorts_itl.rs")),
    thresholds: &[
        Threshold {
            key: "tokens_per_chunk",
            default: 1.2,
            unit: "tokens",
            why: "a fifth is more than what two tokens in one read make",
        },
        Threshold {
            key: "misleading_tokens_per_chunk",
            default: 2.0,
            unit: "tokens",
            why: "half of what ITL says is not the time of a token: whoever compares it is misled",
        },
    ],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let Some(tokens) = v.run.value("tokens_per_chunk") else {
        return Verdict::NotChecked(vec![
            "chunks of each stream and counted output tokens (the client's detailed output: --save-detailed of vllm bench serve, --output-details of SGLang)".to_string(),
        ]);
    };
    let limit = v.limit("tokens_per_chunk");
    let carried = Evidence::new("tokens_per_chunk", "value", tokens, "tokens").against(limit, "threshold");
    if tokens < limit {
        return Verdict::Clear(vec![carried]);
    }
    let (gap, token) = (v.stat("itl_ms", "mean"), v.stat("itl_per_token_ms", "mean"));
    let summary = format!("a chunk carries {tokens:.1} tokens: ITL is the time of a chunk, not of a token");
    let misleads = tokens >= v.limit("misleading_tokens_per_chunk");
    let severity = if misleads { Severity::Warning } else { Severity::Info };
    let mut finding = Finding::new(severity, summary, carried, v.advise(Measure::ReadPerToken));
    if let Some((gap, token)) = gap.zip(token) {
        let text = format!("ITL is {} on average, ITL per token {}", time_text(gap), time_text(token));
        let amount = gap - token;
        finding = finding
            .and(Evidence::new("itl_ms", "mean", gap, "ms").against(token, "ITL per token").of(v.count("itl_ms")))
            .with_effect(Effect { metric: "itl_ms", amount, unit: "ms", share: None, text });
    }
    finding.weighing(v.weight(1.0 - 1.0 / tokens)).try_also([v.advise(Measure::StreamEveryToken)]).into()
}
