//! Runs whose times can be computed on paper, and what must hold in any run.

use crate::engine::{Engine, Place};
use crate::lengths::Lengths;
use crate::run::{Phase, Run};
use crate::scenario::*;
use crate::simulator::simulate;
use crate::summary::Summary;
use crate::{workload, write};

const MS: i64 = 1_000_000;

/// Steps of 5 ms and 0.1 ms a prompt token; nothing else takes time.
fn bare(requests: u32, prompt: u32, output: u32) -> Scenario {
    Scenario {
        load: Load { requests, arrivals: Arrivals::Unbounded, ..Load::default() },
        client: Client { send_cpu_us: 0.0, chunk_cpu_us: 0.0, ..Client::default() },
        prompts: Lengths::constant(prompt),
        outputs: Lengths::constant(output),
        server: Server { frontend_us: 0.0, tokenize_us_per_token: 0.0, output_us: 0.0, ..Server::default() },
        step: StepCost {
            cpu_us: 1000.0,
            cpu_us_per_request: 0.0,
            gpu_us: 4000.0,
            decode_us_per_request: 0.0,
            kv_read_ns_per_token: 0.0,
            prefill_us_per_token: 100.0,
            attention_ns_per_pair: 0.0,
            noise_sigma: 0.0,
        },
        network: Network { delay_us: 0.0, jitter_us: 0.0, ..Network::default() },
        ..Scenario::default()
    }
}

fn run(scenario: &Scenario) -> Run {
    simulate(scenario).unwrap()
}

fn gaps(run: &Run, i: usize) -> Vec<i64> {
    run.requests[i].gaps_ns().collect()
}

#[test]
fn one_request_alone() {
    // 5 + 100 × 0.1 ms to the first token, then 5 ms for each of three.
    let run = run(&bare(1, 100, 4));
    let request = &run.requests[0];
    assert_eq!(request.ttft_ns(), Some(15 * MS));
    assert_eq!(gaps(&run, 0), [5 * MS; 3]);
    assert_eq!(
        (request.queue_ns(), request.prefill_ns(), request.decode_ns()),
        (Some(0), Some(15 * MS), Some(15 * MS))
    );
    assert_eq!(run.duration_ns, 30 * MS);
}

#[test]
fn parts_of_a_step_add_up() {
    let mut scenario = bare(1, 100, 3);
    scenario.step.decode_us_per_request = 500.0;
    scenario.step.kv_read_ns_per_token = 10_000.0;
    scenario.step.attention_ns_per_pair = 100.0;
    let run = run(&scenario);
    // 100 tokens have 100 × 100 / 2 pairs: 0.5 ms.
    assert_eq!(run.requests[0].ttft_ns(), Some(15 * MS + 500_000));
    // 5 + 0.5 ms, and 101 then 102 tokens read at 0.01 ms.
    assert_eq!(gaps(&run, 0), [6_510_000, 6_520_000]);
}

#[test]
fn a_chunked_prompt_shares_steps() {
    let mut scenario = bare(2, 100, 6);
    scenario.load.arrivals = Arrivals::Constant;
    scenario.load.rate_per_s = 50.0; // due at 20 and 40 ms
    scenario.server.max_num_seqs = 8;
    scenario.server.max_num_batched_tokens = 61;
    let run = run(&scenario);
    // First: 61 tokens 20-31.1, 39 tokens 31.1-40; decodes follow. The second is due at 40, just after a step began, and
    // waits 5 ms: then one decode and 60 tokens take 11 ms, one decode and 40 take 9.
    assert_eq!(run.requests[0].ttft_ns(), Some(20 * MS));
    assert_eq!(gaps(&run, 0), [5 * MS, 11 * MS, 9 * MS, 5 * MS, 5 * MS]);
    assert_eq!(run.requests[1].ttft_ns(), Some(25 * MS));
}

#[test]
fn a_whole_prompt_stops_decodes() {
    let mut scenario = bare(2, 100, 4);
    scenario.load.arrivals = Arrivals::Constant;
    scenario.load.rate_per_s = 50.0;
    scenario.server.chunked_prefill = false;
    let run = run(&scenario);
    // First: prompt 20-35, decodes 35-40 and 40-45. Second due at 40: its prompt alone, 45-60, then both decode.
    assert_eq!(gaps(&run, 0), [5 * MS, 5 * MS, 20 * MS]);
    assert_eq!(run.requests[1].queue_ns(), Some(5 * MS));
    assert_eq!(run.requests[1].ttft_ns(), Some(20 * MS));
}

