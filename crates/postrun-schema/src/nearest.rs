//! Names that a typo may have meant.

/// Least likeness, by Jaro and Winkler, at which a name is worth asking for.
const LIKE: f64 = 0.75;
/// So much less like it than the best name, and a name is not asked for beside that.
const BEHIND: f64 = 0.1;
/// Most names in the question.
const ASKED: usize = 3;

/// `; did you mean …?` with the nearest of `known`, or nothing.
pub fn did_you_mean(name: &str, known: impl IntoIterator<Item = impl Into<String>>) -> String {
    let name = name.to_lowercase();
    let rated = known.into_iter().map(Into::into).map(|id: String| (strsim::jaro_winkler(&id, &name), id));
    let mut near: Vec<(f64, String)> = rated.filter(|(likeness, _)| *likeness >= LIKE).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = near.first().map_or(0.0, |(likeness, _)| *likeness);
    near.retain(|(likeness, _)| *likeness >= best - BEHIND);
    let near: Vec<String> = near.into_iter().take(ASKED).map(|(_, id)| id).collect();
    match near.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", near.join(" or ")),
    }
}
