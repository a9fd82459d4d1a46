//! The columns of a mapping as one file has them, and the values of one row as what they are.

use crate::client::value::{ERROR_BYTES, Judge, MAX_DURATION_NS};
use crate::error::IngestError;
use crate::json::{Tree, number, shorten};
use crate::mapping::{Column, Fact, Kind, Mapping, Unit};
use crate::text::number::duration_ns;
use crate::text::stamp::CivilStamp;
use postrun_schema::IssueCode;

/// One mapped column of the file that is read.
pub(super) struct Bound {
    pub column: Column,
    /// Of times; anything where the column is no time.
    pub unit: Unit,
    tally: Tally,
}

impl Bound {
    /// A column whose name tells its unit.
    pub(super) fn new(column: Column) -> Bound {
        Bound { unit: column.unit.unwrap_or(Unit::Nanos), column, tally: Tally::default() }
    }
}

/// How many values of a column could not be what the mapping says.
#[derive(Default)]
struct Tally {
    seen: u64,
    bad: u64,
    /// The first that could not, and why.
    example: Option<String>,
}

/// Settles the unit of every column. `typed` is the unit that the file itself gives a column.
pub(super) fn bind(
    mapping: &Mapping,
    file: &str,
    typed: impl Fn(&Column) -> Option<Unit>,
) -> Result<Vec<Bound>, IngestError> {
    let mut bound = Vec::new();
    for column in &mapping.columns {
        let unit = typed(column).or(column.unit);
        if column.fact.kind().is_time() && unit.is_none() {
            let message = format!(
                "{} needs a unit: {{ column = {:?}, unit = \"ms\" }}; known: s, ms, us, ns, and iso8601 for points in time",
                column.fact.name(),
                column.name
            );
            return Err(mapping.fault(file, Some(column), message));
        }
        bound.push(Bound::new(Column { unit, ..column.clone() }));
    }
    Ok(bound)
}

/// Refuses a column of which most values are no such times: then the unit is wrong, or the column.
pub(super) fn refuse_wrong_units(mapping: &Mapping, file: &str, bound: &[Bound]) -> Result<(), IngestError> {
    let wrong = bound.iter().find(|b| b.tally.bad * 2 > b.tally.seen);
    let Some(Bound { column, tally, .. }) = wrong else { return Ok(()) };
    let example = tally.example.as_deref().unwrap_or_default();
    let message = format!(
        "column {:?} of {file} does not hold {}: {} of {} values cannot be; {example}",
        column.name,
        column.fact.name(),
        tally.bad,
        tally.seen
    );
    Err(mapping.fault(file, Some(column), message))
}

/// One row: its values, in the order of the columns.
pub(super) struct Cells<'a, 'j> {
    pub bound: &'a mut [Bound],
    pub values: &'a [Tree],
    pub judge: Judge<'j>,
}

static NOTHING: Tree = Tree::Null;

impl Cells<'_, '_> {
    fn index(&self, fact: Fact) -> Option<usize> {
        self.bound.iter().position(|b| b.column.fact == fact)
    }

    pub(super) fn value(&self, fact: Fact) -> &Tree {
        self.index(fact).and_then(|i| self.values.get(i)).unwrap_or(&NOTHING)
    }

    pub(super) fn has(&self, fact: Fact) -> bool {
        self.index(fact).is_some()
    }

    pub(super) fn name(&self, fact: Fact) -> &str {
        self.index(fact).and_then(|i| self.bound.get(i)).map_or("", |b| b.column.name.as_str())
    }