/// Two requests of 16 + 20 tokens on three blocks of 16.
fn tight(mode: PreemptionMode) -> Scenario {
    let mut scenario = bare(2, 16, 20);
    scenario.kv = KvCache { block_size: 16, num_blocks: 3 };
    scenario.server.max_model_len = 48;
    scenario.server.preemption = mode;
    scenario.server.swap_us_per_block = 1000.0;
    scenario
}

#[test]
fn who_came_last_is_preempted_when_blocks_run_out() {
    let run = run(&tight(PreemptionMode::Recompute));
    // The first prompt 0-6.6 ms, a block; its first decode and the second prompt 6.6-13.2, a block each. Then the second
    // request's first decode finds none and it goes. The first is done 18 steps later, at 103.2; then 17 tokens are
    // computed again: 6.7 ms.
    let preemption = run.preemptions[0];
    assert_eq!(run.preemptions.len(), 1);
    assert_eq!((preemption.request, preemption.phase, preemption.lost_tokens), (1, Phase::Decode, 16));
    assert_eq!((preemption.from_ns, preemption.to_ns), (13_200_000, Some(103_200_000)));
    assert_eq!(preemption.recovered_ns, Some(109_900_000));
    assert_eq!((gaps(&run, 0)[0], &gaps(&run, 0)[1..]), (6_600_000, [5 * MS; 18].as_slice()));
    assert_eq!(gaps(&run, 1)[0], 109_900_000 - 13_200_000);
    assert_eq!(run.requests[1].ttft_ns(), Some(13_200_000));
    assert_eq!(run.requests[1].preemptions, 1);
}

#[test]
fn swapping_copies_back_instead() {
    let run = run(&tight(PreemptionMode::Swap));
    // One block of 16 tokens comes back in 1 ms, then a decode step.
    assert_eq!(run.preemptions[0].lost_tokens, 0);
    assert_eq!(run.preemptions[0].recovered_ns, Some(103_200_000 + MS + 5 * MS));
}

#[test]
fn lazy_admission_preempts_during_prefill() {
    let mut scenario = bare(2, 40, 20);
    scenario.kv = KvCache { block_size: 16, num_blocks: 4 };
    scenario.server.max_model_len = 64;
    scenario.server.max_num_seqs = 8;
    scenario.server.max_num_batched_tokens = 24;
    scenario.server.lazy_admission = true;
    let lazy = run(&scenario);
    // Step 1: 24 tokens of the first. Step 2: its other 16, and 8 of the second: four blocks in use. Step 3: the second
    // needs another block.
    assert_eq!(lazy.preemptions[0].phase, Phase::Prefill);
    assert!(lazy.requests[1].ttft_ns() > Some(100 * MS));
    scenario.server.lazy_admission = false;
    assert!(run(&scenario).preemptions.is_empty());
}

#[test]
fn a_prefix_saves_its_prefill() {
    let mut scenario = bare(3, 20, 2);
    scenario.load.max_concurrency = Some(1);
    scenario.prefix = Prefix { caching: true, share: 1.0, groups: 1, tokens: 64 };
    let found = run(&scenario);
    let ttft = |run: &Run| run.requests.iter().map(|r| r.ttft_ns().unwrap()).collect::<Vec<_>>();
    assert_eq!(ttft(&found), [13_400_000, 7 * MS, 7 * MS]);
    assert_eq!(found.requests[1].cached_tokens, 64);
    scenario.prefix.caching = false;
    assert_eq!(ttft(&run(&scenario)), [13_400_000; 3]);
}

#[test]
fn speculation_and_stream_interval_put_several_tokens_into_a_chunk() {
    let mut scenario = bare(1, 10, 10);
    scenario.speculation = Speculation { draft_tokens: 2, acceptance: 1.0, draft_us_per_token: 500.0 };
    let sure = run(&scenario);
    assert_eq!(sure.requests[0].chunks.iter().map(|c| c.1).collect::<Vec<_>>(), [1, 3, 3, 3]);
    assert_eq!(gaps(&sure, 0), [6 * MS; 3]);
    scenario.speculation.draft_tokens = 0;
    scenario.server.stream_interval = 4;
    let spaced = run(&scenario);
    assert_eq!(spaced.requests[0].chunks.iter().map(|c| c.1).collect::<Vec<_>>(), [1, 4, 4, 1]);
}

