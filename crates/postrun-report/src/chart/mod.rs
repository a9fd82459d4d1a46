//! Pictures of runs. A chart is a file here and a line in [`CHARTS`]: it turns figures into a `Figure` in the units of the
//! data; `render.rs` draws any figure, and `svg.rs` and `png.rs` write it. No machine needs a font.
//!
//! A chart whose figures are missing is absent, and says why. None draws one mark for each request of a large run.

mod axis;
mod diff;
mod error;
mod figure;
mod font;
mod goodput_by_objective;
mod ink;
mod itl_distribution;
mod itl_over_time;
mod latency_cdf;
mod latency_over_time;
mod layout;
mod length_distribution;
mod load_over_time;
mod over_time;
mod palette;
mod percentile_curve;
mod phase_breakdown;
mod png;
mod render;
mod server_over_time;
mod slowest_requests;
mod svg;
mod throughput_latency;
mod ttft_by_prompt_length;
mod words;

pub use diff::{DIFF_CHARTS, diff_pictures};
pub use error::ChartError;
pub use ink::Theme;

pub(crate) use ink::dark_rules;

use crate::comparison::Comparison;
use crate::report::{Report, Reports};
use figure::Figure;
use postrun_analysis::{RunAnalysis, Shapes};
use postrun_schema::Doc;

/// One kind of picture.
pub struct Chart {
    /// Stable id, and the name of its files.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// Metrics and figures that it shows, as evidence names them; a trailing `*` stands for anything.
    pub shows: &'static [&'static str],
    doc: Doc,
    build: Build,
}

/// A figure, or why there is none.
type Built = Result<Figure, String>;

enum Build {
    Run(fn(&Report) -> Built),
    All(fn(&Reports) -> Built),
    Diff(fn(&Comparison<'_>) -> Built),
}

/// Every chart, in the order of a report.
pub static CHARTS: &[&Chart] = &[
    &throughput_latency::THROUGHPUT_LATENCY,
    &latency_over_time::LATENCY_OVER_TIME,
    &latency_cdf::LATENCY_CDF,
    &ttft_by_prompt_length::TTFT_BY_PROMPT_LENGTH,
    &itl_distribution::ITL_DISTRIBUTION,
    &itl_over_time::ITL_OVER_TIME,
    &phase_breakdown::PHASE_BREAKDOWN,
    &server_over_time::SERVER_OVER_TIME,
    &load_over_time::LOAD_OVER_TIME,
    &length_distribution::LENGTH_DISTRIBUTION,
    &goodput_by_objective::GOODPUT_BY_OBJECTIVE,
    &slowest_requests::SLOWEST_REQUESTS,
];

impl Chart {
    /// What it shows, in a sentence.
    pub fn about(&self) -> String {
        self.doc.headline()
    }

    /// The place of a figure that evidence names among those it shows; the first is what it is mainly about.
    pub(crate) fn rank_of(&self, figure: &str) -> Option<usize> {
        self.shows.iter().position(|shown| match shown.strip_suffix('*') {
            Some(start) => figure.starts_with(start),
            None => *shown == figure,
        })
    }
}

/// A chart of one run, of all of them, or of two sides.
pub struct Picture<'a> {
    /// Which chart.
    pub chart: &'static Chart,
    /// Label of the run; `None`: of several.
    pub run: Option<&'a str>,
    figure: Built,
}

impl Picture<'_> {
    /// Why it cannot be drawn.
    pub fn missing(&self) -> Option<&str> {
        self.figure.as_ref().err().map(String::as_str)
    }

    /// As an SVG file, which follows the viewer's light or dark; `None` where figures are missing.
    pub fn svg(&self) -> Option<Result<String, ChartError>> {
        self.figure.as_ref().ok().map(|figure| svg::to_svg(figure, svg::Place::File))
    }

    /// As part of a page, with an id that is unique in it.
    pub(crate) fn inline_svg(&self, id: &str) -> Option<Result<String, ChartError>> {
        self.figure.as_ref().ok().map(|figure| svg::to_svg(figure, svg::Place::Page { id }))
    }

    /// As a PNG file; `None` where figures are missing.
    pub fn png(&self, theme: Theme) -> Option<Result<Vec<u8>, ChartError>> {
        self.figure.as_ref().ok().map(|figure| png::to_png(figure, theme))
    }
}

/// What charts are drawn from.
fn shapes(run: &RunAnalysis) -> Result<&Shapes, String> {
    run.shapes.as_ref().ok_or_else(|| "the run was analysed without what pictures are drawn from".to_string())
}

/// Why a chart of answered requests has nothing to draw; `not_recorded` unless there were none.
fn lacking(run: &RunAnalysis, not_recorded: &str) -> String {
    let unanswered = run.requests.ok == 0 && run.requests.total > 0;
    if unanswered { "no request was answered".to_string() } else { not_recorded.to_string() }
}

/// The charts of one run.
pub(crate) fn of_run(report: &Report) -> Vec<Picture<'_>> {
    let picture = |chart: &&'static Chart| match chart.build {
        Build::Run(build) => Some(Picture { chart, run: Some(&report.run.manifest.label), figure: build(report) }),
        _ => None,
    };
    CHARTS.iter().filter_map(picture).collect()
}

/// The charts that compare runs.
pub(crate) fn of_all(reports: &Reports) -> Vec<Picture<'_>> {
    let picture = |chart: &&'static Chart| match chart.build {
        Build::All(build) => Some(Picture { chart, run: None, figure: build(reports) }),
        _ => None,
    };
    CHARTS.iter().filter_map(picture).filter(|_| reports.runs.len() > 1).collect()
}

/// Every chart of every run, and those that compare runs.
pub fn pictures(reports: &Reports) -> Vec<Picture<'_>> {
    of_all(reports).into_iter().chain(reports.runs.iter().flat_map(of_run)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_finds_its_chart() {
        let of = |figure: &str| CHARTS.iter().filter(|c| c.rank_of(figure).is_some()).count();
        for figure in ["ttft_ms", "stalls.preemption", "kv_cache_usage_max", "queue_ms", "mean_concurrency", "tpot_ms"]
        {
            assert!(of(figure) > 0, "{figure}");
        }
        assert_eq!(of("nonesuch"), 0);
        assert!(CHARTS.iter().all(|c| !c.title.is_empty() && !c.shows.is_empty()));
    }
}
