//! The analysis of one run.

use crate::availability::{Unavailable, explain};
use crate::bucket::{BucketEdges, BucketResult};
use crate::convention::client::ClientConvention;
use crate::convention::computed::{Computed, Known};
use crate::convention::facts::Columns;
use crate::convention::find;
use crate::convention::prepared::{self, Prepared};
use crate::convention::redefined::{Redefined, RequestColumn, gap_rule};
use crate::error::AnalysisError;
use crate::evidence::{self, Evidence};
use crate::facts::RunFacts;
use crate::figure::{MetricSummary, RunValue};
use crate::gap_rule::GapRule;
use crate::gaps::{self, ChunkFacts};
use crate::in_flight::{InFlight, peak_in_1s};
use crate::metric::{Compute, Metric};
use crate::metrics::METRICS;
use crate::objective::Objective;
use crate::parity::{self, Ours, ReportedFigure};
use crate::requests::Requests;
use crate::scope::Scope;
use crate::server::facts::Question;
use crate::server::tracks::Tracks;
use crate::shape::{self, Shapes};
use crate::stall::{StallFindings, Stalls};
use crate::steady::{self, SteadyState};
use crate::summary::{PERCENTILES, Summary};
use crate::timeline::{self, Timeline};
use crate::window::Window;
use postrun_schema::{Dataset, Manifest, Table};
use serde::Serialize;

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Prompt-length buckets; `None`: automatic.
    pub buckets: Option<BucketEdges>,
    /// Percentiles beyond the usual ones, 0 to 100.
    pub percentiles: Vec<f64>,
    /// Objectives for goodput.
    pub objectives: Vec<Objective>,
    /// Only this part of the run.
    pub window: Option<Window>,
    /// By whose definitions; the default is postrun's.
    pub convention: &'static ClientConvention,
    /// Also what pictures are drawn from: that takes a pass over every metric more.
    pub shapes: bool,
    /// Also the client's figures of curves over time: that takes memory for all gaps between chunks at once.
    pub curves: bool,
    /// Also the values of single requests by another convention, which `samples` takes.
    pub rows: bool,
    /// Metrics alone: long pauses are judged only where a metric rests on them, no evidence for a diagnosis is collected, and the
    /// timeline has no gaps.
    pub metrics_only: bool,
}

/// How many requests, and how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RequestCounts {
    /// Measured requests.
    pub total: u64,
    /// Answered.
    pub ok: u64,
    /// Failed or cancelled.
    pub failed: u64,
    /// Still running at the end.
    pub incomplete: u64,
    /// Warm-up, cool-down and probes: in no figure.
    pub not_measured: u64,
}

/// Everything that is known of one run. Plain data; times in nanoseconds unless named otherwise.
#[derive(Debug, Clone)]
pub struct RunAnalysis {
    /// The dataset's manifest.
    pub manifest: Manifest,
    /// How many requests.
    pub requests: RequestCounts,
    /// Percentiles the user asked for or sees by default.
    pub percentiles: Vec<f64>,
    /// The window, where one was asked for.
    pub window: Option<Window>,
    /// By whose definitions the metrics were computed.
    pub convention: &'static ClientConvention,
    /// The sums behind the per-run figures.
    pub facts: RunFacts,
    /// True: the duration is the client's own measurement; false: first send to last token; `None`: not known.
    pub duration_is_clients: Option<bool>,
    /// Per-run figures, in registry order.
    pub values: Vec<RunValue>,
    /// Distributions, in registry order.
    pub metrics: Vec<MetricSummary>,
    /// By prompt length; empty without per-request records.
    pub buckets: Vec<BucketResult>,
    /// The steady part of the whole run, or why there is none.
    pub steady: Result<SteadyState, String>,
    /// Over time; `None` without send times.
    pub timeline: Option<Timeline>,
    /// Long pauses in streams, with what they look like; `None` without chunk times.
    pub stalls: Option<Stalls>,
    /// What a diagnosis rests on beyond the metrics; of the whole run.
    pub evidence: Evidence,
    /// What pictures are drawn from, where it was asked for.
    pub shapes: Option<Shapes>,
    /// Values of single requests by another convention, where they were asked for.
    pub rows: Vec<RequestColumn>,
    /// Objectives asked for.
    pub objectives: Vec<Objective>,
    /// The client's own figures; empty when only a window was analysed.
    pub reported: Vec<ReportedFigure>,
    /// Metrics without a value.
    pub unavailable: Vec<Unavailable>,
}

