//! What GuideLLM makes of the texts of its requests: lengths in tokens, words and characters, sent, answered or both together;
//! how much of them was under way; and how much came a second.
//!
//! Of the answered requests. What was sent and what was answered are pooled into one distribution, a value each. The amount under
//! way is a level from each send to each end, within the client's measurement. What came a second is a rate at the end of each
//! request, over the time from half-way to the end before it to half-way to the next; the first and the last end begin and close it.

use super::event_rates::{end, levels, rates, span, unix_s};
use super::facts::{Columns, Fact};
use super::recipe::Recipe;
use super::weighted::{Weighted, summarise};
use crate::requests::Requests;
use crate::summary::Summary;
use postrun_schema::Manifest;

/// A statistic of texts.
pub(crate) struct TextFigure {
    /// Name under which clients report it.
    pub id: &'static str,
    /// The numbers of the `extras` table that it is made of.
    pub of: &'static [&'static str],
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Pooled,
    UnderWay,
    AtEnds,
}

const TOKENS: &[&str] = &["prompt_text_tokens", "output_text_tokens"];
const WORDS: &[&str] = &["prompt_words", "output_words"];
const CHARACTERS: &[&str] = &["prompt_characters", "output_characters"];

const fn figure(id: &'static str, of: &'static [&'static str], how: How) -> TextFigure {
    TextFigure { id, of, how }
}

/// Every one that a client may report.
pub(crate) static TEXT_FIGURES: &[TextFigure] = &[
    figure("text_tokens_pooled", TOKENS, How::Pooled),
    figure("words_pooled", WORDS, How::Pooled),
    figure("characters_pooled", CHARACTERS, How::Pooled),
    figure("prompt_text_tokens_under_way", TOKENS.split_at(1).0, How::UnderWay),
    figure("output_text_tokens_under_way", TOKENS.split_at(1).1, How::UnderWay),
    figure("text_tokens_under_way", TOKENS, How::UnderWay),
    figure("prompt_words_under_way", WORDS.split_at(1).0, How::UnderWay),
    figure("output_words_under_way", WORDS.split_at(1).1, How::UnderWay),
    figure("words_under_way", WORDS, How::UnderWay),
    figure("prompt_characters_under_way", CHARACTERS.split_at(1).0, How::UnderWay),
    figure("output_characters_under_way", CHARACTERS.split_at(1).1, How::UnderWay),
    figure("characters_under_way", CHARACTERS, How::UnderWay),
    figure("prompt_text_tokens_per_s_at_ends", TOKENS.split_at(1).0, How::AtEnds),
    figure("output_text_tokens_per_s_at_ends", TOKENS.split_at(1).1, How::AtEnds),
    figure("text_tokens_per_s_at_ends", TOKENS, How::AtEnds),
    figure("prompt_words_per_s_at_ends", WORDS.split_at(1).0, How::AtEnds),
    figure("output_words_per_s_at_ends", WORDS.split_at(1).1, How::AtEnds),
    figure("words_per_s_at_ends", WORDS, How::AtEnds),
    figure("prompt_characters_per_s_at_ends", CHARACTERS.split_at(1).0, How::AtEnds),
    figure("output_characters_per_s_at_ends", CHARACTERS.split_at(1).1, How::AtEnds),
    figure("characters_per_s_at_ends", CHARACTERS, How::AtEnds),
];

impl TextFigure {
    /// Whether it is one of a curve over time.
    pub(crate) fn is_of_a_curve(&self) -> bool {
        self.how != How::Pooled
    }
}

pub(crate) fn find(id: &str) -> Option<&'static TextFigure> {
    TEXT_FIGURES.iter().find(|figure| figure.id == id)
}

/// Its statistics from the numbers of each request, a list for each name of [`TextFigure::of`]; `Err`: what is missing.
pub(crate) fn summary(
    figure: &TextFigure,
    numbers: &[Vec<Option<f64>>],
    (requests, columns): (&Requests, &Columns),
    manifest: &Manifest,
    percentiles: &[f64],
    recipe: &Recipe,
) -> Result<Summary, Fact> {
    let amounts = || {
        numbers.iter().flat_map(move |list| {
            let answered = (0..requests.len()).filter(move |i| requests.counts(*i));
            answered.filter_map(move |i| Some((i, (*list.get(i)?)?)))
        })
    };
    if numbers.len() < figure.of.len() || amounts().next().is_none() {
        return Err(Fact::OwnNumber);
    }
    let facts = |i: usize| columns.request(requests, i, &[]);
    let (mut values, count): (Vec<Weighted>, Option<u64>) = match figure.how {
        How::Pooled => (amounts().map(|(_, amount)| (amount, 1.0)).collect(), None),
        How::UnderWay => {
            let spans = amounts().map(|(i, amount)| {
                let f = facts(i);
                (unix_s(&f, Some(0)), end(&f), amount)
            });
            let (values, spans) = levels(spans.collect(), span(manifest)?);
            (values, Some(spans))
        }
        How::AtEnds => {
            let (values, all) = rates(amounts().map(|(i, amount)| (end(&facts(i)), amount)).collect(), span(manifest)?);
            (values, Some(all))
        }
    };
    values.retain(|(value, lasted)| value.is_finite() && *lasted > 0.0);
    let found = summarise(&mut values, percentiles, recipe).ok_or(Fact::WallClock)?;
    Ok(Summary { count: count.unwrap_or(found.count), ..found })
}
