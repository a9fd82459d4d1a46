//! Recorded text stays text: what steers whoever shows it, and what could be markup in HTML and SVG.

use serde::Serialize;
use std::borrow::Cow;

/// True for what is no text but steers it: control characters, separators of lines, marks that reorder what stands
/// around them, and signs that nobody sees.
pub(crate) fn steers(c: char) -> bool {
    let reorders = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || reorders || hides
}

/// JSON with what steers as `\u….`: the same values, and nothing in them that a terminal or an editor obeys.
pub fn json_escaped(json: &str) -> Cow<'_, str> {
    if json.is_ascii() {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c.is_ascii() || !steers(c) {
            true => out.push(c),
            // Two of them for a character beyond 16 bits.
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    Cow::Owned(out)
}

/// As indented JSON, with a line break at its end.
pub(crate) fn json_text(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| json_escaped(&text).into_owned() + "\n")
}

/// `text` with everything escaped that could be markup; control characters are left out.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            // They say nothing in a page, and some of them reorder what stands around them.
            c if steers(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A command of ours at the start of `text`, in backticks. Only letters stand in one, so it is no markup but a code span.
pub(crate) fn own_command(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("`postrun ")?;
    let end = inner.find(|c: char| !c.is_ascii_lowercase() && !matches!(c, ' ' | '_'))?;
    inner[end..].starts_with('`').then(|| &text[..text.len() - inner.len() + end + 1])
}

/// As [`escape`], with our own commands as code.
pub(crate) fn with_commands(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        out.push_str(&escape(before));
        let command = own_command(from);
        match command {
            Some(command) => out.push_str(&format!("<code>{}</code>", command.trim_matches('`'))),
            None => out.push('`'),
        }
        rest = &from[command.map_or(1, str::len)..];
    }
    out + &escape(rest)
}

/// As [`escape`], with flags of commands (`--max-num-seqs`) as code that no line break parts.
pub(crate) fn with_flags(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("--") {
        let (before, from) = rest.split_at(at);
        let begins = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-');
        let name = from[2..].find(|c: char| !c.is_ascii_alphanumeric() && c != '-').map_or(from.len(), |end| end + 2);
        out.push_str(&escape(before));
        match begins && from[2..].starts_with(|c: char| c.is_ascii_lowercase()) {
            true => out.push_str(&format!("<code class=\"flag\">{}</code>", &from[..name])),
            false => out.push_str(&escape(&from[..name])),
        }
        rest = &from[name..];
    }
    out + &escape(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_code_and_nothing_else_is() {
        assert_eq!(
            with_flags("run fewer (--max-num-seqs, now 4); <b> -- a--b ---x --X --"),
            "run fewer (<code class=\"flag\">--max-num-seqs</code>, now 4); &lt;b&gt; -- a--b ---x --X --"
        );
        assert_eq!(with_flags("--kv-cache-dtype"), "<code class=\"flag\">--kv-cache-dtype</code>");
        assert_eq!(with_flags("--é<"), "--é&lt;");
    }

    #[test]
    fn markup_stays_text() {
        assert_eq!(
            escape("<script>\"a\" & 'b'\u{7}</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39; &lt;/script&gt;"
        );
        assert_eq!(
            with_commands("a `postrun explain diff`, `postrun <b>` & `"),
            "a <code>postrun explain diff</code>, `postrun &lt;b&gt;` &amp; `"
        );
    }
}
