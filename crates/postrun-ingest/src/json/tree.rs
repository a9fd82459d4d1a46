//! Small values as trees, for records that are many and short: one is read whole, used and dropped.
//!
//! A number stays the text it was until somebody says what it is: a point in time of nineteen digits must not go
//! through a float, and seconds become nanoseconds exactly.

use super::number::{fast_seconds, number};
use super::{JsonError, JsonReader, Result, shown};
use crate::limits::{DEEPEST_KEPT as DEEPEST, MOST_VALUES_KEPT as MOST_VALUES};
use std::io::Read;

/// Integers beyond it are not exact in a float.
const EXACT_IN_FLOAT: f64 = 9_007_199_254_740_992.0;

/// A value with everything in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Tree {
    #[default]
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

static NOTHING: Tree = Tree::Null;

impl Tree {
    /// The member called `key`, the last one where it stands twice; null where there is none.
    pub(crate) fn get(&self, key: &str) -> &Tree {
        let member = self.members().iter().rev().find(|(name, _)| name == key);
        member.map_or(&NOTHING, |(_, value)| value)
    }

    /// Members of an object, none of anything else.
    pub(crate) fn members(&self) -> &[(String, Tree)] {
        if let Tree::Map(members) = self { members } else { &[] }
    }

    /// Elements of an array, none of anything else.
    pub(crate) fn elements(&self) -> &[Tree] {
        if let Tree::List(elements) = self { elements } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Tree::Text(text) = self { Some(text) } else { None }
    }

    /// A finite number, also one in quotes.
    pub(crate) fn number(&self) -> Option<f64> {
        let (Tree::Number(text) | Tree::Text(text)) = self else { return None };
        number(text.trim().as_bytes()).filter(|value| value.is_finite())
    }

    /// A whole number, exactly; also one in quotes, and `3.0`.
    pub(crate) fn integer(&self) -> Option<i64> {
        let (Tree::Number(text) | Tree::Text(text)) = self else { return None };
        let exact = text.trim().parse::<i64>().ok();
        exact.or_else(|| {
            let value = self.number().filter(|v| v.fract() == 0.0 && v.abs() <= EXACT_IN_FLOAT)?;
            Some(value as i64)
        })
    }

    /// A count that fits its column.
    pub(crate) fn count(&self) -> Option<u32> {
        self.integer().and_then(|value| u32::try_from(value).ok())
    }

    /// Seconds as nanoseconds, without a detour through floats where they are written as plain decimals.
    pub(crate) fn seconds_ns(&self) -> Option<i64> {
        let (Tree::Number(text) | Tree::Text(text)) = self else { return None };
        seconds_ns(text)
    }
}

/// Seconds in a text as nanoseconds; `None` where it is no finite number or beyond 292 years.
fn seconds_ns(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some((ns, used)) = fast_seconds(format!("{text} ").as_bytes()) {
        return (used == text.len()).then_some(ns);
    }
    let ns = (number(text.as_bytes())? * 1e9).round();
    (ns.abs() < 9.2e18).then_some(ns as i64)
}

impl<R: Read> JsonReader<R> {
    /// Reads any value whole. Strings are cut at `keep` bytes; what is too deep or too much is passed over.
    pub(crate) fn tree(&mut self, keep: usize) -> Result<Tree> {
        self.branch(keep, 0, &mut 0)
    }

    fn branch(&mut self, keep: usize, depth: usize, values: &mut usize) -> Result<Tree> {
        *values += 1;
        if depth > DEEPEST || *values > MOST_VALUES {
            self.skip_value()?;
            return Ok(Tree::Null);
        }
        match self.peek()? {
            Some(b'"') => Ok(Tree::Text(self.string(keep)?)),
            Some(b'{') => {
                let mut members = Vec::new();
                self.object(|reader, key| {
                    let value = reader.branch(keep, depth + 1, values)?;
                    if *values <= MOST_VALUES {
                        members.push((key.to_string(), value));
                    }
                    Ok(())
                })?;
                Ok(Tree::Map(members))
            }
            Some(b'[') => {
                let mut elements = Vec::new();
                self.array(|reader| {
                    let value = reader.branch(keep, depth + 1, values)?;
                    if *values <= MOST_VALUES {
                        elements.push(value);
                    }
                    Ok(())
                })?;
                Ok(Tree::List(elements))
            }
            _ => {
                let at = self.offset();
                let token = self.bare_token()?;
                let value = match token {
                    b"null" => Some(Tree::Null),
                    b"true" => Some(Tree::Bool(true)),
                    b"false" => Some(Tree::Bool(false)),
                    _ => number(token).map(|_| Tree::Number(String::from_utf8_lossy(token).into_owned())),
                };
                value.ok_or_else(|| JsonError::Unexpected { at, expected: "a value", found: shown(token) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        JsonReader::new(text.as_bytes()).tree(8).unwrap()
    }

    #[test]
    fn numbers_keep_every_digit() {
        let t = tree(
            r#"{"a":"1767323045000000123","b":1767323045000000123,"c":3.0,"d":0.1,"e":"long text","f":NaN,"a":2}"#,
        );
        assert_eq!(t.get("b").integer(), Some(1_767_323_045_000_000_123));
        assert_eq!((t.get("c").integer(), t.get("c").count()), (Some(3), Some(3)));
        assert_eq!((t.get("d").integer(), t.get("d").seconds_ns()), (None, Some(100_000_000)));
        assert_eq!((t.get("e").text(), t.get("f").number(), t.get("g").integer()), (Some("long tex"), None, None));
        assert_eq!(t.get("a").integer(), Some(2));
        assert_eq!(Tree::Number("-1".into()).count(), None);
        assert_eq!(Tree::Number("1767323045.1".into()).seconds_ns(), Some(1_767_323_045_100_000_000));
        assert_eq!(Tree::Number("6.5e-06".into()).seconds_ns(), Some(6_500));
        assert_eq!(Tree::Number("1e300".into()).seconds_ns(), None);
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        let mut t = &tree(&deep);
        let mut depth = 0;
        while let Some(inner) = t.elements().first() {
            (t, depth) = (inner, depth + 1);
        }
        assert_eq!(depth, DEEPEST + 1);
        let wide = format!("[{}1]", "1,".repeat(MOST_VALUES));
        assert_eq!(tree(&wide).elements().len(), MOST_VALUES - 1);
    }
}
