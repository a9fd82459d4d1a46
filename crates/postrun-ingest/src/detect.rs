//! Which ingestor fits a file.

use crate::error::IngestError;
use crate::formats::INGESTORS;
use crate::ingestor::{Head, Ingestor, Sniff};
use crate::source::Source;

/// The ingestor with this id.
pub fn find_ingestor(id: &str) -> Result<&'static Ingestor, IngestError> {
    let found = INGESTORS.iter().copied().find(|i| i.id == id);
    found.ok_or_else(|| IngestError::UnknownFormat { name: id.to_string(), known: known() })
}

/// The one ingestor that fits best. Nothing, or two equally good ones, is an error that names the candidates.
pub fn recognise(source: &Source) -> Result<(&'static Ingestor, Sniff), IngestError> {
    let head = Head::new(&source.base_name, &source.head);
    let judged: Vec<_> = INGESTORS.iter().map(|i| (*i, (i.sniff)(&head))).collect();
    let best = judged.iter().map(|(_, s)| *s).max().unwrap_or(Sniff::No);
    let fitting: Vec<_> = judged.into_iter().filter(|(_, s)| *s == best && best != Sniff::No).collect();
    match fitting.as_slice() {
        [] => Err(IngestError::Unrecognised { file: source.name.clone(), seen: head.looks_like(), known: known() }),
        [one] => Ok(*one),
        [(first, _), (second, _), ..] => {
            Err(IngestError::Ambiguous { file: source.name.clone(), first: first.id, second: second.id })
        }
    }
}

fn known() -> String {
    INGESTORS.iter().map(|i| i.id).collect::<Vec<_>>().join(", ")
}
