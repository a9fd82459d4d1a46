//! Single settings out of a request's body that was stored as text, without parsing a prompt of any length.

/// What follows `"key":` in a JSON text, where the key is no part of another text (its quotes would be escaped there).
pub(crate) fn after_key<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    let quoted = format!("\"{key}\"");
    let mut from = 0;
    while let Some(found) = json.get(from..)?.find(&quoted) {
        let at = from + found;
        let escaped = json.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\\');
        let rest = json.get(at + quoted.len()..)?.trim_start();
        if let (false, Some(value)) = (escaped, rest.strip_prefix(':')) {
            return Some(value.trim_start());
        }
        from = at + quoted.len();
    }
    None
}

/// The text in quotes that starts here.
pub(crate) fn quoted(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?;
    inner.get(..inner.find('"')?).filter(|t| !t.is_empty() && t.len() <= 200)
}

/// The whole number that starts here.
pub(crate) fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_speaks_of_a_model_is_no_setting() {
        let body = r#"{"prompt": "say \"model\": \"x\"", "model" : "m", "max_tokens":12}"#;
        assert_eq!(after_key(body, "model").and_then(quoted), Some("m"));
        assert_eq!(after_key(body, "max_tokens").and_then(leading_number), Some(12));
        assert_eq!(after_key(body, "stream"), None);
        assert_eq!(after_key("é\"model\"", "model"), None);
    }
}
