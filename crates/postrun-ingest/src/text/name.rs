//! Names of quantities as texts spell them, turned into ids.

/// `MM cache hit rate` as `mm_cache_hit_rate`, `#cached-token` as `cached_token`.
pub(crate) fn snake_case(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_joined() {
        assert_eq!(snake_case("gen throughput (token/s)"), "gen_throughput_token_s");
        assert_eq!((snake_case("#cached-token"), snake_case(" - ")), ("cached_token".to_string(), String::new()));
    }
}