impl RunAnalysis {
    /// The distribution of a metric over the whole scope.
    pub fn metric(&self, id: &str) -> Option<&Summary> {
        self.metrics.iter().find(|m| m.metric == id).map(|m| &m.summary)
    }

    /// True where something is known of how fast single requests were answered.
    pub fn has_latencies(&self) -> bool {
        self.metrics.iter().any(|m| !m.is_of_the_load())
    }

    /// True for a workload: requests with their sends, and nothing that tells when any of them was answered.
    pub fn is_workload(&self) -> bool {
        let timed = self.has_latencies() || self.manifest.duration_ns.is_some() || !self.reported.is_empty();
        self.facts.arrivals.is_some() && self.requests.ok > 0 && !timed && self.manifest.clocks.server.is_none()
    }

    /// False where nothing tells how many requests there were: not measured is not zero.
    pub fn counts_requests(&self) -> bool {
        let counted = &self.manifest.counted;
        let records = self.manifest.tables.get(Table::Requests.name()).is_some_and(|table| table.rows > 0);
        records || counted.completed.is_some() || counted.failed.is_some()
    }

    /// A statistic of a metric: `value` of a per-run figure, else one of its distribution.
    pub fn figure(&self, metric: &str, stat: &str) -> Option<f64> {
        match stat {
            "value" => self.value(metric),
            stat => self.metric(metric)?.stat(stat),
        }
    }

    /// A per-run figure.
    pub fn value(&self, id: &str) -> Option<f64> {
        self.values.iter().find(|v| v.metric == id).map(|v| v.value)
    }
}

