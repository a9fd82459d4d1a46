//! Which request of the server is which of the client's: by id, else by the number in the id, else by order.

use super::client_trace::ClientRequest;
use super::recording::ServerRequest;
use std::collections::{BTreeMap, HashMap};

/// How requests were joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinRule {
    /// Both sides name the same id.
    Id,
    /// The server's ids end in the position of the request in the client's file (`cmpl-bench-<run>-<i>-0`).
    Number,
    /// The order of arrival is the order of sending, and prompt lengths agree.
    Order,
}

/// The joined requests.
pub(crate) struct Joined {
    pub rule: JoinRule,
    /// For each request of the client, the position of the server's.
    pub server_of: Vec<Option<usize>>,
    /// Requests whose prompt lengths differ between the two.
    pub disagreeing: u64,
}

impl Joined {
    pub(crate) fn count(&self) -> usize {
        self.server_of.iter().flatten().count()
    }

    /// Joined pairs.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.server_of.iter().enumerate().filter_map(|(client, server)| Some((client, (*server)?)))
    }
}

/// A join by number or order must agree in this share of the prompt lengths that both sides know.
const AGREEING_SHARE: f64 = 0.95;
/// A join by number must find this share of the client's requests.
const COVERED_SHARE: f64 = 0.5;
/// Arrival after sending varies by less than this for nine requests in ten of a join by order: else it is another order.
const ORDER_SPREAD_NS: i64 = 2_000_000_000;

/// A client cannot have waited less than the server took, but for what the stamps of both are cut by …
const LESS_NS: i64 = 5_000_000;
/// … and waits more by the way there and back, and by its own delays: a tenth of a second, or a twentieth of the time.
const MORE_NS: i64 = 100_000_000;
const MORE_PART: i64 = 20;
/// Share of the durations that must fit.
const FITTING_SHARE: f64 = 0.9;

/// Joins `server` to `client`; `None` where no rule can be trusted. `dated`: something else tells the runs of one
/// workload apart, so that a client that was slow to read is no other run.
pub(crate) fn join(client: &[ClientRequest], server: &[ServerRequest], dated: bool) -> Option<Joined> {
    if client.is_empty() || server.is_empty() {
        return None;
    }
    by_id(client, server, dated)
        .or_else(|| by_number(client, server, dated))
        .or_else(|| by_order(client, server, dated))
}

fn by_id(client: &[ClientRequest], server: &[ServerRequest], dated: bool) -> Option<Joined> {
    let mut position: HashMap<&str, usize> = HashMap::new();
    for (i, s) in server.iter().enumerate() {
        if let Some(id) = s.request_id.as_deref() {
            position.entry(id).or_insert(i);
            position.entry(core_of_id(id)).or_insert(i);
        }
    }
    let found = |c: &ClientRequest| {
        let id = c.request_id.as_deref()?;
        position.get(id).or_else(|| position.get(core_of_id(id))).copied()
    };
    let server_of: Vec<Option<usize>> = client.iter().map(found).collect();
    finish(JoinRule::Id, server_of, client, server, dated).filter(|j| j.count() > 0)
}

/// `cmpl-abc-0` and `chatcmpl-abc` are `abc`: servers put the kind of request before the client's id, and the number of
/// the prompt inside the request behind it.
fn core_of_id(id: &str) -> &str {
    let id = ["chatcmpl-", "cmpl-", "req-"].iter().find_map(|p| id.strip_prefix(p)).unwrap_or(id);
    id.strip_suffix("-0").unwrap_or(id)
}

/// `cmpl-bench-4abc9f14-58-0` is request 58 of `bench-4abc9f14-`.
fn numbered(id: &str) -> Option<(&str, usize)> {
    let core = core_of_id(id);
    let digits = core.len() - core.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, number) = core.split_at(core.len() - digits);
    // An id that is all digits and letters ends in digits by chance.
    let separated = prefix.ends_with(['-', '_', '.', ':', '/']);
    if !separated || digits > 9 { None } else { Some((prefix, number.parse().ok()?)) }
}

