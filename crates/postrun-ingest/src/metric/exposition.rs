//! One line of a text exposition: `name{label="value",…} value [time] [# exemplar]`.

/// A series as its exporter names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawSeries {
    pub name: String,
    pub labels: Vec<(String, String)>,
}

impl RawSeries {
    /// The value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

/// What follows the name and labels of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SampleTail<'a> {
    pub value: f64,
    pub stamp: Option<&'a str>,
    /// A comment that a missing line break glued to the sample; an exemplar is none.
    pub comment: Option<&'a str>,
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b':' || b == b'.'
}

/// Length of `name{labels}` at the start of a line; quotes may hide braces. `None`: no sample starts here.
pub(crate) fn head_length(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let name = bytes.iter().position(|b| !is_name_byte(*b)).unwrap_or(bytes.len());
    if bytes.first().is_some_and(u8::is_ascii_digit) || (name > 0 && bytes.get(name - 1) == Some(&b':')) {
        return None;
    }
    match bytes.get(name) {
        Some(b'{') => labels_end(bytes, name + 1),
        Some(b' ' | b'\t') if name > 0 => Some(name),
        _ => None,
    }
}

fn labels_end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut quoted) = (from, false);
    while let Some(b) = bytes.get(at) {
        match b {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Takes `name{labels}` apart; also `{"name",label="value"}`. `None`: malformed.
pub(crate) fn parse_series(head: &str) -> Option<RawSeries> {
    let Some((name, labels)) = head.split_once('{') else {
        return Some(RawSeries { name: head.to_string(), labels: Vec::new() });
    };
    let mut series = RawSeries { name: name.trim_end().to_string(), labels: Vec::new() };
    let mut rest = labels.strip_suffix('}')?.trim_start();
    while !rest.is_empty() {
        let (key, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = rest.bytes().position(|b| !is_name_byte(b)).filter(|end| *end > 0)?;
                (rest.get(..end)?.to_string(), rest.get(end..)?)
            }
        };
        rest = match after.trim_start().strip_prefix('=') {
            Some(value) => {
                let (value, after) = unquote(value.trim_start().strip_prefix('"')?)?;
                series.labels.push((key, value));
                after
            }
            None if series.name.is_empty() => {
                series.name = key;
                after
            }
            None => return None,
        };
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    (!series.name.is_empty()).then_some(series)
}

/// The text up to the closing quote, without escapes, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    None
}

/// Reads what follows the head. `None`: no value, or more than a value and a time.
pub(crate) fn parse_tail(rest: &str) -> Option<SampleTail<'_>> {
    let (sample, comment) = match memchr::memchr(b'#', rest.as_bytes()) {
        Some(at) => (rest.get(..at)?, rest.get(at..)),
        None => (rest, None),
    };
    let mut words = sample.split_ascii_whitespace();
    let value = words.next()?.parse().ok()?;
    let stamp = words.next();
    if words.next().is_some() {
        return None;
    }
    let comment = comment.filter(|c| !c.trim_start_matches(['#', ' ']).starts_with('{'));
    Some(SampleTail { value, stamp, comment })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<(RawSeries, SampleTail<'_>)> {
        let (head, rest) = line.split_at(head_length(line)?);
        Some((parse_series(head)?, parse_tail(rest)?))
    }

    #[test]
    fn labels_may_hold_anything() {
        let (series, tail) = parse(r#"a:b{x="1,2}",y="q\"\\\n" , z="",} 3 1700000000000"#).unwrap();
        assert_eq!(series.name, "a:b");
        assert_eq!(series.label("x"), Some("1,2}"));
        assert_eq!(series.label("y"), Some("q\"\\\n"));
        assert_eq!(series.label("z"), Some(""));
        assert_eq!((tail.value, tail.stamp, tail.comment), (3.0, Some("1700000000000"), None));
        let (series, tail) = parse(r#"{"my.metric",a="1"} +Inf"#).unwrap();
        assert_eq!((series.name.as_str(), series.label("a")), ("my.metric", Some("1")));
        assert_eq!(tail.value, f64::INFINITY);
    }

    #[test]
    fn exemplars_and_glued_comments() {
        let (_, tail) = parse("a_bucket{le=\"1\"} 2 1700000000.5 # {trace_id=\"x\"} 0.4 1700000000").unwrap();
        assert_eq!((tail.value, tail.stamp, tail.comment), (2.0, Some("1700000000.5"), None));
        let (_, tail) = parse("a 2.5# scrape_time 1700000000").unwrap();
        assert_eq!((tail.value, tail.comment), (2.5, Some("# scrape_time 1700000000")));
    }

    #[test]
    fn what_is_no_sample() {
        for line in
            ["", "a", "a{", "a{x=\"1\" 2", "a b", "1a 2", "a{x} 1", "HTTP/1.1 200", "Age: 12", "a 1 2 3", "a{x=1} 2"]
        {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
