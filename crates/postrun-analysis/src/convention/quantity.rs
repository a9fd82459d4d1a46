//! What one request gives for a metric under a definition. Times in nanoseconds.

use super::facts::{Fact, RequestFacts};
use super::recipe::{Clock, Divisor, End, First, From, Itl, Lengths, Recipe, Start, Weight, Which, Whole};
use super::weighted::Weighted;

/// A value a request, and how it is made.
pub(crate) struct Quantity {
    /// The metric's id, or the name under which only clients report it.
    pub id: &'static str,
    pub value: fn(&RequestFacts, &Recipe) -> Option<f64>,
    /// For how many tokens it stands where tokens weigh.
    pub tokens: fn(&RequestFacts, &Recipe) -> Option<f64>,
    pub needs: fn(&Recipe) -> Vec<Fact>,
    /// A second value that a request gives.
    pub also: Option<fn(&RequestFacts) -> Option<Weighted>>,
}

fn later_tokens(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    let n = f64::from(output(f, r)?);
    let tokens = match r.divisor {
        Divisor::AfterFirstChunk => n - f64::from(f.first_chunk_tokens.unwrap_or(1)),
        Divisor::AllButOne | Divisor::AllButOneElseZero => n - 1.0,
        Divisor::All => n,
    };
    (tokens > 0.0).then_some(tokens)
}

fn all_tokens(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    output(f, r).map(f64::from).filter(|n| *n > 0.0)
}

fn once(_: &RequestFacts, _: &Recipe) -> Option<f64> {
    Some(1.0)
}

pub(super) fn output(f: &RequestFacts, r: &Recipe) -> Option<u32> {
    match r.lengths {
        Lengths::Best => f.output,
        Lengths::Client => f.client_output,
        Lengths::Counted => f.counted_events,
    }
}

pub(super) fn prompt(f: &RequestFacts, r: &Recipe) -> Option<u32> {
    if r.lengths == Lengths::Client { f.client_prompt } else { f.prompt }
}

/// From the start that the recipe names to a point since the send.
fn since_start(f: &RequestFacts, r: &Recipe, at: Option<i64>) -> Option<f64> {
    match r.start {
        Start::Send => at.map(|at| at as f64),
        Start::Schedule => Some((at?.saturating_add(f.waited?)) as f64),
    }
}

fn end_at(f: &RequestFacts, r: &Recipe) -> Option<i64> {
    match r.end {
        End::LastToken => f.last_token,
        End::Response => f.response_end,
        End::Recorded => f.response_end.or(f.last_token),
    }
}

fn first_at(f: &RequestFacts, r: &Recipe) -> Option<i64> {
    if f.whole {
        return end_at(f, r).filter(|_| r.whole == Whole::Counted);
    }
    match r.first {
        First::Token => f.first_token,
        First::Chunk => f.first_chunk.or(f.first_token),
    }
}

fn ttft(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    since_start(f, r, first_at(f, r))
}

fn e2e(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    if let (true, [Some(from), _, Some(to)]) = (r.clock != Clock::Exact && r.start == Start::Schedule, f.unix) {
        return Some(float_between(r, from, to));
    }
    since_start(f, r, end_at(f, r))
}

fn decode(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    let from = match r.from {
        From::FirstToken => first_at(f, r)?,
        From::Start => 0,
    };
    let length = end_at(f, r)?.saturating_sub(from) as f64;
    let least = if r.whole == Whole::Counted { 0.0 } else { f64::MIN_POSITIVE };
    (length >= least).then_some(length)
}

fn tpot(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    if r.divisor == Divisor::AllButOneElseZero && output(f, r).is_some_and(|n| n <= 1) {
        return first_at(f, r).map(|_| 0.0);
    }
    Some(decode(f, r)? / later_tokens(f, r)?)
}

fn itl(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    match r.itl {
        Itl::RequestMeanWithTtft => f.client_itl.map(|ns| ns as f64).or_else(|| mean_with_ttft(f)),
        _ => tpot(f, r),
    }
}

fn mean_with_ttft(f: &RequestFacts) -> Option<f64> {
    f.chunks.filter(|n| *n > 0).and_then(|n| Some(f.last_token? as f64 / f64::from(n)))
}

fn e2e_per_token(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    Some(e2e(f, r)? / all_tokens(f, r)?)
}

fn client_queue(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    match (r.clock != Clock::Exact, f.unix) {
        (true, [Some(scheduled), Some(sent), _]) => Some(float_between(r, scheduled, sent)),
        _ => f.waited.map(|ns| ns as f64),
    }
}

fn both_tokens(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    Some(f64::from(prompt(f, r)?) + f64::from(output(f, r)?))
}

