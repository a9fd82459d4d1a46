//! Which ingestor fits a file.

use crate::error::IngestError;
use crate::formats::INGESTORS;
use crate::ingestor::{Head, Ingestor, Sniff, first_object_keys};
use crate::input::source::{Input, Source};
use crate::mapping::Mapping;

/// The ingestor with this id.
pub fn find_ingestor(id: &str) -> Result<&'static Ingestor, IngestError> {
    let found = INGESTORS.iter().copied().find(|i| i.id == id);
    found.ok_or_else(|| IngestError::UnknownFormat { name: id.to_string(), known: known() })
}

/// The one ingestor that fits best. Nothing, or two equally good ones, is an error that names the candidates.
///
/// Where the first 64 KiB do not decide, because large arrays come first, the keys of the whole first record do; that
/// takes a file that can be opened twice, not standard input.
///
/// A mapping claims the files that have its columns, and what the user `named` and nothing else knows.
pub fn recognise(
    source: &Source,
    input: &Input,
    mapping: Option<&Mapping>,
    named: bool,
) -> Result<(&'static Ingestor, Sniff), IngestError> {
    let mut head = Head::new(&source.base_name, &source.head);
    let packed = |what| IngestError::Packed { file: source.name.clone(), what };
    // What lies in it may look like a recording, but stands among other bytes.
    if let Some(what) = head.archive() {
        return Err(packed(what));
    }
    if mapping.is_some_and(|mapping| mapping.fits(&head)) {
        return Ok((by_mapping()?, Sniff::Strong));
    }
    match (best(&head), input) {
        (Fit::One(ingestor, Sniff::Strong), _) => return Ok((ingestor, Sniff::Strong)),
        (_, Input::Path(_)) if !head.keys.is_empty() && !source.head_is_all => {
            head.keys = first_object_keys(source.once_more(input)?.take_reader());
        }
        _ => {}
    }
    match best(&head) {
        Fit::None if named && mapping.is_some() => Ok((by_mapping()?, Sniff::Weak)),
        Fit::None => Err(match head.archive_by_name().filter(|_| head.keys.is_empty()) {
            Some(what) => packed(what),
            None => IngestError::Unrecognised { file: source.name.clone(), seen: head.looks_like(), known: known() },
        }),
        Fit::One(ingestor, sniff) => Ok((ingestor, sniff)),
        Fit::Two(first, second) => Err(IngestError::Ambiguous { file: source.name.clone(), first, second }),
    }
}

fn by_mapping() -> Result<&'static Ingestor, IngestError> {
    find_ingestor("mapping")
}

enum Fit {
    None,
    One(&'static Ingestor, Sniff),
    Two(&'static str, &'static str),
}

fn best(head: &Head) -> Fit {
    let judged: Vec<_> = INGESTORS.iter().map(|i| (*i, (i.sniff)(head))).collect();
    let best = judged.iter().map(|(_, s)| *s).max().unwrap_or(Sniff::No);
    let fitting: Vec<_> = judged.into_iter().filter(|(_, s)| *s == best && best != Sniff::No).collect();
    match fitting.as_slice() {
        [] => Fit::None,
        [(ingestor, sniff)] => Fit::One(ingestor, *sniff),
        [(first, _), (second, _), ..] => Fit::Two(first.id, second.id),
    }
}

fn known() -> String {
    INGESTORS.iter().map(|i| i.id).collect::<Vec<_>>().join(", ")
}
