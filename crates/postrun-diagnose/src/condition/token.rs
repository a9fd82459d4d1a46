//! A condition in words.

use super::ConditionError;

/// What a word is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    /// A name with its dots and brackets: `bucket[0..512].p95.ttft_ms`.
    Figure(String),
    And,
    Or,
    Not,
    /// `< <= > >= == !=`, `+ - * /`, `( )`.
    Sign(&'static str),
    End,
}

/// A word and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub kind: Kind,
    pub at: usize,
}

/// Longer ones first.
const SIGNS: [&str; 12] = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")"];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ConditionError> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let (kind, length) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() || c == '.' {
            number(rest).map_err(|message| ConditionError { at, message })?
        } else if c.is_ascii_alphabetic() || c == '_' {
            word(rest).map_err(|(beyond, message)| ConditionError { at: at + beyond, message })?
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            (Kind::Sign(sign), sign.len())
        } else {
            let hint = match c {
                '=' => "; equality is ==",
                '&' => "; write and",
                '|' => "; write or",
                '!' => "; write not",
                _ => "",
            };
            return Err(ConditionError { at, message: format!("{c:?} has no meaning in a condition{hint}") });
        };
        out.push(Token { kind, at });
        at += length;
    }
    out.push(Token { kind: Kind::End, at: text.len() });
    Ok(out)
}

fn number(rest: &str) -> Result<(Kind, usize), String> {
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let mut length = rest.find(|c| !digits(c)).unwrap_or(rest.len());
    // An exponent: 1e3, 2.5E-2.
    let exponent = rest.get(length..).unwrap_or_default();
    if exponent.starts_with(['e', 'E']) {
        let sign = usize::from(exponent.get(1..).is_some_and(|e| e.starts_with(['+', '-'])));
        let more = exponent.get(1 + sign..).unwrap_or_default();
        let count = more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
        length += if count > 0 { 1 + sign + count } else { 0 };
    }
    let text = rest.get(..length).unwrap_or_default();
    match text.replace('_', "").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Kind::Number(value), length)),
        _ => Err(format!("{text:?} is no number")),
    }
}

/// A name, or one of the three words of the language. The error says how far into it the fault lies.
fn word(rest: &str) -> Result<(Kind, usize), (usize, String)> {
    let mut length = 0;
    let mut chars = rest.char_indices();
    while let Some((i, c)) = chars.next() {
        if c == '[' {
            let inside = rest.get(i..).unwrap_or_default();
            let Some(close) = inside.find(']') else {
                return Err((i, "this bracket is not closed".to_string()));
            };
            chars = rest.char_indices();
            chars.nth(rest.get(..=i + close).unwrap_or_default().chars().count() - 1);
            length = i + close + 1;
        } else if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            length = i + 1;
        } else {
            break;
        }
    }
    let name = rest.get(..length).unwrap_or_default();
    let kind = match name {
        "and" => Kind::And,
        "or" => Kind::Or,
        "not" => Kind::Not,
        _ => Kind::Figure(name.to_string()),
    };
    Ok((kind, length.max(1)))
}