fn by_number(client: &[ClientRequest], server: &[ServerRequest], dated: bool) -> Option<Joined> {
    let mut groups: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, s) in server.iter().enumerate() {
        if let Some((prefix, number)) = s.request_id.as_deref().and_then(numbered)
            && number < client.len()
        {
            groups.entry(prefix).or_default().push((number, at));
        }
    }
    let best = groups.into_values().max_by_key(Vec::len)?;
    let mut server_of = vec![None; client.len()];
    for (number, at) in best {
        // The first of a repeated number is the request, later ones are its retries.
        server_of[number].get_or_insert(at);
    }
    let covered = server_of.iter().flatten().count() as f64 / client.len() as f64;
    finish(JoinRule::Number, server_of, client, server, dated).filter(|_| covered >= COVERED_SHARE)
}

fn by_order(client: &[ClientRequest], server: &[ServerRequest], dated: bool) -> Option<Joined> {
    let mut sent: Vec<usize> = (0..client.len()).collect();
    // A client without send times lists its requests in the order in which it sent them.
    sent.sort_by_key(|i| (client[*i].sent_ns, *i));
    let mut arrived: Vec<usize> = (0..server.len()).filter(|i| server[*i].arrival_ns.is_some()).collect();
    arrived.sort_by_key(|i| (server[*i].arrival_ns, *i));
    if arrived.len() < sent.len() {
        return None;
    }
    let lengths: Vec<Option<u32>> = client.iter().map(|c| c.prompt_tokens).collect();
    let varied = lengths.iter().flatten().collect::<std::collections::BTreeSet<_>>().len() > 2;
    let agreeing = |skip: usize| {
        let pairs = sent.iter().zip(&arrived[skip..]);
        pairs.filter(|(c, s)| lengths[**c].is_some() && lengths[**c] == server[**s].prompt_tokens).count()
    };
    // Warm-up requests come first and others may follow: every start is tried, the best one counts.
    let surplus = arrived.len() - sent.len();
    let skip = (0..=surplus.min(1000)).max_by_key(|skip| (agreeing(*skip), usize::MAX - skip))?;
    if surplus > 0 && !varied {
        return None;
    }
    let mut server_of = vec![None; client.len()];
    for (c, s) in sent.iter().zip(&arrived[skip..]) {
        server_of[*c] = Some(*s);
    }
    finish(JoinRule::Order, server_of, client, server, dated).filter(|j| order_holds(j, client, server))
}

/// Arrivals follow sends at an even distance.
fn order_holds(joined: &Joined, client: &[ClientRequest], server: &[ServerRequest]) -> bool {
    let delay = |(c, s): (usize, usize)| Some(server[s].arrival_ns?.saturating_sub(client[c].sent_ns?));
    let mut delays: Vec<i64> = joined.pairs().filter_map(delay).collect();
    if delays.len() < 2 {
        return joined.disagreeing == 0
            && joined.pairs().all(|(c, s)| client[c].prompt_tokens == server[s].prompt_tokens);
    }
    delays.sort_unstable();
    let tenth = delays.len() / 20;
    delays[delays.len() - 1 - tenth].saturating_sub(delays[tenth]) < ORDER_SPREAD_NS
}

fn finish(
    rule: JoinRule,
    server_of: Vec<Option<usize>>,
    client: &[ClientRequest],
    server: &[ServerRequest],
    dated: bool,
) -> Option<Joined> {
    let mut joined = Joined { rule, server_of, disagreeing: 0 };
    let (mut both, mut differ) = (0u64, 0u64);
    for (c, s) in joined.pairs() {
        if let (Some(a), Some(b)) = (client[c].prompt_tokens, server[s].prompt_tokens) {
            both += 1;
            differ += u64::from(a != b);
        }
    }
    joined.disagreeing = differ;
    // Ids that agree are the same request whatever the counts, but clients number anew in each run; numbers and order
    // must earn their trust.
    let anything = |_| i64::MAX;
    let a_little = |took: i64| MORE_NS.max(took / MORE_PART);
    let most_more: &dyn Fn(i64) -> i64 = if dated || rule == JoinRule::Id { &anything } else { &a_little };
    let trusted = match rule {
        JoinRule::Id => durations_fit(&joined, client, server, most_more),
        JoinRule::Number | JoinRule::Order => {
            let agreeing = differ as f64 <= both as f64 * (1.0 - AGREEING_SHARE);
            agreeing && durations_fit(&joined, client, server, most_more)
        }
    };
    trusted.then_some(joined)
}