#[test]
fn a_busy_client_sends_and_reads_late() {
    let mut scenario = bare(3, 10, 2);
    scenario.client.send_cpu_us = 10_000.0;
    let late = run(&scenario);
    assert_eq!(late.requests.iter().map(|r| r.sent_ns).collect::<Vec<_>>(), [10 * MS, 20 * MS, 30 * MS]);
    let mut scenario = bare(2, 10, 2);
    scenario.client.connections = Some(1);
    let one = run(&scenario);
    assert_eq!(one.requests[1].sent_ns, 0);
    assert_eq!(one.requests[1].left_client_ns, 11 * MS);
    assert_eq!(one.requests[1].ttft_ns(), Some(17 * MS));
}

#[test]
fn failures_are_the_clients() {
    let mut scenario = bare(40, 10, 30);
    scenario.failures.http_500_share = 0.5;
    let failed = run(&scenario);
    let errors = failed.requests.iter().filter(|r| !r.ok()).count();
    assert!((10..30).contains(&errors));
    assert!(failed.requests.iter().filter(|r| !r.ok()).all(|r| r.chunks.is_empty()));
    let mut scenario = bare(1, 10, 30);
    scenario.client.timeout_ms = Some(21.5);
    let given_up = run(&scenario);
    assert_eq!(given_up.requests[0].error.as_deref(), Some("TimeoutError"));
    assert_eq!(given_up.requests[0].chunks.len(), 4); // at 6, 11, 16 and 21 ms
    assert_eq!(given_up.duration_ns, 21_500_000);
}

/// Scenarios of all kinds, small.
fn varied() -> Vec<Scenario> {
    let mut all = Vec::new();
    for seed in 0..48u64 {
        let mut s = Scenario { seed, ..Scenario::default() };
        s.load = Load { requests: 40, rate_per_s: 8.0, burstiness: 0.4, ..Load::default() };
        s.load.arrivals = [Arrivals::Gamma, Arrivals::Poisson, Arrivals::Unbounded][seed as usize % 3];
        s.load.max_concurrency = (seed % 4 == 0).then_some(9);
        s.prompts = Lengths::lognormal(120.0, 0.8, 400);
        s.outputs = Lengths::lognormal(60.0, 0.8, 200);
        s.server.max_model_len = 640;
        s.kv = KvCache { block_size: 16, num_blocks: 40 + 20 * (seed as u32 % 5) };
        s.server.max_num_batched_tokens = 128 << (seed % 3);
        s.server.chunked_prefill = seed % 5 != 0;
        s.server.lazy_admission = seed % 2 == 0;
        s.server.preemption = if seed % 7 == 0 { PreemptionMode::Swap } else { PreemptionMode::Recompute };
        s.server.stream_interval = 1 + (seed % 8 == 3) as u32 * 4;
        s.speculation.draft_tokens = (seed % 6 == 2) as u32 * 3;
        s.prefix = Prefix { caching: true, share: 0.6, groups: 4, tokens: 50 };
        s.failures.http_500_share = 0.05;
        s.failures.broken_stream_share = 0.05;
        s.client.timeout_ms = (seed % 9 == 4).then_some(4000.0);
        s.disturbances.server_stalls = Stalls { per_s: 0.5, length_ms: 80.0, spread: 1.0 };
        s.network.holds = Stalls { per_s: 0.5, length_ms: 120.0, spread: 1.0 };
        s.network.hold_share = 0.5;
        all.push(s);
    }
    all
}

