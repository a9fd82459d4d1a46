//! Names of runs that were named by different paths and call themselves alike.

use std::collections::BTreeSet;
use std::path::{Component, Path};

/// Gives runs of one label, each with the argument it came from, the parts of their paths that differ: `old/run` and `new/run`.
/// What paths do not tell apart stays as it is.
pub fn by_paths(mut runs: Vec<(&mut String, &str)>) {
    let labels: Vec<String> = runs.iter().map(|(label, _)| label.to_string()).collect();
    let different: BTreeSet<&String> = labels.iter().collect();
    for label in different {
        let origins: Vec<&str> = runs.iter().zip(&labels).filter(|(_, l)| *l == label).map(|((_, o), _)| *o).collect();
        if origins.len() < 2 {
            continue;
        }
        let Some(names) = apart(label, &origins) else { continue };
        let alike = runs.iter_mut().zip(&labels).filter(|(_, l)| *l == label);
        alike.zip(names).for_each(|(((run, _), _), name)| **run = name);
    }
}

/// The shortest ends of the paths that are all different; `None` where there are none.
fn apart(label: &str, origins: &[&str]) -> Option<Vec<String>> {
    let paths: Vec<Vec<String>> = origins.iter().map(|o| parts(label, o)).collect();
    let longest = paths.iter().map(Vec::len).max()?;
    let end = |path: &Vec<String>, n: usize| path[path.len().saturating_sub(n)..].join("/");
    let ends = |n: usize| paths.iter().map(|p| end(p, n)).collect::<Vec<String>>();
    let all = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let found = (1..=longest).map(ends).find(all)?;
    let own = |name: String| if name.ends_with(label) { name } else { format!("{label} ({name})") };
    Some(found.into_iter().map(own).collect())
}

/// The folders of a path, up to the one that gave the label.
fn parts(label: &str, origin: &str) -> Vec<String> {
    let path = std::path::absolute(Path::new(origin)).unwrap_or_else(|_| origin.into());
    let mut out: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(out.pop()),
            _ => {}
        }
    }
    if let Some(at) = out.iter().rposition(|name| name == label) {
        out.truncate(at + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(runs: &[(&str, &str)]) -> Vec<String> {
        let mut labels: Vec<String> = runs.iter().map(|(label, _)| label.to_string()).collect();
        by_paths(labels.iter_mut().zip(runs.iter().map(|(_, origin)| *origin)).collect());
        labels
    }

    #[test]
    fn what_differs_in_the_paths_tells_runs_apart() {
        assert_eq!(named(&[("run_a", "x/run_a"), ("run_a", "y/run_a/")]), ["x/run_a", "y/run_a"]);
        assert_eq!(named(&[("run", "x/1/run/result.json"), ("run", "y/1/run/result.json")]), ["x/1/run", "y/1/run"]);
        assert_eq!(named(&[("kv", "old.postrun"), ("kv", "new.postrun")]), ["kv (old.postrun)", "kv (new.postrun)"]);
        assert_eq!(named(&[("a", "x/a"), ("b", "y/b")]), ["a", "b"]);
        assert_eq!(named(&[("a", "x/a"), ("a", "x/../x/a")]), ["a", "a"]);
    }
}
