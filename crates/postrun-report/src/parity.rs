//! Every figure that clients stored, beside the recomputed one.

use crate::client_section::unit_after;
use crate::csv::csv_field;
use crate::markdown;
use crate::markup::json_text;
use crate::quantity::{plain, signed_percent};
use crate::section::{Grid, Section};
use crate::terminal::{self, Look};
use crate::wording::cell;
use postrun_analysis::ReportedFigure;
use postrun_schema::counted;
use serde::Serialize;

/// The JSON Schema of the list.
pub const PARITY_JSON_SCHEMA: &str = include_str!("../schema/postrun.parity-1.schema.json");
const SCHEMA: &str = "postrun.parity/1";

/// How many figures came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ParityCounts {
    /// All that were stored.
    pub figures: usize,
    /// Equal to printed precision.
    pub agree: usize,
    /// Different, for a reason that is named.
    pub differ: usize,
    /// Different, and nobody knows why.
    pub unexplained: usize,
    /// Made of facts that the recording does not hold.
    pub not_recomputable: usize,
}

impl ParityCounts {
    fn of<'a>(figures: impl Iterator<Item = &'a ReportedFigure>) -> ParityCounts {
        let mut counts = ParityCounts::default();
        for figure in figures {
            counts.figures += 1;
            match figure.agrees {
                Some(true) => counts.agree += 1,
                Some(false) if figure.is_unexplained() => counts.unexplained += 1,
                Some(false) => counts.differ += 1,
                None => counts.not_recomputable += 1,
            }
        }
        counts
    }

    fn line(&self) -> String {
        let verb = |n: usize| if n == 1 { "differs" } else { "differ" };
        let unexplained = match self.unexplained {
            0 => String::new(),
            n => format!(", {n} {} for none that is known", verb(n)),
        };
        format!(
            "{}: {} agree, {} {} for a known reason{unexplained}, {} cannot be recomputed",
            counted(self.figures as u64, "figure"),
            self.agree,
            self.differ,
            verb(self.differ),
            self.not_recomputable
        )
    }
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct ParityRun {
    /// Its label.
    pub label: String,
    /// The client.
    pub tool: String,
    /// How its figures came out.
    pub counts: ParityCounts,
    /// Every figure, in the order in which the client stored them.
    pub figures: Vec<ReportedFigure>,
}

/// All runs that were named.
#[derive(Debug, Clone, Serialize)]
pub struct Parity {
    schema: &'static str,
    /// Over all runs.
    pub counts: ParityCounts,
    /// One by one.
    pub runs: Vec<ParityRun>,
}

impl Parity {
    /// Of runs, each with its label, its client and the client's figures.
    pub fn of(runs: impl Iterator<Item = (String, String, Vec<ReportedFigure>)>) -> Parity {
        let run = |(label, tool, figures): (String, String, Vec<ReportedFigure>)| ParityRun {
            label,
            tool,
            counts: ParityCounts::of(figures.iter()),
            figures,
        };
        let runs: Vec<ParityRun> = runs.map(run).collect();
        let counts = ParityCounts::of(runs.iter().flat_map(|r| &r.figures));
        Parity { schema: SCHEMA, counts, runs }
    }

    fn sections(&self) -> Vec<Section> {
        let mut out: Vec<Section> = self.runs.iter().map(section).collect();
        if self.runs.len() != 1 {
            let mut all = Section::new(format!("{} runs", self.runs.len()));
            all.lines.push(format!("{}.", self.counts.line()));
            out.push(all);
        }
        out
    }
}

fn verdict(figure: &ReportedFigure) -> &'static str {
    match figure.agrees {
        Some(true) => "agrees",
        Some(false) => "differs",
        None => "not recomputable",
    }
}

/// Reasons get a number, and stand below the table.
fn section(run: &ParityRun) -> Section {
    let mut section = Section::new(format!("{} ({})", run.label, run.tool));
    section.lines.push(format!("{}.", run.counts.line()));
    if run.figures.is_empty() {
        section.lines.push("The client stored no figure of its own.".to_string());
        return section;
    }
    let mut grid = Grid::new(&["client's name", "reported", "recomputed", "unit", "difference", "verdict", "why"]);
    grid.text_columns = vec![0, 3, 5, 6];
    // A number keeps its unit: the client's name can hold another one.
    grid.drop_order = vec![4, 1];
    let mut reasons: Vec<&str> = Vec::new();
    for figure in &run.figures {
        let why = figure.why.as_deref().map(|why| {
            let at = reasons.iter().position(|known| *known == why).unwrap_or_else(|| {
                reasons.push(why);
                reasons.len() - 1
            });
            format!("({})", at + 1)
        });
        let apart = figure.difference().filter(|_| figure.agrees == Some(false));
        grid.push(vec![
            figure.key.clone(),
            cell(figure.reported.map(plain)),
            cell(figure.computed.map(plain)),
            unit_after(figure.computed.or(figure.reported), &figure.unit).to_string(),
            cell(apart.map(signed_percent)),
            verdict(figure).to_string(),
            why.unwrap_or_default(),
        ]);
    }
    section.table = Some(grid);
    section.notes = reasons.iter().enumerate().map(|(i, why)| format!("({}) {why}.", i + 1)).collect();
    section
}

/// As text for a terminal.
pub fn parity_table(parity: &Parity, look: Look) -> String {
    let mut out = String::new();
    parity.sections().iter().for_each(|section| terminal::render(section, look, &mut out));
    out
}

/// As Markdown.
pub fn parity_markdown(parity: &Parity) -> String {
    let mut out = String::from("# postrun parity\n");
    parity.sections().iter().for_each(|section| markdown::render(section, 2, &mut out));
    out
}

/// As JSON, schema `postrun.parity/1`, that ends in a line break.
pub fn parity_json(parity: &Parity) -> Result<String, serde_json::Error> {
    json_text(parity)
}

/// As CSV: `run,tool,metric,stat,key,unit,reported,recomputed,verdict,definition,why`.
pub fn parity_csv(parity: &Parity) -> String {
    let mut out = String::from("run,tool,metric,stat,key,unit,reported,recomputed,verdict,definition,why\n");
    for run in &parity.runs {
        for f in &run.figures {
            let number = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
            let verdict = verdict(f).replace(' ', "_");
            let texts = [&run.label, &run.tool, &f.metric, &f.stat, &f.key, &f.unit].map(|text| csv_field(text));
            let numbers = [number(f.reported), number(f.computed), verdict];
            let why = [csv_field(&f.definition), csv_field(f.why.as_deref().unwrap_or_default())];
            out.push_str(&format!("{},{},{}\n", texts.join(","), numbers.join(","), why.join(",")));
        }
    }
    out
}
