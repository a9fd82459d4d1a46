//! Python's printed values, as logs hold them: dicts, lists, calls of constructors; JSON is read too.
//!
//! `repr` is not JSON: single quotes where the text has no apostrophe, `None`, `True`, `nan`, tuples, named arguments,
//! objects that print as `<Mode.NULL: 0>`, and texts that a logger shortened (`'abc' ... 'xyz'`).
//!
//! [`parse`] reads a value that must be whole. Where a logger cut the text, [`dict_pairs`] and [`keyword_pairs`] hand out
//! the entries before the cut, each as it stands; nothing is built of them until [`plain`] is asked.

use crate::json::{Tree, number};

/// Deeper values are refused.
const DEEPEST: usize = 48;
/// What a logger puts between the two ends of a value that it shortened.
const SHORTENED: &str = " ... ";

/// Reads the value at the start of `text`: the value and what follows it. A call gives its named arguments. `None`:
/// there is no complete value.
pub(crate) fn parse(text: &str) -> Option<(Tree, &str)> {
    let (value, rest) = value(text.trim_start(), 0)?;
    Some((value, rest))
}

fn value(text: &str, depth: usize) -> Option<(Tree, &str)> {
    if depth > DEEPEST {
        return None;
    }
    let (first, rest) = plain_value(text, depth)?;
    match rest.strip_prefix(SHORTENED) {
        Some(tail) => Some((first, value(tail, depth + 1)?.1)),
        None => Some((first, rest)),
    }
}

fn plain_value(text: &str, depth: usize) -> Option<(Tree, &str)> {
    match text.as_bytes().first()? {
        b'{' => members(&text[1..], depth),
        b'[' => elements(&text[1..], ']', depth),
        b'(' => elements(&text[1..], ')', depth),
        b'\'' | b'"' => string(text),
        b'<' => text.find('>').map(|end| (Tree::Null, &text[end + 1..])),
        _ => word(text, depth),
    }
}

fn members(mut rest: &str, depth: usize) -> Option<(Tree, &str)> {
    let mut out = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((Tree::Map(out), rest));
        }
        let (key, tail) = value(rest, depth + 1)?;
        let (Tree::Text(key) | Tree::Number(key)) = key else { return None };
        let tail = tail.trim_start().strip_prefix(':')?.trim_start();
        let (member, tail) = value(tail, depth + 1)?;
        out.push((key, member));
        rest = separated(tail, '}')?;
    }
}

fn elements(mut rest: &str, close: char, depth: usize) -> Option<(Tree, &str)> {
    let mut out = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix(close) {
            return Some((Tree::List(out), rest));
        }
        let (element, tail) = value(rest, depth + 1)?;
        out.push(element);
        rest = separated(tail, close)?;
    }
}

/// What follows the comma after an element, or the closing bracket itself.
fn separated(rest: &str, close: char) -> Option<&str> {
    let rest = rest.trim_start();
    if rest.starts_with(close) { Some(rest) } else { rest.strip_prefix(',') }
}

/// A number, a name, or a call.
fn word(text: &str, depth: usize) -> Option<(Tree, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "+-._".contains(c))).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    if word.is_empty() {
        return None;
    }
    let tree = match word {
        "None" | "null" => Tree::Null,
        "True" | "true" => Tree::Bool(true),
        "False" | "false" => Tree::Bool(false),
        _ if number(word.as_bytes()).is_some() => Tree::Number(word.to_string()),
        // A prefix of a text: b'…', r'…'.
        "b" | "r" | "u" | "f" | "B" | "R" if rest.starts_with(['\'', '"']) => return string(rest),
        _ => match rest.strip_prefix('(') {
            Some(rest) => return arguments(rest, depth),
            None => Tree::Text(word.to_string()),
        },
    };
    Some((tree, rest))
}