/// What is left of a difference when the points in time are floats.
fn float_between(r: &Recipe, from: i64, to: i64) -> f64 {
    match r.clock {
        Clock::FloatSeconds => (float_seconds(to) - float_seconds(from)) * 1e9,
        Clock::Exact | Clock::FloatNanoseconds => to as f64 - from as f64,
    }
}

/// The float nearest to a decimal number of seconds. Dividing a float of nanoseconds would round twice.
pub(super) fn float_seconds(ns: i64) -> f64 {
    let (whole, rest) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    format!("{whole}.{rest:09}").parse().unwrap_or(f64::NAN)
}

/// Of two counts of the same tokens, the server's against the client's, in percent.
pub(super) fn apart(server: Option<u32>, client: Option<u32>) -> Option<f64> {
    let (server, client) = (f64::from(server?), f64::from(client?));
    (client > 0.0).then(|| (server - client).abs() / client * 100.0)
}

/// How far the output is from what was asked for, in percent; below 0 where it stopped early.
fn apart_from_requested(f: &RequestFacts) -> Option<f64> {
    let (output, requested) = (f64::from(f.client_output?), f64::from(f.requested?));
    (requested > 0.0).then(|| (output - requested) / requested * 100.0)
}

/// Tokens a second.
fn rate(tokens: Option<f64>, ns: Option<f64>) -> Option<f64> {
    Some(tokens? / (ns.filter(|ns| *ns > 0.0)? / 1e9))
}

fn first_fact(_: &Recipe) -> Vec<Fact> {
    vec![Fact::FirstToken]
}

fn start_facts(r: &Recipe) -> Vec<Fact> {
    let schedule = (r.start == Start::Schedule).then_some(Fact::Schedule);
    schedule.into_iter().chain((r.clock != Clock::Exact).then_some(Fact::WallClock)).collect()
}

fn end_facts(r: &Recipe) -> Vec<Fact> {
    let end = if r.end == End::Response { Fact::ResponseEnd } else { Fact::LastToken };
    std::iter::once(end).chain(start_facts(r)).collect()
}

fn output_fact(r: &Recipe) -> Vec<Fact> {
    vec![match r.lengths {
        Lengths::Best => Fact::OutputTokens,
        Lengths::Client => Fact::ClientOutputTokens,
        Lengths::Counted => Fact::CountedTokens,
    }]
}

fn prompt_fact(r: &Recipe) -> Vec<Fact> {
    vec![if r.lengths == Lengths::Client { Fact::ClientPromptTokens } else { Fact::PromptTokens }]
}

fn both(a: Vec<Fact>, b: Vec<Fact>) -> Vec<Fact> {
    a.into_iter().chain(b).collect()
}

fn itl_facts(r: &Recipe) -> Vec<Fact> {
    match r.itl {
        Itl::ChunkGaps | Itl::AllChunkGaps => vec![Fact::ChunkTimes],
        Itl::RequestMeanWithTtft => vec![Fact::StreamMeans],
        Itl::TokenGaps => vec![Fact::ChunkTimes, Fact::ChunkTokens],
        Itl::RequestMean => both(both(end_facts(r), output_fact(r)), vec![Fact::FirstToken]),
    }
}

const fn q(
    id: &'static str,
    value: fn(&RequestFacts, &Recipe) -> Option<f64>,
    tokens: fn(&RequestFacts, &Recipe) -> Option<f64>,
    needs: fn(&Recipe) -> Vec<Fact>,
) -> Quantity {
    Quantity { id, value, tokens, needs, also: None }
}

