//! Python values as logs print them: `{'a': 1, 'b': [2, 3]}` and `a=1, b='x'`.

/// Where the value at the start of `text` ends: before a comma or closing bracket that is in no string and no bracket,
/// or with the text. `None`: the text ends inside a string or bracket.
pub(crate) fn value_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0u32, None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}' | b',') if depth == 0 => return Some(at),
            (None, b')' | b']' | b'}') => depth -= 1,
            _ => {}
        }
    }
    (quote.is_none() && depth == 0).then_some(text.len())
}

/// Entries of a dictionary or of keyword arguments, as far as they are whole: one that the text ends in is left out.
pub(crate) struct Pairs<'a> {
    rest: &'a str,
    assign: char,
}

/// `'a': 1, 'b': 2}`: what stands behind the opening brace.
pub(crate) fn dict_pairs(text: &str) -> Pairs<'_> {
    Pairs { rest: text, assign: ':' }
}

/// `a=1, b=2)`: what stands behind the opening bracket, or a bare list.
pub(crate) fn keyword_pairs(text: &str) -> Pairs<'_> {
    Pairs { rest: text, assign: '=' }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let (key, rest) = self.rest.trim_start_matches([' ', ',']).split_once(self.assign)?;
        let key = key.trim().trim_matches(['\'', '"']);
        let name = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        let rest = rest.trim_start();
        let end = value_end(rest).filter(|end| name && *end < rest.len())?;
        let (value, rest) = rest.split_at(end);
        self.rest = if rest.starts_with(',') { rest } else { "" };
        Some((key, value.trim_end()))
    }
}

/// A value as a plain text: strings without quotes, `true` and `false`, flat lists joined by commas. Python's `None` is
/// no value.
pub(crate) fn plain(value: &str) -> Option<String> {
    let value = value.trim();
    match value {
        "" | "None" => None,
        "True" => Some("true".to_string()),
        "False" => Some("false".to_string()),
        _ => match value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
            Some(list) if !list.contains(['[', '{', '(']) => {
                let items: Vec<String> = items(list).filter_map(plain).collect();
                (!items.is_empty()).then(|| items.join(","))
            }
            _ => Some(unquoted(value)),
        },
    }
}

/// The entries of what stands inside the brackets of a list.
fn items(mut list: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let item = list.split_at_checked(value_end(list).unwrap_or(list.len()).max(1))?;
        list = item.1.strip_prefix(',').unwrap_or(item.1);
        Some(item.0)
    })
}

/// The text inside quotes with its escapes undone; anything else as it stands.
fn unquoted(value: &str) -> String {
    let inside = ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let Some(inside) = inside else { return value.to_string() };
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => {}
            },
            (c, false) => out.push(c),
        }
    }
    out
}

/// Number of entries of a flat list; `None` where `value` is no whole list.
pub(crate) fn list_len(value: &str) -> Option<u32> {
    let list = value.trim().strip_prefix('[')?.strip_suffix(']')?;
    if list.trim().is_empty() {
        return Some(0);
    }
    u32::try_from(list.bytes().filter(|b| *b == b',').count() + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_everything_inside() {
        let text =
            "'model': './a, b', 'n': 16, 'eager': True, 'names': ['x', 'y, z'], 'c': {'m': 'it\\'s}'}, 'z': None}";
        let got: Vec<(&str, Option<String>)> = dict_pairs(text).map(|(k, v)| (k, plain(v))).collect();
        let some = |text: &str| Some(text.to_string());
        let want = [
            ("model", some("./a, b")),
            ("n", some("16")),
            ("eager", some("true")),
            ("names", some("x,y, z")),
            ("c", some("{'m': 'it\\'s}'}")),
            ("z", None),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn what_the_text_ends_in_is_left_out() {
        let text = "a=1, mode=<Mode.FULL: (2, 1)>, b='x, y', c=Config(d=1, e=[2]), f=12";
        let got: Vec<_> = keyword_pairs(text).collect();
        assert_eq!(got, [("a", "1"), ("mode", "<Mode.FULL: (2, 1)>"), ("b", "'x, y'"), ("c", "Config(d=1, e=[2])")]);
        for end in 0..text.len() {
            let cut: Vec<_> = keyword_pairs(&text[..end]).collect();
            assert_eq!(cut, got[..cut.len()]);
        }
        assert_eq!(plain("'a\\nb'").as_deref(), Some("a\nb"));
        assert_eq!(list_len("[1, 2, 3]"), Some(3));
        assert_eq!((list_len("[]"), list_len("None"), list_len("[1, 2")), (Some(0), None, None));
    }
}