fn arguments(mut rest: &str, depth: usize) -> Option<(Tree, &str)> {
    let mut out = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix(')') {
            return Some((Tree::Map(out), rest));
        }
        let name_end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, tail) = rest.split_at(name_end);
        let tail = match tail.strip_prefix('=') {
            Some(tail) if !name.is_empty() => {
                let (argument, tail) = value(tail, depth + 1)?;
                out.push((name.to_string(), argument));
                tail
            }
            _ => value(rest, depth + 1)?.1,
        };
        rest = separated(tail, ')')?;
    }
}

fn string(text: &str) -> Option<(Tree, &str)> {
    let quote = text.chars().next()?;
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((Tree::Text(out), &text[at + quote.len_utf8()..])),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'x' => out.push(escaped(&mut chars, 2)?),
                'u' => out.push(escaped(&mut chars, 4)?),
                'U' => out.push(escaped(&mut chars, 8)?),
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

fn escaped(chars: &mut impl Iterator<Item = (usize, char)>, digits: usize) -> Option<char> {
    let mut code = 0u32;
    for _ in 0..digits {
        code = (code << 4) | chars.next()?.1.to_digit(16)?;
    }
    Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
}

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

/// A value as a plain text: strings without quotes, `true` and `false`, flat lists joined by commas, anything else as it
/// stands. Python's `None` is no value.
pub(crate) fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    let scalar = |tree: &Tree| match tree {
        Tree::Bool(value) => Some(value.to_string()),
        Tree::Number(word) | Tree::Text(word) => Some(word.clone()),
        Tree::Null | Tree::List(_) | Tree::Map(_) => None,
    };
    match parse(text).filter(|(_, rest)| rest.is_empty()).map(|(tree, _)| tree) {
        _ if matches!(text, "" | "None") => None,
        Some(Tree::List(list)) if text.starts_with('[') && !text[1..].contains(['[', '{', '(']) => {
            let items: Vec<String> = list.iter().filter_map(scalar).collect();
            (!items.is_empty()).then(|| items.join(","))
        }
        Some(tree) => scalar(&tree).or_else(|| Some(text.to_string())),
        None => Some(text.to_string()),
    }
}

/// Number of entries of a list; `None` where `text` is no whole list.
pub(crate) fn list_len(text: &str) -> Option<u32> {
    let list = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    if list.trim().is_empty() {
        return Some(0);
    }
    u32::try_from(list.bytes().filter(|b| *b == b',').count() + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_prints() {
        let text = r#"ServerArgs(model_path='/m/toy', tp=2, ids=[1, (2, 3)], f=nan, mode=<Mode.NULL: 0>, "#.to_string()
            + r#"dtype=torch.bfloat16, say="it's", cut='ab' ... 'yz', none=None, inner=Foo(1, x=True), "#
            + "e={}), out={'a': 1}";
        let (tree, rest) = parse(&text).unwrap();
        assert_eq!(rest, ", out={'a': 1}");
        assert_eq!((tree.get("model_path").text(), tree.get("tp").count()), (Some("/m/toy"), Some(2)));
        assert_eq!(tree.get("ids").elements()[1].elements()[1].count(), Some(3));
        assert_eq!((tree.get("f").number(), tree.get("mode"), tree.get("none")), (None, &Tree::Null, &Tree::Null));
        assert_eq!((tree.get("dtype").text(), tree.get("say").text()), (Some("torch.bfloat16"), Some("it's")));
        assert_eq!((tree.get("cut").text(), tree.get("inner").get("x")), (Some("ab"), &Tree::Bool(true)));
        let (json, rest) = parse(r#" {"a": [true, null, -1.5e3], "é": "\u00e9\n"} tail"#).unwrap();
        assert_eq!(
            (json.get("a").elements()[2].number(), json.get("é").text(), rest),
            (Some(-1500.0), Some("é\n"), " tail")
        );
    }

    #[test]
    fn what_is_cut_is_no_value() {
        let text = r"{'a': 'x\x41', 'b': [1, 2.5], 'c': F(d=None)}";
        for end in 0..text.len() {
            assert!(parse(&text[..end]).is_none(), "{end}");
        }
        assert!(parse(&"[".repeat(100_000)).is_none());
        assert_eq!(parse(text).unwrap().0.get("a").text(), Some("xA"));
    }

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