    /// The meanings that the mapping gives to words of this column.
    pub(super) fn meaning(&self, fact: Fact, word: &str) -> Option<&'static str> {
        let bound = self.bound.get(self.index(fact)?)?;
        bound.column.words.iter().find(|(known, _)| known == word).map(|(_, meaning)| *meaning)
    }

    /// True where the mapping lists words with this meaning.
    pub(super) fn has_words(&self, fact: Fact, meaning: &str) -> bool {
        let bound = self.index(fact).and_then(|at| self.bound.get(at));
        bound.is_some_and(|bound| bound.column.words.iter().any(|(_, of)| *of == meaning))
    }

    pub(super) fn issue(&mut self, code: IssueCode, name: &str, example: String) {
        let place = self.judge.place;
        self.judge.issues.add(code, || format!("{}: {name}", place()), || example);
    }

    pub(super) fn text(&self, fact: Fact) -> Option<String> {
        as_text(self.value(fact))
    }

    pub(super) fn count(&mut self, fact: Fact) -> Option<u32> {
        let i = self.index(fact)?;
        let (value, name) = (self.values.get(i)?, &self.bound.get(i)?.column.name);
        self.judge.count(name, value)
    }

    pub(super) fn flag(&mut self, fact: Fact) -> Option<bool> {
        let word = as_text(self.value(fact))?.to_lowercase();
        match word.as_str() {
            "true" | "1" | "1.0" | "yes" => Some(true),
            "false" | "0" | "0.0" | "no" => Some(false),
            _ => {
                let name = self.name(fact).to_string();
                self.issue(IssueCode::WrongType, &name, format!("{word:?} is neither true nor false"));
                None
            }
        }
    }

    /// A duration in nanoseconds, not negative and not beyond 11 days.
    pub(super) fn duration(&mut self, fact: Fact) -> Option<i64> {
        let i = self.index(fact)?;
        let value = self.values.get(i)?;
        self.time_in(i, value, Kind::Duration)
    }

    pub(super) fn point(&mut self, fact: Fact) -> Option<i64> {
        let i = self.index(fact)?;
        let value = self.values.get(i)?;
        self.time_in(i, value, Kind::Point)
    }

    /// A list of times; `None` where there is none, or where one of them cannot be: what follows it would be displaced.
    pub(super) fn times(&mut self, fact: Fact) -> Option<Vec<i64>> {
        let i = self.index(fact)?;
        let kind = if fact.kind() == Kind::Points { Kind::Point } else { Kind::Duration };
        let list = match self.values.get(i)? {
            Tree::Null => return None,
            Tree::List(list) => list,
            _ => {
                let name = self.bound.get(i)?.column.name.clone();
                self.issue(IssueCode::WrongType, &name, "expected a list of times".to_string());
                return None;
            }
        };
        let mut out = Vec::with_capacity(list.len());
        for value in list {
            if *value == Tree::Null {
                let name = self.bound.get(i)?.column.name.clone();
                self.issue(IssueCode::WrongType, &name, "null in a list of times".to_string());
                return None;
            }
            out.push(self.time_in(i, value, kind)?);
        }
        Some(out)
    }

    pub(super) fn counts(&mut self, fact: Fact) -> Option<Vec<u32>> {
        let i = self.index(fact)?;
        let name = self.bound.get(i)?.column.name.clone();
        let Tree::List(list) = self.values.get(i)? else { return None };
        list.iter().map(|value| self.judge.count(&name, value)).collect()
    }

    fn time_in(&mut self, i: usize, value: &Tree, kind: Kind) -> Option<i64> {
        let bound = self.bound.get_mut(i)?;
        let unit = bound.unit;
        let (code, example) = match value {
            Tree::Null => return None,
            Tree::Number(text) | Tree::Text(text) => match read_time(text, unit, kind) {
                Ok(ns) => {
                    bound.tally.seen += 1;
                    return Some(ns);
                }
                Err(problem) => problem,
            },
            _ => (IssueCode::WrongType, "expected a number".to_string()),
        };
        bound.tally.seen += 1;
        // A negative or missing number is an odd record; anything else is another unit or another column.
        if matches!(code, IssueCode::ImplausibleTime | IssueCode::WrongType) {
            bound.tally.bad += 1;
            let place = self.judge.place;
            bound.tally.example.get_or_insert_with(|| format!("{}: {example}", place()));
        }
        let name = bound.column.name.clone();
        self.issue(code, &name, example);
        None
    }
}

fn read_time(text: &str, unit: Unit, kind: Kind) -> Result<i64, (IssueCode, String)> {
    if unit == Unit::Iso8601 {
        let stamp = CivilStamp::parse(text.trim()).filter(|(_, rest)| rest.is_empty());
        let at = stamp.and_then(|(stamp, _)| Some(stamp.at_ns(stamp.year?)));
        return at.ok_or_else(|| (IssueCode::WrongType, format!("{:?} is no date and time", shown(text))));
    }
    let ns = unit.ns(text).or_else(|| if kind == Kind::Duration { duration_ns(text) } else { None });
    match (ns, kind) {
        (Some(ns), Kind::Point) => Ok(ns),
        (Some(ns), _) if (0..=MAX_DURATION_NS).contains(&ns) => Ok(ns),
        (Some(ns), _) if ns < 0 => Err((IssueCode::NegativeDuration, format!("{} {}", shown(text), unit.name()))),
        _ => Err(no_time(text, unit, kind)),
    }
}

/// Why a text is no time in this unit.
fn no_time(text: &str, unit: Unit, kind: Kind) -> (IssueCode, String) {
    let shown = shown(text);
    match number(text.trim().as_bytes()) {
        Some(value) if !value.is_finite() => (IssueCode::NonFiniteValue, shown),
        Some(_) if kind == Kind::Point => {
            (IssueCode::ImplausibleTime, format!("{shown} {} is beyond any date", unit.name()))
        }
        Some(_) => {
            let other = unit.instead(text.trim());
            let hint = other.map_or(String::new(), |(unit, ns)| {
                format!("; in {} it would be {:.3} s, is that the unit?", unit.name(), ns as f64 / 1e9)
            });
            (IssueCode::ImplausibleTime, format!("{shown} {} is no duration of a request{hint}", unit.name()))
        }
        None if CivilStamp::parse(text.trim()).is_some() => {
            (IssueCode::WrongType, format!("{shown:?} is a date and time: unit = \"iso8601\""))
        }
        None => (IssueCode::WrongType, format!("{shown:?} is no number")),
    }
}

fn shown(text: &str) -> String {
    shorten(text.trim().to_string(), 40)
}

/// What a person would write for a value; nothing for null and for empty texts.
pub(super) fn as_text(value: &Tree) -> Option<String> {
    let text = match value {
        Tree::Text(text) | Tree::Number(text) => text.clone(),
        Tree::Bool(yes) => yes.to_string(),
        Tree::Map(_) => {
            let parts = ["code", "type", "message"].into_iter().filter_map(|key| as_text(value.get(key)));
            parts.collect::<Vec<_>>().join(" ")
        }
        Tree::Null | Tree::List(_) => String::new(),
    };
    (!text.trim().is_empty()).then(|| shorten(text.trim().to_string(), ERROR_BYTES))
}