/// The same workload sent twice has the same numbers, order and lengths, but not the same durations: what the client
/// waited is what the server took and a little more. Without durations on both sides there is nothing to object.
/// `most_more`: what the client may have waited beyond the time that the server took.
fn durations_fit(
    joined: &Joined,
    client: &[ClientRequest],
    server: &[ServerRequest],
    most_more: &dyn Fn(i64) -> i64,
) -> bool {
    let (mut both, mut fit) = (0u64, 0u64);
    for (c, s) in joined.pairs() {
        let (c, s) = (&client[c], &server[s]);
        let since_arrival = |at: Option<i64>| at?.checked_sub(s.arrival_ns?);
        let pairs = [(c.e2e_ns, since_arrival(s.last_token_ns)), (c.ttft_ns, since_arrival(s.first_token_ns))];
        for (waited, took) in pairs.into_iter().filter_map(|(waited, took)| Some((waited?, took?))) {
            let more = waited.saturating_sub(took);
            both += 1;
            fit += u64::from((-LESS_NS..=most_more(took)).contains(&more));
        }
    }
    fit as f64 >= both as f64 * FITTING_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(ids: &[Option<&str>], prompts: &[u32]) -> Vec<ClientRequest> {
        let one = |(i, (id, prompt)): (usize, (&Option<&str>, &u32))| ClientRequest {
            request_id: id.map(String::from),
            sent_ns: Some(i as i64 * 1_000_000_000),
            prompt_tokens: Some(*prompt),
            ..ClientRequest::default()
        };
        ids.iter().zip(prompts).enumerate().map(one).collect()
    }

    fn server(rows: &[(&str, i64, u32)]) -> Vec<ServerRequest> {
        let one = |(id, at, prompt): &(&str, i64, u32)| ServerRequest {
            request_id: Some(id.to_string()),
            arrival_ns: Some(*at),
            prompt_tokens: Some(*prompt),
            ..ServerRequest::default()
        };
        rows.iter().map(one).collect()
    }

    #[test]
    fn ids_numbers_and_order() {
        let with_ids = client(&[Some("a"), Some("b")], &[5, 6]);
        let joined = join(&with_ids, &server(&[("cmpl-b-0", 1, 6), ("cmpl-a-0", 2, 5)]), false).unwrap();
        assert_eq!((joined.rule, joined.server_of), (JoinRule::Id, vec![Some(1), Some(0)]));

        let none = client(&[None, None], &[5, 6]);
        let rows = server(&[("cmpl-warm", 0, 9), ("cmpl-bench-7-1-0", 9, 6), ("cmpl-bench-7-0-0", 8, 5)]);
        let joined = join(&none, &rows, false).unwrap();
        assert_eq!((joined.rule, joined.server_of), (JoinRule::Number, vec![Some(2), Some(1)]));
        // The same numbers with other prompt lengths are another run's.
        assert!(join(&none, &server(&[("cmpl-bench-7-1-0", 9, 60), ("cmpl-bench-7-0-0", 8, 50)]), false).is_none());
    }

    #[test]
    fn order_skips_the_warm_up_and_refuses_what_does_not_fit() {
        let c = client(&[None, None, None, None], &[5, 6, 7, 8]);
        let s = 1_000_000_000;
        let rows = [("w", 0, 1), ("q", 10 * s, 5), ("r", 11 * s, 6), ("t", 12 * s, 7), ("u", 13 * s, 8)];
        let joined = join(&c, &server(&rows), false).unwrap();
        assert_eq!((joined.rule, joined.server_of), (JoinRule::Order, vec![Some(1), Some(2), Some(3), Some(4)]));
        let other = [("q", 10 * s, 5), ("r", 31 * s, 6), ("t", 32 * s, 7), ("u", 90 * s, 8)];
        assert!(join(&c, &server(&other), false).is_none());
    }
}
