//! The documentation of a metric, ingestor or rule, cut from its own source file.

/// The leading `//!` text of a source file, kept as the source and cut out when asked for.
///
/// Made with `Doc::from_source(include_str!("ttft.rs"))`, so the page a user reads and the comment a
/// developer reads are one text and cannot drift apart.
#[derive(Debug, Clone, Copy)]
pub struct Doc(&'static str);

impl Doc {
    /// Keeps the whole source text.
    pub const fn from_source(source: &'static str) -> Doc {
        Doc(source)
    }

    /// The documentation text, without comment marks. Ends without a line break.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in self.0.lines().take_while(|line| line.starts_with("//!")) {
            let text = line.trim_start_matches("//!");
            out.push_str(text.strip_prefix(' ').unwrap_or(text));
            out.push('\n');
        }
        out.trim_end().to_string()
    }

    /// The first sentence-like line: what a listing shows beside the name.
    pub fn headline(&self) -> String {
        self.text().lines().next().unwrap_or_default().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_leading_comment_only() {
        let doc = Doc::from_source("//! One.\n//!\n//! Two.\nuse x;\n//! not this\n");
        assert_eq!(doc.text(), "One.\n\nTwo.");
        assert_eq!(doc.headline(), "One.");
    }
}