#[test]
fn tokens_are_conserved_and_times_are_ordered() {
    let mut preempted = 0;
    for scenario in varied() {
        let run = run(&scenario);
        preempted += run.preemptions.len();
        for r in &run.requests {
            let sent: u32 = r.chunks.iter().map(|c| c.1).sum();
            if r.ok() {
                assert_eq!((sent, r.generated_tokens), (r.output_tokens, r.output_tokens));
            }
            assert!(sent <= r.generated_tokens && r.generated_tokens <= r.output_tokens);
            assert!(r.gaps_ns().all(|gap| gap > 0));
            let client = [Some(r.due_ns), Some(r.entered_ns), Some(r.sent_ns), Some(r.left_client_ns)];
            let server = [r.arrival_ns, r.queued_ns, r.first_scheduled_ns, r.first_token_ns, r.last_token_ns];
            let order: Vec<i64> = client.into_iter().chain(server).flatten().collect();
            assert!(order.is_sorted(), "{r:?}");
            assert!(r.done_ns >= r.sent_ns && r.chunks.iter().all(|c| c.0 <= r.done_ns));
        }
        for p in &run.preemptions {
            assert!(p.to_ns.is_none_or(|to| to >= p.from_ns) && p.recovered_ns.is_none_or(|r| Some(r) >= p.to_ns));
        }
        let of_requests: u32 = run.requests.iter().map(|r| r.preemptions).sum();
        assert_eq!(of_requests as usize, run.preemptions.len());
        let made: u64 = run.requests.iter().map(|r| u64::from(r.generated_tokens)).sum();
        assert_eq!(run.counters.generation_tokens, made);
        assert!(Summary::of(&run).kv_peak <= 1.0);
    }
    assert!(preempted > 100, "{preempted}");
}

#[test]
fn blocks_never_exceed_the_cache_and_all_come_back() {
    for scenario in varied() {
        let planned = workload::draw(&scenario).unwrap();
        let mut engine = Engine::new(&scenario, &planned);
        (0..planned.len() as u32).for_each(|i| engine.enqueue(i));
        let mut t = 0;
        while let Some(plan) = engine.plan(t) {
            assert!(engine.kv.consistent() && engine.kv.used() <= engine.kv.total);
            t = engine.next_ready(t).unwrap_or(t).max(t + 1000);
            engine.finish_step(&plan.entries, t);
        }
        // Only copies on their way back can have kept the engine from a plan.
        if engine.next_ready(t).is_none() {
            assert!(engine.live.iter().all(|l| l.place == Place::Gone));
            assert_eq!(engine.kv.used(), 0);
        }
    }
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let files = |scenario: &Scenario| {
        let run = run(scenario);
        let mut out = vec![Vec::new(); 5];
        write::result(&run, &mut out[0]).unwrap();
        write::server_log(&run, &mut out[1]).unwrap();
        write::metrics(&run, &mut out[2]).unwrap();
        write::spans(&run, &mut out[3]).unwrap();
        write::truth(&run, &mut out[4]).unwrap();
        out
    };
    for scenario in varied().iter().take(4) {
        let first = files(scenario);
        assert!(first == files(scenario));
        assert!(first[0] != files(&Scenario { seed: 99, ..scenario.clone() })[0]);
        let json: serde_json::Value = serde_json::from_slice(&first[0]).unwrap();
        assert_eq!(json["itls"].as_array().unwrap().len(), 40);
        assert!(serde_json::from_slice::<serde_json::Value>(&first[4]).unwrap()["requests"].is_array());
    }
}

#[test]
fn a_run_without_end_is_refused() {
    let mut scenario = bare(2000, 10, 2000);
    scenario.step.gpu_us = 9e6;
    scenario.server.max_num_seqs = 1;
    assert!(simulate(&scenario).unwrap_err().to_string().contains("not done after"));
}

#[test]
fn absurd_values_end_soon() {
    let mut stalled = bare(50, 10, 50);
    let always = Stalls { per_s: 20.0, length_ms: 600_000.0, spread: 1.0 };
    stalled.disturbances.server_stalls = always.clone();
    // Either it is over within a simulated day or it is refused: it ends.
    assert!(simulate(&stalled).map_or(true, |run| run.duration_ns < 86_400_000_000_000));
    let mut unread = bare(20, 10, 500);
    unread.client = Client { chunk_cpu_us: 1e6, stalls: always.clone(), ..Client::default() };
    unread.network.holds = always;
    assert!(simulate(&unread).map_or(true, |run| run.duration_ns < 86_400_000_000_000));
    let mut crowd = bare(20_000, 1, 1);
    crowd.client.timeout_ms = Some(1.0);
    assert_eq!(simulate(&crowd).unwrap().requests.len(), 20_000);
    let mut starved = bare(300, 200, 30);
    starved.kv = KvCache { block_size: 1, num_blocks: 240 };
    starved.server.max_model_len = 240;
    assert!(simulate(&starved).is_ok());
}
