//! Several files about one run: its requests, its stages, the whole. The finest one counts, once.
//!
//! Load generators write a summary next to the records it sums up. Of the files of one run only the finest layer becomes
//! runs. A coarser file gives way: the figures it stores become what the client reported of the run, and the settings it
//! names fill the gaps of the manifest. Files are of one run where they are of one tool and lie in one folder under one
//! key, or where both hold the same totals, wherever they lie. Where times or figures tell that a summary is of another
//! run ([`same_run`]), it stays one. A copy that holds the figures of a file beside it once more, rounded, adds nothing.
//! A stage's duration, rate and counts are never those of a run of several stages.

use super::copies::without_copies;
use super::same_run;
use super::take_over::{Share, of_other_requests, of_others, take_over};
use crate::error::IngestError;
use crate::input::candidate::LeftAlone;
use crate::session::UsedFile;
use crate::sink::Collected;
use postrun_schema::{IssueCode, ReportedRow};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How much of a run one file tells, the finest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// Every request with every piece of its answer.
    Responses,
    /// Every request.
    Requests,
    /// Every request with every piece of its answer, whose lengths nobody counted.
    ResponsesWithoutLengths,
    /// Figures of one stage of the load.
    Stage(u32),
    /// Figures of the whole.
    Whole,
    /// What the client asked of the server's metrics over one stage.
    ServerStage(u32),
    /// The same, over the whole.
    ServerWhole,
    /// Further figures of the whole, in a file of their own.
    Supplement,
}

impl Layer {
    fn of_requests(self) -> bool {
        self.rank() <= Layer::ResponsesWithoutLengths.rank()
    }

    fn rank(self) -> u8 {
        match self {
            Layer::Responses => 0,
            Layer::Requests => 1,
            Layer::ResponsesWithoutLengths => 2,
            Layer::Stage(_) => 3,
            Layer::Whole => 4,
            Layer::ServerStage(_) => 5,
            Layer::ServerWhole => 6,
            Layer::Supplement => 7,
        }
    }
}

/// One of several files about one run.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The tool; files of another one are another run.
    pub family: &'static str,
    pub layer: Layer,
    /// What the files of one run share inside a folder, such as a stem or a stage. Empty: the folder.
    pub key: String,
    /// What several files can tell of one run, exactly. Empty: nothing.
    pub totals: String,
    /// First and last event in Unix time, where the file tells.
    pub window_unix_ns: Option<(i64, i64)>,
    /// What the client reported in this file.
    pub reported: Vec<ReportedRow>,
    /// The format of a file of the same name and folder that holds all of this, and more of its digits.
    pub copy_of: Option<&'static str>,
}

impl Part {
    /// A file that its folder alone ties to others.
    pub(crate) fn of(family: &'static str, layer: Layer) -> Part {
        Part {
            family,
            layer,
            key: String::new(),
            totals: String::new(),
            window_unix_ns: None,
            reported: Vec::new(),
            copy_of: None,
        }
    }

