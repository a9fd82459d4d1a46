//! Columns that carry postrun's own names: `ttft_ms`, `sent_s`, `prompt_tokens`, `gaps_ms`.

use super::{Column, FACTS, Fact, Unit};

/// The columns among `names` that are facts by their own names, the first of each fact.
pub(crate) fn own_columns<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for name in names {
        let Some((fact, unit)) = own_fact(name) else { continue };
        if columns.iter().all(|c| c.fact != fact) {
            columns.push(Column { fact, name: name.to_string(), unit, optional: true, words: Vec::new(), at: None });
        }
    }
    columns
}

/// Every name that a column of postrun's own can have; unknown JSON members are not looked at.
pub(crate) fn own_fact(name: &str) -> Option<(Fact, Option<Unit>)> {
    let named = |stem: &str, time: bool| {
        let is = |fact: &&Fact| fact.name() == stem || fact.aliases().contains(&stem);
        FACTS.iter().find(is).copied().filter(|fact| fact.kind().is_time() == time)
    };
    if let Some(fact) = named(name, false) {
        return Some((fact, None));
    }
    let (stem, unit) = name.rsplit_once('_')?;
    let unit = Unit::from_name(unit)?;
    let fact = named(stem, true)?;
    let point = matches!(fact.kind(), super::Kind::Point | super::Kind::Points);
    (unit != Unit::Iso8601 || point).then_some((fact, Some(unit)))
}
