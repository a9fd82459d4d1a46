//! Lines of an SGLang server's log taken apart: stamp and ranks in front, then what the line says.

use super::spread::Values;
use crate::json::number;
use crate::text::name::snake_case;
use crate::text::stamp::CivilStamp;
use std::borrow::Cow;

/// Brackets looked at before a line is taken for one without a stamp; progress bars have many.
const MOST_BRACKETS: usize = 64;

/// A line with SGLang's own stamp.
#[derive(Debug, PartialEq)]
pub(crate) struct Stamped<'a> {
    pub stamp: CivilStamp,
    /// The stamp goes to the millisecond, not only to the second.
    pub fine: bool,
    /// Process number of a prefix such as `(Engine pid=12)`.
    pub pid: Option<&'a str>,
    /// Number behind `DP`.
    pub dp: Option<&'a str>,
    /// All ranks as they stand, `TP0 EP0`.
    pub ranks: &'a str,
    pub message: &'a str,
}

/// Looks for `[2026-01-02 03:04:05 DP0 TP0] `, which may stand behind another logger's prefix or a progress bar.
pub(crate) fn stamped(line: &str) -> Option<Stamped<'_>> {
    let mut from = 0;
    for _ in 0..MOST_BRACKETS {
        let open = from + line.get(from..)?.find('[')?;
        let (before, inside) = (line.get(..open)?, line.get(open + 1..)?);
        // Behind the text of a request, a stamp is the client's.
        if before.contains("obj=") || before.contains('{') {
            return None;
        }
        let parsed = CivilStamp::parse(inside).filter(|(stamp, _)| stamp.year.is_some());
        if let Some((stamp, rest)) = parsed {
            let (ranks, message) = rest.split_once(']')?;
            let ranks = ranks.trim();
            let known = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase());
            if !ranks.split_whitespace().all(known) {
                return None;
            }
            let stamp_text = inside.get(..inside.len() - rest.len())?;
            return Some(Stamped {
                stamp,
                fine: stamp_text.contains(['.', ',']),
                pid: pid(before),
                dp: ranks.split_whitespace().find_map(dp),
                ranks,
                message: message.trim(),
            });
        }
        from = open + 1;
    }
    None
}

fn dp(word: &str) -> Option<&str> {
    word.strip_prefix("DP").filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn pid(before: &str) -> Option<&str> {
    let text = before.split("pid=").nth(1)?;
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).filter(|digits| !digits.is_empty())
}

/// What a batch line or a line about retraction reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    Prefill,
    Decode,
    Retraction,
}

const RETRACTIONS: [&str; 2] = ["KV cache pool is full. Retract requests.", "Decode out of memory happened."];

/// Which report a message is, and its `key: value` pairs.
pub(crate) fn report(message: &str) -> Option<(Report, &str)> {
    for opening in RETRACTIONS {
        if let Some(rest) = message.strip_prefix(opening) {
            return Some((Report::Retraction, rest));
        }
    }
    let (report, rest) = match (message.strip_prefix("Prefill batch"), message.strip_prefix("Decode batch")) {
        (Some(rest), _) => (Report::Prefill, rest),
        (_, Some(rest)) => (Report::Decode, rest),
        _ => return None,
    };
    // `Prefill batch. `, `Prefill batch, `, `Prefill batch [12], `.
    let rest = match rest.strip_prefix(" [") {
        Some(numbered) => numbered.split_once(']')?.1,
        None => rest,
    };
    rest.strip_prefix([',', '.', ':']).map(|rest| (report, rest))
}

/// `key: value` pairs, separated by commas.
pub(crate) fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').filter_map(|pair| pair.split_once(':')).map(|(key, value)| (key.trim(), value.trim()))
}

