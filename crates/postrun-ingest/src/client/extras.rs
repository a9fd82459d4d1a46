//! Numbers of a request for the `extras` table.

use super::value::Judge;
use crate::json::{Tree, shorten};
use postrun_schema::IssueCode;

/// Numbers of one request, by their names among [`postrun_schema::EXTRAS`].
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Extras(Vec<(&'static str, f64)>);

impl Extras {
    /// Adds a number that is known.
    pub(crate) fn push(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }

    /// Adds what the source has under `key`, in its unit, of which `scale` make that of `name`. Null and absent are silent.
    pub(crate) fn add(&mut self, name: &'static str, key: &str, value: &Tree, scale: f64, judge: &mut Judge<'_>) {
        match value {
            Tree::Null => {}
            Tree::Number(text) => match value.number().map(|v| v * scale).filter(|v| v.is_finite()) {
                Some(number) => self.push(name, number),
                None => judge.bad(IssueCode::NonFiniteValue, key, shorten(text.clone(), 40)),
            },
            _ => judge.bad(IssueCode::WrongType, key, "expected a number".to_string()),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrun_schema::Issues;

    #[test]
    fn what_is_no_number_is_counted_and_null_is_not() {
        let (mut issues, mut extras) = (Issues::default(), Extras::default());
        let place = || "f, line 1".to_string();
        let judge = &mut Judge { issues: &mut issues, place: &place };
        extras.add("http_sent_bytes", "k", &Tree::Number("1.5".into()), 1024.0, judge);
        extras.add("http_sent_bytes", "k", &Tree::Null, 1.0, judge);
        extras.add("http_sent_bytes", "k", &Tree::Number("1e308".into()), 1024.0, judge);
        extras.add("http_sent_bytes", "k", &Tree::Bool(true), 1.0, judge);
        assert_eq!(extras.iter().collect::<Vec<_>>(), [("http_sent_bytes", 1536.0)]);
        assert_eq!(issues.count(IssueCode::NonFiniteValue), 1);
        assert_eq!(issues.count(IssueCode::WrongType), 1);
    }
}
