//! What an OpenAI-like answer says of itself, out of the texts in which it came: events of a stream, or a whole body.

use super::value;
use crate::json::Tree;
use serde_json::Value;

/// What all texts together say.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub prompt_tokens: Option<u32>,
    pub output_tokens: Option<u32>,
    pub cached_tokens: Option<u32>,
    pub finish_reason: Option<String>,
    pub error: Option<String>,
    /// It did not come as a stream.
    pub whole_body: bool,
}

impl Answer {
    /// Takes in one read; true where it holds content.
    pub(crate) fn hear(&mut self, text: &str) -> bool {
        let mut content = false;
        if text.trim_start().starts_with('{') {
            self.whole_body = true;
            return serde_json::from_str::<Value>(text.trim()).is_ok_and(|event| self.event(&event));
        }
        // One event a line; what a text speaks of cannot start one.
        let events = text.lines().filter_map(|line| line.trim_start().strip_prefix("data:"));
        for event in events.map(str::trim).filter(|event| event.starts_with('{')) {
            if let Ok(event) = serde_json::from_str::<Value>(event) {
                content |= self.event(&event);
            }
        }
        content
    }

    fn event(&mut self, event: &Value) -> bool {
        let count = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            let text = error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), String::from);
            self.error = value::text(&Tree::Text(text)).or(Some("an error event".to_string()));
        }
        if let Some(usage) = event.get("usage") {
            self.prompt_tokens = usage.get("prompt_tokens").and_then(count).or(self.prompt_tokens);
            self.output_tokens = usage.get("completion_tokens").and_then(count).or(self.output_tokens);
            let cached = usage.pointer("/prompt_tokens_details/cached_tokens").and_then(count);
            self.cached_tokens = cached.or(self.cached_tokens);
        }
        let mut content = false;
        for choice in event.get("choices").and_then(Value::as_array).into_iter().flatten() {
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.finish_reason = Some(reason.chars().take(100).collect());
            }
            let part = choice.get("delta").or(choice.get("message")).unwrap_or(choice);
            let texts = ["content", "text", "reasoning_content", "reasoning"];
            let filled = |key: &str| part.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
            let calls = part.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
            content |= calls || texts.iter().any(|key| filled(key));
        }
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_told_from_the_rest() {
        let mut answer = Answer::default();
        assert!(!answer.hear("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"));
        assert!(answer.hear("data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\n"));
        assert!(!answer.hear("data: {\"choices\":[],\"usage\":{\"completion_tokens\":3}}\n\ndata: [DONE]\n\n"));
        assert_eq!((answer.output_tokens, answer.whole_body, answer.error.is_some()), (Some(3), false, false));
        assert!(answer.hear("{\"choices\":[{\"text\":\"x\",\"finish_reason\":\"stop\"}]}") && answer.whole_body);
        assert!(!answer.hear("data: {\"error\":{\"message\":\"out of memory\"}}"));
        assert_eq!(answer.error.as_deref(), Some("out of memory"));
    }
}