/// Every value of a request that a client may report of.
pub(crate) static QUANTITIES: &[Quantity] = &[
    q("ttft_ms", ttft, once, |r| both(first_fact(r), start_facts(r))),
    q("e2e_ms", e2e, once, end_facts),
    q("tpot_ms", tpot, later_tokens, |r| both(both(end_facts(r), output_fact(r)), first_fact(r))),
    q("itl_ms", itl, later_tokens, itl_facts),
    q("e2e_per_output_token_ms", e2e_per_token, all_tokens, |r| both(end_facts(r), output_fact(r))),
    q("client_queue_ms", client_queue, once, |r| both(vec![Fact::Schedule], start_facts(r))),
    q("client_decode_ms", decode, once, |r| both(end_facts(r), first_fact(r))),
    q("prefill_ms", |f, _| f.prefill.map(|ns| ns as f64), once, |_| Vec::new()),
    q("decode_ms", |f, _| f.decode.map(|ns| ns as f64), once, |_| Vec::new()),
    q("second_token_ms", |f, _| f.second_gap.map(|ns| ns as f64), once, |_| vec![Fact::ChunkTimes]),
    q("prompt_tokens", |f, r| prompt(f, r).map(f64::from), once, prompt_fact),
    q("output_tokens", |f, r| output(f, r).map(f64::from), once, output_fact),
    q("total_tokens", both_tokens, once, |r| both(prompt_fact(r), output_fact(r))),
    q(
        "decode_tokens_per_s_per_request",
        |f, r| rate(later_tokens(f, r), decode(f, r)),
        once,
        |r| both(both(end_facts(r), output_fact(r)), first_fact(r)),
    ),
    q(
        "total_tokens_per_s_per_request",
        |f, r| rate(both_tokens(f, r), e2e(f, r)),
        once,
        |r| both(end_facts(r), both(prompt_fact(r), output_fact(r))),
    ),
    q(
        "output_tokens_per_s_per_request",
        |f, r| rate(all_tokens(f, r), e2e(f, r)),
        once,
        |r| both(end_facts(r), output_fact(r)),
    ),
    q(
        "prompt_tokens_per_s_per_request",
        |f, r| rate(prompt(f, r).map(f64::from), ttft(f, r)),
        once,
        |r| both(prompt_fact(r), first_fact(r)),
    ),
    q(
        "prompt_tokens_apart_percent",
        |f, _| apart(f.prompt, f.client_prompt),
        once,
        |_| vec![Fact::PromptTokens, Fact::ClientPromptTokens],
    ),
    q(
        "output_tokens_apart_percent",
        |f, _| apart(f.output, f.client_output),
        once,
        |_| vec![Fact::OutputTokens, Fact::ClientOutputTokens],
    ),
    q(
        "requested_tokens_apart_percent",
        |f, _| apart_from_requested(f),
        once,
        |_| vec![Fact::RequestedTokens, Fact::ClientOutputTokens],
    ),
    q("stream_events", |f, _| f.counted_events.map(f64::from), once, |_| vec![Fact::CountedChunks]),
    q("answer_tokens", answer_tokens, once, |r| both(vec![Fact::Reasoning], output_fact(r))),
    q(
        "first_answer_token_ms",
        |f, r| ttft(f, r).filter(|_| f.reasoning == Some(0)),
        once,
        |_| vec![Fact::FirstToken, Fact::AnswerStart],
    ),
    q("tokens_per_step", tokens_per_step, once, |r| both(vec![Fact::ChunkTimes], output_fact(r))),
    PER_LATER_CHUNK,
    Quantity { id: "tokens_per_chunk", also: Some(|f| f.counted_chunks.map(|_| (1.0, 1.0))), ..PER_LATER_CHUNK },
];

/// One mean a request over the chunks after the first, which is taken for one token.
const PER_LATER_CHUNK: Quantity = q(
    "tokens_per_later_chunk",
    |f, r| later_tokens(f, r).zip(later_chunks(f)).map(|(tokens, chunks)| tokens / chunks),
    |f, _| later_chunks(f),
    |r| both(vec![Fact::CountedChunks], output_fact(r)),
);

/// Tokens a chunk after the first, chunks of any kind; where there are no more tokens than chunks, nothing was speculated.
fn tokens_per_step(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    let chunks = f.chunks? + u32::from(f.first_chunk.is_some());
    let tokens = f64::from(output(f, r)?) - 1.0;
    Some(tokens / f64::from(chunks.checked_sub(1).filter(|n| *n > 0)?)).filter(|per_step| *per_step > 1.0)
}

fn answer_tokens(f: &RequestFacts, r: &Recipe) -> Option<f64> {
    output(f, r)?.checked_sub(f.reasoning?).map(f64::from)
}

fn later_chunks(f: &RequestFacts) -> Option<f64> {
    f.counted_chunks.filter(|n| *n > 1).map(|n| f64::from(n) - 1.0)
}

pub(crate) fn find(id: &str) -> Option<&'static Quantity> {
    QUANTITIES.iter().find(|q| q.id == id)
}

impl Quantity {
    /// Value and weight, where the request takes part and has one.
    pub(crate) fn of(&self, f: &RequestFacts, r: &Recipe) -> Option<Weighted> {
        let takes_part = match r.which {
            Which::Ok => f.answered,
            Which::All => true,
            Which::NotOk => !f.answered,
            Which::FailedForEver if !f.answered => return Some((f64::INFINITY, 1.0)),
            Which::FailedForEver => true,
        };
        let value = (self.value)(f, r).filter(|v| takes_part && v.is_finite())?;
        let weight = match r.weight {
            // A curve is none of requests.
            Weight::Request | Weight::Time => 1.0,
            Weight::Tokens => (self.tokens)(f, r)?,
        };
        Some((value, weight))
    }
}