/// Analyses the run in `dataset`.
pub fn analyse(dataset: &Dataset, options: &Options) -> Result<RunAnalysis, AnalysisError> {
    let manifest = dataset.manifest();
    let requests = Requests::load(dataset)?;
    if options.window.is_some() && requests.extent().is_none() {
        return Err(AnalysisError::NoSendTimes { label: manifest.label.clone() });
    }
    let window = options.window.map(|w| clip(w, &requests));
    if window.is_some_and(|w| w.start_ns >= w.end_ns) {
        let run_s = requests.extent().map_or(0.0, |s| s.end_ns as f64 / 1e9);
        return Err(AnalysisError::WindowOutside { label: manifest.label.clone(), run_s });
    }
    let reported = parity::load(dataset)?;
    let percentiles = all_percentiles(options, &reported);

    let lengths: Vec<u32> =
        (0..requests.len()).filter(|i| requests.measured[*i]).filter_map(|i| requests.prompt_tokens[i]).collect();
    let edges = options.buckets.clone().unwrap_or_else(|| BucketEdges::automatic(&lengths));
    let assigned = edges.assign(&requests);
    let mut buckets = if requests.len() > 0 { edges.results(&requests, &assigned, window) } else { Vec::new() };

    let in_flight = InFlight::of(&requests);
    let found = steady::find(&requests, &in_flight, manifest.load.max_concurrency);
    let axis = requests.extent().map(|run| {
        let (width, n) = timeline::axis(run.end_ns - run.start_ns);
        (run.start_ns, width, n)
    });
    let tracks = Tracks::load(dataset)?;
    let client = options.convention;
    let columns = match requests.len() > 0 && (client.is_another() || !reported.is_empty()) {
        true => Columns::load(dataset)?,
        false => Columns::default(),
    };
    let chunks = gaps::read(&gaps::Plan {
        dataset,
        requests: &requests,
        buckets: &assigned,
        n_buckets: edges.0.len() + 1,
        window,
        steady: found.as_ref().ok().map(|f| f.0),
        timeline: axis,
        gaps_over_time: !options.metrics_only,
        percentiles: &percentiles,
        tracks: &tracks,
        rules: &gap_rules(client, &reported),
        columns: &columns,
        second_gaps: reported.iter().any(|(figure, _)| figure.metric == "second_token_ms"),
        // How many requests were preempted is read off their pauses, where the server counts preemptions.
        pauses: !options.metrics_only || tracks.get("preemptions_total").is_some(),
    })?;

    let timeline = axis.map(|axis| timeline::over_time(axis, &requests, &in_flight, chunks.as_ref(), &tracks));
    let plain = Redefined::default();
    let scope = Scope {
        requests: &requests,
        in_flight: &in_flight,
        window,
        window_tokens: chunks.as_ref().map(|c| c.tokens),
        percentiles: &percentiles,
        redefined: &plain,
    };
    let mut facts = scope.facts(manifest, &options.objectives);
    let stalls = chunks.as_ref().and_then(|c| c.stalls.as_ref());
    facts.server = Question { tracks: &tracks, requests: &requests, manifest, window, stalls }.answer();
    if window.is_none() {
        facts.peak_arrivals_per_s = timeline.as_ref().and_then(Timeline::peak_sent_per_s);
        facts.peak_concurrency = in_flight.peak();
        facts.peak_requests_in_1s = peak_in_1s(&requests);
        facts.peak_output_tokens_per_s = chunks.as_ref().and_then(|c| c.peak_tokens_per_s);
        facts.peak_chunks_per_s = chunks.as_ref().and_then(|c| c.peak_chunks_per_s);
    }
    let values = run_values(&facts, &plain);
    let compared = if window.is_none() && requests.len() > 0 { &reported[..] } else { &[] };
    let sources = prepared::Sources {
        dataset,
        requests: &requests,
        columns: &columns,
        percentiles: &percentiles,
        curves: options.curves,
    };
    let prepared = Prepared::of(&sources, compared)?;
    let computed = Computed {
        requests: &requests,
        columns: &columns,
        facts: &facts.clone(),
        values: &values,
        chunks: chunks.as_ref(),
        percentiles: &percentiles,
        limit: manifest.load.max_concurrency,
        prepared: &prepared,
        known: Known::default(),
    };
    let redefined = if client.is_another() { Redefined::by(client, &computed) } else { Redefined::default() };
    let of_a_part = redefined.of_a_part();
    let whole = Scope { redefined: &redefined, ..scope };
    facts.good = whole.facts(manifest, &options.objectives).good;
    let counts = counts(&facts, &requests);
    let metrics = whole.metrics(chunks.as_ref(), |g| g.all.clone());
    for bucket in &mut buckets {
        // Unknown lengths come after all known ones.
        let b = bucket.lo.map_or(edges.0.len(), |lo| edges.0.partition_point(|e| *e <= lo) - 1);
        let inside = |i: usize| assigned[i] == Some(b as u32);
        bucket.metrics = whole.metrics_where(inside, chunks.as_ref(), |g| g.buckets.get(b).cloned().flatten());
    }
    let duration_is_clients = facts.duration_s.map(|_| window.is_none() && manifest.duration_ns.is_some());
    let sources = evidence::Sources {
        requests: &requests,
        in_flight: &in_flight,
        manifest,
        preempted: &hit_requests(stalls),
        server: &facts.server,
        timeline: timeline.as_ref(),
    };
    let evidence = if options.metrics_only { Evidence::default() } else { evidence::collect(&sources) };
    let shapes = options.shapes.then(|| {
        shape::collect(shape::Sources {
            dataset,
            requests: &requests,
            edges: &edges,
            assigned: &assigned,
            objectives: &options.objectives,
            redefined: &redefined,
            stalls: stalls.map(|found| &found.stalls),
            gaps: chunks.as_ref().map(|c| c.gap_bins.clone()).unwrap_or_default(),
            window,
        })
    });
    let shapes = shapes.transpose()?;
    let mut run = RunAnalysis {
        manifest: manifest.clone(),
        requests: counts,
        percentiles: shown_percentiles(options),
        window,
        convention: client,
        duration_is_clients,
        values: run_values(&facts, if window.is_none() { &redefined } else { &of_a_part }),
        metrics,
        buckets,
        steady: found.map(|found| steady_state(found, &whole, &of_a_part, (manifest, chunks.as_ref()))),
        timeline,
        stalls: stalls.map(|found| found.stalls.clone()),
        evidence,
        shapes,
        rows: if options.rows { redefined.rows() } else { Vec::new() },
        objectives: options.objectives.clone(),
        reported: Vec::new(),
        unavailable: Vec::new(),
        facts,
    };
    run.unavailable = unavailable(&run, dataset, (&requests, &tracks));
    for lacking in &mut run.unavailable {
        if let Some(fact) = redefined.missing(lacking.metric) {
            lacking.missing = format!("{} not recorded, which its {} definition needs", fact.words(), client.id);
        }
    }
    if window.is_none() {
        let ours = Ours { dataset, ok_requests: counts.ok, has_rows: requests.len() > 0, computed: &computed };
        run.reported = parity::compare(reported, &ours);
    }
    if run.is_workload() {
        run.unavailable.iter_mut().for_each(Unavailable::for_want_of_answers);
    }
    Ok(run)
}

