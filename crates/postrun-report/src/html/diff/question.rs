//! Whether both sides answer the same question: loud where not.

use crate::diff_sections::{sameness, weight_word};
use crate::markup::{escape, with_commands};
use postrun_diff::{Difference, RunDiff, Weight};

/// The sentence, and every difference with how much it matters.
pub(super) fn section(d: &RunDiff) -> String {
    let loud = if d.comparable.comparable() { "" } else { " class=\"alarm\"" };
    let mut out = format!(
        "<section id=\"question\"{loud}>\n<h2>The same question?</h2>\n<p class=\"answer\">{}</p>\n",
        escape(&sameness(d))
    );
    let differences = &d.comparable.differences;
    if !differences.is_empty() {
        let rows: String = differences.iter().map(row).collect();
        out.push_str(&format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Differences of the question\">\
             <table><caption class=\"hidden\">Differences of the question</caption>\n<thead><tr><th scope=\"col\">what</th>\
             <th scope=\"col\">base</th><th scope=\"col\">candidate</th><th scope=\"col\">weight</th>\
             <th scope=\"col\">in words</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        ));
    }
    out.push_str("</section>\n");
    out
}

fn row(x: &Difference) -> String {
    let class = match x.weight {
        Weight::Blocks => "worse",
        Weight::Warns => "warned",
        Weight::Notes => "inconclusive",
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td><span class=\"v {class}\">{}</span></td><td>{}</td></tr>\n",
        escape(&x.what).replace('_', "_<wbr>"),
        escape(&x.base),
        escape(&x.candidate),
        weight_word(x.weight),
        with_commands(&x.text)
    )
}