    /// May the two be about the same run?
    fn fits(&self, other: &Part) -> bool {
        match (self.window_unix_ns, other.window_unix_ns) {
            (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
            _ => true,
        }
    }
}

/// The runs that are left.
pub(crate) struct Layered {
    pub kept: Vec<Collected>,
    pub left_alone: Vec<LeftAlone>,
}

/// Lets coarser files give way to finer ones of their run.
pub(crate) fn settle(collected: Vec<Collected>, used: &[UsedFile]) -> Result<Layered, IngestError> {
    let files: Vec<String> = used.iter().map(|file| file.name.clone()).collect();
    let (collected, mut left_alone) = without_copies(collected, used)?;
    let files = files.as_slice();
    let by_place = |item: &Collected, part: &Part| {
        let name = files.get(item.file).map(String::as_str).unwrap_or_default();
        Some((Path::new(name).parent().map(Path::to_path_buf).unwrap_or_default(), part.key.clone()))
    };
    let by_totals =
        |_: &Collected, part: &Part| (!part.totals.is_empty()).then(|| (PathBuf::new(), part.totals.clone()));
    let mut items: Vec<Option<Collected>> = collected.into_iter().map(Some).collect();
    settle_groups(&mut items, by_place, files, &mut left_alone)?;
    settle_groups(&mut items, by_totals, files, &mut left_alone)?;
    Ok(Layered { kept: items.into_iter().flatten().collect(), left_alone })
}

/// What files of one run have in common.
type Common = (PathBuf, String);

fn settle_groups(
    items: &mut [Option<Collected>],
    common: impl Fn(&Collected, &Part) -> Option<Common>,
    files: &[String],
    left_alone: &mut Vec<LeftAlone>,
) -> Result<(), IngestError> {
    let mut groups: BTreeMap<(Common, &'static str), Vec<usize>> = BTreeMap::new();
    for (i, item) in items.iter().enumerate() {
        let Some((item, part)) = item.as_ref().and_then(|item| Some((item, item.part.as_ref()?))) else { continue };
        if let Some(common) = common(item, part) {
            groups.entry((common, part.family)).or_default().push(i);
        }
    }
    for group in groups.into_values() {
        settle_group(&group, items, files, left_alone)?;
    }
    Ok(())
}

fn settle_group(
    group: &[usize],
    items: &mut [Option<Collected>],
    files: &[String],
    left_alone: &mut Vec<LeftAlone>,
) -> Result<(), IngestError> {
    let rank = |i: &usize| items.get(*i).and_then(Option::as_ref)?.part.as_ref().map(|p| p.layer.rank());
    let finest = group.iter().filter_map(rank).min();
    let (fine, mut coarse): (Vec<usize>, Vec<usize>) = group.iter().copied().partition(|i| rank(i) == finest);
    coarse.sort_by_key(rank);
    let has = |layers: fn(Layer) -> bool| {
        let layer = |i: &&usize| items.get(**i).and_then(Option::as_ref)?.part.as_ref().map(|p| p.layer);
        group.iter().filter(|i| layer(i).is_some_and(layers)).count()
    };
    let beside = Beside {
        requests: has(Layer::of_requests) > 0,
        stages: has(|layer| matches!(layer, Layer::Stage(_))),
        whole: has(|layer| layer == Layer::Whole) > 0,
    };
    for i in &coarse {
        if let Some(why) = give_way(*i, &fine, &beside, items)? {
            let name = why.file.and_then(|f| files.get(f)).cloned().unwrap_or_default();
            left_alone.push(LeftAlone { name, why: why.text.to_string() });
        }
    }
    // What is of another run may be several files of it.
    coarse.retain(|i| items.get(*i).is_some_and(Option::is_some));
    match coarse.is_empty() {
        true => Ok(()),
        false => settle_group(&coarse, items, files, left_alone),
    }
}

/// What else there is of the run.
struct Beside {
    requests: bool,
    stages: usize,
    whole: bool,
}

/// Why a file is no run.
struct LeftOut {
    file: Option<usize>,
    text: &'static str,
}

fn give_way(
    coarse: usize,
    fine: &[usize],
    beside: &Beside,
    items: &mut [Option<Collected>],
) -> Result<Option<LeftOut>, IngestError> {
    fn part(items: &[Option<Collected>], i: usize) -> Option<&Part> {
        items.get(i)?.as_ref()?.part.as_ref()
    }
    let Some(mine) = part(items, coarse).cloned() else { return Ok(None) };
    let of_stages = fine.iter().any(|i| part(items, *i).is_some_and(|p| matches!(p.layer, Layer::Stage(_))));
    // Figures of a stage belong to that stage alone.
    let same_stage = |p: &Part| match (mine.layer, p.layer) {
        (Layer::ServerStage(mine), Layer::Stage(stage)) => mine == stage,
        _ => true,
    };
    let fits = |i: &usize| part(items, *i).is_some_and(|p| p.fits(&mine) && same_stage(p));
    let fitting: Vec<usize> = fine.iter().copied().filter(fits).collect();
    let target = match fitting.as_slice() {
        [] => return Ok(None),
        [one] => *one,
        _ => coarse,
    };
    let of_a_part = target != coarse && is_of_a_part(coarse, target, beside, items);
    if target != coarse && !says_the_same(coarse, target, of_a_part, items)? {
        return Ok(None);
    }
    let Some(item) = items.get_mut(coarse).and_then(Option::take) else { return Ok(None) };
    let left_out = |text| Ok(Some(LeftOut { file: Some(item.file), text }));
    let rows = match mine.layer {
        layer if target == coarse && (beside.requests || layer == Layer::Supplement) => {
            return left_out("sums up one of several runs here; name the two alone");
        }
        _ if target == coarse => return left_out("sums up the stages, which were read one by one"),
        Layer::Stage(n) if of_a_part => {
            mine.reported.iter().map(|row| of_stage(row, n, "stages_not_marked".into())).collect()
        }
        Layer::ServerStage(n) if !of_stages => {
            mine.reported.iter().map(|row| of_stage(row, n, row.convention.clone())).collect()
        }
        _ => mine.reported.clone(),
    };
    if let Some(run) = items.get_mut(target).and_then(Option::as_mut) {
        let others = if of_a_part { None } else { of_other_requests(&item, run) };
        let rows = match others {
            Some(why) => {
                let place = item.run.manifest.source_names();
                run.issues.add(IssueCode::ServerCountedOthers, || place, || why);
                rows.iter().map(of_others).collect()
            }
            None => rows,
        };
        let of = match of_a_part {
            true => Share::Part { counts: !beside.whole },
            false => Share::Whole,
        };
        take_over(run, item, rows, of)?;
    }
    Ok(None)
}

/// Whether a stage is a part of the run that it goes to: one of several, or of fewer requests than there are.
fn is_of_a_part(stage: usize, run: usize, beside: &Beside, items: &[Option<Collected>]) -> bool {
    let item = |i: usize| items.get(i).and_then(Option::as_ref);
    let (Some(stage), Some(run)) = (item(stage), item(run)) else { return false };
    let layer = |item: &Collected| item.part.as_ref().map(|part| part.layer);
    match (layer(stage), layer(run)) {
        (Some(Layer::ServerStage(_)), Some(Layer::Stage(_))) => false,
        (Some(Layer::ServerStage(_)), _) => true,
        (Some(Layer::Stage(_)), _) => {
            let all = stage.run.manifest.counted.requests();
            beside.stages > 1 || all.is_some_and(|all| all < run.run.measured)
        }
        _ => false,
    }
}

/// Whether a summary can be of the requests that it lies beside; where it cannot, it says why.
fn says_the_same(
    coarse: usize,
    target: usize,
    of_a_part: bool,
    items: &mut [Option<Collected>],
) -> Result<bool, IngestError> {
    let item = |i: usize| items.get(i).and_then(Option::as_ref);
    let (Some(summary), Some(run)) = (item(coarse), item(target)) else { return Ok(true) };
    let reported = summary.part.as_ref().map(|part| part.reported.as_slice()).unwrap_or_default();
    let Some(why) = same_run::contradiction(&run.run, &summary.run.manifest, reported, !of_a_part)? else {
        return Ok(true);
    };
    if let Some(summary) = items.get_mut(coarse).and_then(Option::as_mut) {
        let place = summary.run.manifest.source_names();
        summary.issues.add(IssueCode::SummaryOfAnotherRun, || place, || why);
    }
    Ok(false)
}

/// A figure of one stage, which the rows of the whole run do not give.
fn of_stage(row: &ReportedRow, stage: u32, convention: Cow<'static, str>) -> ReportedRow {
    ReportedRow {
        metric: format!("stage_{stage}.{}", row.metric),
        convention,
        key: format!("stage_{stage}.{}", row.key),
        ..row.clone()
    }
}