/// Requests that pauses of their streams, or others that overtook them, show to have been preempted.
fn hit_requests(found: Option<&StallFindings>) -> Vec<u32> {
    let mut hit: Vec<u32> = found.into_iter().flat_map(StallFindings::hit).collect();
    hit.sort_unstable();
    hit.dedup();
    hit
}

/// A window cannot reach beyond the run.
fn clip(window: Window, requests: &Requests) -> Window {
    match requests.extent() {
        Some(run) => Window { start_ns: window.start_ns.max(run.start_ns), end_ns: window.end_ns.min(run.end_ns) },
        None => window,
    }
}

fn shown_percentiles(options: &Options) -> Vec<f64> {
    rising(match options.percentiles.is_empty() {
        true => PERCENTILES.to_vec(),
        false => options.percentiles.clone(),
    })
}

fn rising(mut percentiles: Vec<f64>) -> Vec<f64> {
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    percentiles
}

/// What is shown, what every report must have, and what the client itself reported.
fn all_percentiles(options: &Options, reported: &[(ReportedFigure, String)]) -> Vec<f64> {
    let mut all = PERCENTILES.to_vec();
    all.extend(&options.percentiles);
    all.extend(reported.iter().filter_map(|(f, _)| f.stat.strip_prefix('p')?.parse::<f64>().ok()));
    all.retain(|p| (0.0..=100.0).contains(p));
    rising(all)
}

/// How the requests of the scope ended.
fn counts(facts: &RunFacts, requests: &Requests) -> RequestCounts {
    RequestCounts {
        total: facts.requests,
        ok: facts.ok,
        failed: facts.failed,
        incomplete: facts.requests - facts.ok - facts.failed,
        not_measured: requests.measured.iter().filter(|m| !**m).count() as u64,
    }
}

fn run_values(facts: &RunFacts, redefined: &Redefined) -> Vec<RunValue> {
    let value = |metric: &&'static Metric| match metric.compute {
        Compute::PerRun(compute) => {
            let value = redefined.run(metric.id).unwrap_or_else(|| compute(facts));
            value.filter(|v| v.is_finite()).map(|value| RunValue { metric: metric.id, value })
        }
        _ => None,
    };
    METRICS.iter().filter_map(value).collect()
}

/// Which gaps are to be pooled: the report's own, then those that the client's figures are made of.
fn gap_rules(client: &ClientConvention, reported: &[(ReportedFigure, String)]) -> Vec<GapRule> {
    let mut rules = vec![gap_rule(client)];
    let made_of_gaps = reported.iter().filter(|(figure, _)| figure.metric == "itl_ms");
    let theirs = made_of_gaps.filter_map(|(_, id)| GapRule::of(&find(id)?.recipe));
    for rule in std::iter::once(GapRule::default()).chain(theirs) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

fn steady_state(
    (window, ramp_share, drain_share): (Window, f64, f64),
    whole: &Scope<'_>,
    redefined: &Redefined,
    (manifest, chunks): (&Manifest, Option<&ChunkFacts>),
) -> SteadyState {
    let scope = Scope { window: Some(window), window_tokens: chunks.map(|c| c.steady_tokens), ..*whole };
    let facts = scope.facts(manifest, &[]);
    SteadyState {
        window,
        ramp_share,
        drain_share,
        requests: facts.ok,
        values: run_values(&facts, redefined),
        metrics: scope.metrics(chunks, |g| g.steady.clone()),
    }
}

fn unavailable(run: &RunAnalysis, dataset: &Dataset, read: (&Requests, &Tracks)) -> Vec<Unavailable> {
    let missing = |m: &&&'static Metric| run.metric(m.id).is_none() && run.value(m.id).is_none();
    let optional = |m: &&&'static Metric| m.id != "goodput_requests_per_s" || !run.objectives.is_empty();
    METRICS.iter().filter(missing).filter(optional).map(|m| explain(m, dataset, read, run.window.is_some())).collect()
}
