//! A comparison as one HTML file: the verdict, whether it is the same question, where a change comes from, then pictures and every
//! figure. What it says is what the other forms say.

mod cause;
mod deltas;
mod question;

use super::{document, finding, run, table};
use crate::chart::{ChartError, Picture, diff_pictures};
use crate::comparison::Comparison;
use crate::diagnosis_section::severity;
use crate::diff_sections::{Part, of_diff, sides, title};
use crate::markup::escape;
use crate::section::Section;
use postrun_diagnose::Severity;
use postrun_diff::{Changed, Overall, RunDiff};

/// The parts that the contents name.
const PARTS: [(&str, &str); 8] = [
    ("verdict", "Verdict"),
    ("question", "Same question?"),
    ("why", "Where it comes from"),
    ("findings", "Findings"),
    ("charts", "Charts"),
    ("figures", "Figures"),
    ("mix", "Workload or system"),
    ("method", "How it was decided"),
];

/// The page of a comparison.
pub fn diff_to_html(c: &Comparison<'_>) -> Result<String, ChartError> {
    let d = c.diff;
    let sections = of_diff(d, c.breaches, c.not_judged);
    let of = |part: Part| sections.iter().find(|(p, _)| *p == part).map(|(_, s)| s);
    let plain = |part: Part, id: &str| of(part).map(|s| table::section(s, id, 2, &|_| None)).unwrap_or_default();
    let pictures = diff_pictures(c);
    let mut main = String::from("<div class=\"run diff\">\n");
    main.push_str(&format!("<h1>{}</h1>\n<div class=\"about\">", escape(&title(d))));
    sides(d).iter().for_each(|line| main.push_str(&format!("<p>{}</p>\n", escape(line))));
    main.push_str("</div>\n");
    let failed = !c.breaches.is_empty() || c.not_judged.iter().any(|u| !u.recorded);
    main.push_str(&verdict(d, of(Part::Answer), failed));
    main.push_str(&plain(Part::Limits, "limits"));
    main.push_str(&question::section(d));
    main.push_str(&cause::section(d, of(Part::Why)));
    main.push_str(&findings(d));
    main.push_str(&charts(&pictures)?);
    main.push_str(&deltas::section(d, (of(Part::WholeRun), of(Part::Buckets))));
    main.push_str(&plain(Part::Mix, "mix"));
    main.push_str(&left_out(d, of(Part::LeftOut)));
    main.push_str(&plain(Part::Method, "method"));
    main.push_str("</div>\n");
    let there = PARTS.iter().filter(|(id, _)| main.contains(&format!(" id=\"{id}\"")));
    let items: String = there.map(|(id, name)| format!("<li><a href=\"#{id}\">{name}</a></li>")).collect();
    let contents = format!("<nav aria-label=\"Contents\"><ul>{items}</ul></nav>");
    Ok(document(&format!("{} · postrun diff", title(d)), "diff", &contents, &main))
}

/// The answer, in the colour of what it says.
fn verdict(d: &RunDiff, answer: Option<&Section>, failed: bool) -> String {
    let class = match d.overall {
        _ if !d.comparable.comparable() => "warning",
        _ if failed => "critical",
        Overall::Worse => "critical",
        Overall::Mixed => "warning",
        Overall::Better | Overall::Same => "calm",
        Overall::Inconclusive if !d.large_undecided().is_empty() => "warning",
        Overall::Inconclusive => "info",
    };
    let lines = answer.map(|s| table::lines(&s.lines)).unwrap_or_default();
    format!("<section id=\"verdict\" class=\"verdict {class}\">\n<h2>Verdict</h2>\n{lines}</section>\n")
}

/// What is wrong with one side and not with the other, or less so.
fn findings(d: &RunDiff) -> String {
    let f = &d.findings;
    let mut out = String::from("<section id=\"findings\">\n<h2>Findings</h2>\n");
    let before = out.len();
    for (how, list) in [("new", &f.new), ("worse", &f.worse), ("milder", &f.milder), ("gone", &f.gone)] {
        list.iter().for_each(|c| out.push_str(&change(how, c, d.comparable.comparable())));
    }
    if out.len() == before {
        out.push_str("<p>None is new, gone, worse or milder.</p>\n");
    }
    out.push_str("</section>\n");
    out
}

fn change(how: &str, c: &Changed, comparable: bool) -> String {
    let word = |s: Option<Severity>| s.map_or("not found", severity);
    // What is gone is good news only where the same was asked.
    let class = match how {
        "gone" | "milder" => {
            if comparable {
                "calm"
            } else {
                "info"
            }
        }
        _ => word(c.candidate),
    };
    format!(
        "<article class=\"finding {class}\">\n<h3><span class=\"badge\">{how}</span> {}</h3>\n\
         <p class=\"meta\"><code>{}</code>: {} → {}</p>\n</article>\n",
        escape(&finding::sentence(&c.summary)),
        escape(&c.rule),
        word(c.base),
        word(c.candidate),
    )
}

fn charts(pictures: &[Picture<'_>]) -> Result<String, ChartError> {
    let mut out = String::from("<section id=\"charts\">\n<h2>Charts</h2>\n");
    for p in pictures {
        out.push_str(&match p.missing() {
            None => run::picture(p, "d")?,
            Some(why) => {
                format!("<p class=\"note\">Not drawn: {}: {}.</p>\n", escape(p.chart.title), escape(why))
            }
        });
    }
    out.push_str("</section>\n");
    Ok(out)
}

/// What one side lacks, with the reason, which the shorter forms leave out.
fn left_out(d: &RunDiff, section: Option<&Section>) -> String {
    let Some(s) = section else { return String::new() };
    let items: String = d
        .left_out
        .iter()
        .map(|l| format!("<li>{}, <code>{}</code>: {}</li>", l.lacks, escape(l.metric), escape(&l.missing)))
        .collect();
    format!(
        "<section id=\"left-out\">\n<h2>{}</h2>\n{}<details><summary>What is missing for each</summary><ul>{items}</ul></details>\n\
         </section>\n",
        escape(&s.title),
        table::lines(&s.lines)
    )
}
