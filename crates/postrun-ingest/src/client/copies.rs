//! A client's CSV beside its JSON: the same figures, rounded, and nothing more, as far as both can be compared.

use super::same_run;
use crate::error::IngestError;
use crate::input::candidate::LeftAlone;
use crate::session::UsedFile;
use crate::sink::Collected;
use postrun_schema::{IssueCode, SchemaError};
use std::path::Path;

/// Leaves out what stands, with more of its digits, in another file that was read.
pub(super) fn without_copies(
    collected: Vec<Collected>,
    used: &[UsedFile],
) -> Result<(Vec<Collected>, Vec<LeftAlone>), IngestError> {
    let mut left_alone = Vec::<LeftAlone>::new();
    let mut verdicts = Vec::new();
    for item in &collected {
        let name = used.get(item.file).map(|file| file.name.as_str()).unwrap_or_default();
        let Some(format) = item.part.as_ref().and_then(|part| part.copy_of) else {
            verdicts.push(None);
            continue;
        };
        let runs_of = |file: usize| collected.iter().filter(move |other| other.file == file);
        let originals: Vec<usize> =
            (0..used.len()).filter(|i| used.get(*i).is_some_and(|u| u.format == format)).collect();
        let by_name = originals.iter().find(|i| used.get(**i).is_some_and(|u| is_beside(&u.name, name)));
        if let Some(original) = by_name {
            verdicts.push(Some((*original, copied(item, runs_of(*original))?)));
            continue;
        }
        // Under another name its figures alone tell whose copy it is.
        let mut found = None;
        for original in originals {
            match copied(item, runs_of(original))? {
                Copied::Same { agree, of } if agree * 5 >= of * 4 && of >= ENOUGH_FIGURES => {
                    found.get_or_insert((original, Copied::Same { agree, of }));
                }
                _ => {}
            }
        }
        verdicts.push(found);
    }
    let mut kept = Vec::new();
    for (mut item, verdict) in collected.into_iter().zip(verdicts) {
        let name = used.get(item.file).map(|file| file.name.clone()).unwrap_or_default();
        let Some((original, copied)) = verdict else {
            kept.push(item);
            continue;
        };
        let original = used.get(original).map(|file| file.name.as_str()).unwrap_or_default();
        let original = Path::new(original).file_name().unwrap_or_default().to_string_lossy();
        let why = match copied {
            Copied::Same { agree, of } if agree * 20 < of * 19 => {
                format!("a summary of the run in {original}, which has {agree} of its {of} figures")
            }
            Copied::Same { .. } => format!("a summary of the run in {original} beside it, which has the same figures"),
            Copied::Unknown => {
                format!("by its name a copy of {original} beside it; no figure of the two can be compared")
            }
            Copied::Other { agree, of } => {
                let example = || format!("{agree} of {of} figures that {original} has too are the same");
                item.issues.add(IssueCode::SummaryOfAnotherRun, || name, example);
                kept.push(item);
                continue;
            }
        };
        if left_alone.iter().all(|left| left.name != name) {
            left_alone.push(LeftAlone { name, why });
        }
    }
    Ok((kept, left_alone))
}

/// Figures that both files have to hold, four fifths of them the same, where no name says that they are of one run.
const ENOUGH_FIGURES: usize = 8;

/// Whether one file holds the figures of another.
enum Copied {
    Same {
        agree: usize,
        of: usize,
    },
    Other {
        agree: usize,
        of: usize,
    },
    /// They have no figure in common.
    Unknown,
}

fn copied<'a>(item: &Collected, originals: impl Iterator<Item = &'a Collected>) -> Result<Copied, SchemaError> {
    let mine = item.part.as_ref().map(|part| part.reported.as_slice()).unwrap_or_default();
    let mut best = (0, 0);
    for original in originals {
        let (agree, of) = same_run::agreement(mine, &original.run)?;
        // The share that agrees, without a division.
        if best.1 == 0 || agree * best.1 > best.0 * of {
            best = (agree, of);
        }
    }
    Ok(match best {
        (_, 0) => Copied::Unknown,
        (agree, of) if agree * 2 >= of => Copied::Same { agree, of },
        (agree, of) => Copied::Other { agree, of },
    })
}

/// In one folder, and called the same but for their endings.
fn is_beside(a: &str, b: &str) -> bool {
    let stem = |name: &str| {
        let whole = name.trim_end_matches(".gz").trim_end_matches(".zst");
        Path::new(whole).with_extension("")
    };
    stem(a) == stem(b)
}