/// The values of a batch line by series, and how many of its numbers are none.
pub(crate) fn batch_values(report: Report, text: &str) -> (Values, u64) {
    let mut values: Values = Vec::with_capacity(12);
    let (mut running, mut new, mut bad) = (None, 0.0, 0);
    let (mut usage, mut of_pools): (Option<f64>, Option<f64>) = (None, None);
    for (key, value) in pairs(text) {
        if matches!(value, "True" | "False") {
            continue;
        }
        let Some(value) = number(value.as_bytes()).filter(|v| v.is_finite() && *v >= 0.0) else {
            bad += 1;
            continue;
        };
        let series: Cow<'static, str> = match key {
            "#running-req" => {
                running = Some(value);
                continue;
            }
            "#new-seq" => {
                new = value;
                "batch_requests".into()
            }
            "token usage" => {
                usage = Some(value);
                continue;
            }
            "full token usage" | "swa token usage" | "mamba usage" => {
                of_pools = Some(of_pools.map_or(value, |fullest| fullest.max(value)));
                snake_case(key).into()
            }
            _ => canonical(key).map_or_else(|| snake_case(key).into(), Cow::from),
        };
        if !series.is_empty() {
            values.push((series, value));
        }
    }
    // The prefill line counts the running batch without the requests that it adds.
    let added = if report == Report::Prefill { new } else { 0.0 };
    values.extend(running.map(|count| ("running".into(), count + added)));
    values.extend(usage.or(of_pools).map(|share| ("kv_cache_usage".into(), share)));
    (values, bad)
}

fn canonical(key: &str) -> Option<&'static str> {
    Some(match key {
        "#queue-req" => "waiting",
        "#token" | "#full token" => "kv_cache_used_tokens",
        "#new-token" => "batch_prompt_tokens",
        "gen throughput (token/s)" => "output_tokens_per_s",
        "input throughput (token/s)" => "prompt_tokens_per_s",
        "accept len" => "spec_decode_acceptance_length",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_that_was_seen() {
        let plain = stamped("[2026-01-02 03:04:05] hello").unwrap();
        assert_eq!((plain.ranks, plain.dp, plain.pid, plain.fine, plain.message), ("", None, None, false, "hello"));
        let fine = stamped("[2026-09-24 01:47:50.615 DP3 TP3 EP3] Prefill batch [1], #new-seq: 1").unwrap();
        assert_eq!((fine.ranks, fine.dp, fine.fine), ("DP3 TP3 EP3", Some("3"), true));
        let ray = stamped("(Engine pid=100) [2026-01-02 03:04:05 PP0 ATTN_CP0 TP0] x").unwrap();
        assert_eq!((ray.pid, ray.ranks), (Some("100"), "PP0 ATTN_CP0 TP0"));
        let bar = "  0%|  | 0/42 [00:00<?, ?it/s][2026-01-02 03:04:05 TP6] Compiling";
        assert_eq!(stamped(bar).unwrap().message, "Compiling");
        for text in [
            "Finish: obj=GenerateReqInput(text='[2026-01-02 03:04:05] Decode batch, #running-req: 9')",
            "[rank0]:[W1 01:02:03.4 x.cpp:1] no",
            "[2026-01-02 03:04:05 said the user] Decode batch, #running-req: 9",
            "[2026-01-02 03:04",
            "no stamp",
        ] {
            assert_eq!(stamped(text), None, "{text}");
        }
    }

    #[test]
    fn every_spelling_of_a_batch() {
        for text in ["Prefill batch. #new-seq: 2", "Prefill batch, #new-seq: 2", "Prefill batch [7], #new-seq: 2"] {
            let (kind, rest) = report(text).unwrap();
            assert_eq!(batch_values(kind, rest), (vec![("batch_requests".into(), 2.0)], 0), "{text}");
        }
        assert_eq!(report("Prefill batches are fun"), None);
        let text =
            " #running-req: 9, #full token: 11, full token usage: 0.01, mamba usage: 0.60, #queue-req: x, #a-b: -1";
        let (values, bad) = batch_values(Report::Decode, text);
        let names: Vec<_> = values.iter().map(|(name, value)| (name.as_ref(), *value)).collect();
        assert_eq!(
            names,
            [
                ("kv_cache_used_tokens", 11.0),
                ("full_token_usage", 0.01),
                ("mamba_usage", 0.6),
                ("running", 9.0),
                ("kv_cache_usage", 0.6)
            ]
        );
        assert_eq!(bad, 2);
    }
}
