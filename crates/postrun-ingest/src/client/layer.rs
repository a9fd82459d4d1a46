//! Several files about one run: its requests, its stages, the whole. The finest one counts, once.
//!
//! Load generators write a summary next to the records it sums up. Of the files of one run only the finest layer becomes
//! runs. A coarser file gives way: the figures it stores become what the client reported of the run, and the settings it
//! names fill the gaps of the manifest. Files are of one run where they are of one tool and lie in one folder under one
//! key, or where both hold the same totals, wherever they lie. Where times tell that a summary is of another run, it
//! stays one. A copy that holds the figures of a file beside it once more, rounded, adds nothing.

use crate::error::IngestError;
use crate::input::candidate::LeftAlone;
use crate::session::UsedFile;
use crate::sink::Collected;
use postrun_schema::{Load, Manifest, ReportedRow};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest relative difference between two figures that are the same, stored with unlike digits.
const SAME: f64 = 1e-6;

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
    let (collected, mut left_alone) = without_copies(collected, used);
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

/// Leaves out what stands, with more of its digits, in another file that was read.
fn without_copies(collected: Vec<Collected>, used: &[UsedFile]) -> (Vec<Collected>, Vec<LeftAlone>) {
    let (mut kept, mut left_alone) = (Vec::new(), Vec::<LeftAlone>::new());
    for item in collected {
        let name = used.get(item.file).map(|file| file.name.clone()).unwrap_or_default();
        let of = |format| used.iter().find(|other| other.format == format && is_beside(&other.name, &name));
        let Some(original) = item.part.as_ref().and_then(|part| part.copy_of).and_then(of) else {
            kept.push(item);
            continue;
        };
        if left_alone.iter().all(|left| left.name != name) {
            let original = Path::new(&original.name).file_name().unwrap_or_default().to_string_lossy();
            let why = format!("a summary of the run in {original} beside it, which has the same figures");
            left_alone.push(LeftAlone { name, why });
        }
    }
    (kept, left_alone)
}

/// In one folder, and called the same but for their endings.
fn is_beside(a: &str, b: &str) -> bool {
    let stem = |name: &str| {
        let whole = name.trim_end_matches(".gz").trim_end_matches(".zst");
        Path::new(whole).with_extension("")
    };
    stem(a) == stem(b)
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
        let rank = |i: &usize| items.get(*i).and_then(Option::as_ref)?.part.as_ref().map(|p| p.layer.rank());
        let finest = group.iter().filter_map(rank).min();
        let (fine, mut coarse): (Vec<usize>, Vec<usize>) = group.iter().partition(|i| rank(i) == finest);
        coarse.sort_by_key(rank);
        let has = |layers: fn(Layer) -> bool| {
            let layer = |i: &&usize| items.get(**i).and_then(Option::as_ref)?.part.as_ref().map(|p| p.layer);
            group.iter().filter(|i| layer(i).is_some_and(layers)).count()
        };
        let beside =
            Beside { requests: has(Layer::of_requests) > 0, stages: has(|layer| matches!(layer, Layer::Stage(_))) };
        for i in coarse {
            if let Some(why) = give_way(i, &fine, &beside, items)? {
                let name = why.file.and_then(|f| files.get(f)).cloned().unwrap_or_default();
                left_alone.push(LeftAlone { name, why: why.text.to_string() });
            }
        }
    }
    Ok(())
}

/// What else there is of the run.
struct Beside {
    requests: bool,
    stages: usize,
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
    let Some(item) = items.get_mut(coarse).and_then(Option::take) else { return Ok(None) };
    let left_out = |text| Ok(Some(LeftOut { file: Some(item.file), text }));
    let rows = match mine.layer {
        layer if target == coarse && (beside.requests || layer == Layer::Supplement) => {
            return left_out("sums up one of several runs here; name the two alone");
        }
        _ if target == coarse => return left_out("sums up the stages, which were read one by one"),
        Layer::Stage(n) if beside.stages > 1 => {
            mine.reported.iter().map(|row| of_stage(row, n, "stages_not_marked".into())).collect()
        }
        Layer::ServerStage(n) if !of_stages => {
            mine.reported.iter().map(|row| of_stage(row, n, row.convention.clone())).collect()
        }
        _ => mine.reported.clone(),
    };
    if let Some(run) = items.get_mut(target).and_then(Option::as_mut) {
        take_over(run, item, rows)?;
    }
    Ok(None)
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

fn take_over(run: &mut Collected, summary: Collected, rows: Vec<ReportedRow>) -> Result<(), IngestError> {
    let Some(part) = &mut run.part else { return Ok(()) };
    // Where both files store a figure, the finer one has more of its digits. What contradicts it is kept, to be compared too.
    let known: BTreeMap<(String, String), Option<f64>> =
        part.reported.iter().map(|row| ((row.metric.clone(), row.stat.clone()), row.value)).collect();
    let is_known = |row: &ReportedRow| {
        let same = known.get(&(row.metric.clone(), row.stat.clone()))?.zip(row.value);
        Some(same.is_none_or(|(a, b)| (a - b).abs() <= SAME * a.abs().max(b.abs())))
    };
    part.reported.extend(rows.into_iter().filter(|row| is_known(row) != Some(true)));
    run.run.set_reported(&part.reported)?;
    super::beside::take_extras(&mut run.run, &summary.run)?;
    fill(&mut run.run.manifest, summary.run.manifest);
    run.issues.extend(summary.issues);
    Ok(())
}

/// What the records do not say and the summary does.
fn fill(manifest: &mut Manifest, summary: Manifest) {
    if manifest.tool.version.is_none() && summary.tool.version.is_some() {
        manifest.tool = summary.tool;
    }
    manifest.model = manifest.model.take().or(summary.model);
    if manifest.duration_ns.is_none() {
        (manifest.duration_ns, manifest.duration_from_unix_ns) = (summary.duration_ns, summary.duration_from_unix_ns);
    }
    let (counted, theirs) = (&mut manifest.counted, summary.counted);
    counted.completed = counted.completed.or(theirs.completed);
    counted.failed = counted.failed.or(theirs.failed);
    counted.prompt_tokens = counted.prompt_tokens.or(theirs.prompt_tokens);
    counted.output_tokens = counted.output_tokens.or(theirs.output_tokens);
    fill_load(&mut manifest.load, summary.load);
    for (key, value) in summary.server {
        manifest.server.entry(key).or_insert(value);
    }
    manifest.sources.extend(summary.sources);
}

fn fill_load(load: &mut Load, theirs: Load) {
    load.unbounded |= theirs.unbounded && load.request_rate.is_none();
    load.request_rate = load.request_rate.or(theirs.request_rate);
    load.burstiness = load.burstiness.or(theirs.burstiness);
    load.max_concurrency = load.max_concurrency.or(theirs.max_concurrency);
    load.num_prompts = load.num_prompts.or(theirs.num_prompts);
    load.dataset = load.dataset.take().or(theirs.dataset);
    load.backend = load.backend.take().or(theirs.backend);
    load.date = load.date.take().or(theirs.date);
    for (key, value) in theirs.other {
        load.other.entry(key).or_insert(value);
    }
}
