//! Whose times a timeline shows. Times of client and server stand on one axis only where their clocks are aligned.

use crate::error::ExportError;
use arrow_array::{Array, Int64Array, StringArray};
use postrun_schema::{Dataset, Table, batches, column};
use std::collections::BTreeMap;

const ROWS: usize = 1 << 16;

/// What may be drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Clocks {
    /// Client times of requests.
    pub client: bool,
    /// Server times of requests, and events.
    pub server: bool,
    /// Series that are not aligned may be drawn too: there is no other clock.
    pub lone_series: bool,
    /// Half-width of the interval around the offset, where both clocks are drawn.
    pub(super) uncertainty_ns: Option<i64>,
    pub(super) left_out: Vec<String>,
}

impl Clocks {
    pub(crate) fn of(dataset: &Dataset) -> Result<Clocks, ExportError> {
        let manifest = dataset.manifest();
        let client = any_send(dataset)?;
        let Some(server) = &manifest.clocks.server else { return Ok(Clocks { client, ..Clocks::default() }) };
        let files = manifest.sources.iter().filter(|s| s.aligned.is_some()).count();
        let mut left_out = Vec::new();
        if !client {
            let lone_series = files == 1;
            if !lone_series {
                let what = "the server's series are left out: of several files nothing says that they share a clock";
                left_out.push(what.to_string());
            }
            return Ok(Clocks { client, server: true, lone_series, uncertainty_ns: None, left_out });
        }
        let Some(uncertainty_ns) = server.offset_uncertainty_ns else {
            left_out.push(format!("the server's times are left out: its clock is {}", server.how));
            return Ok(Clocks { client, left_out, ..Clocks::default() });
        };
        let apart = unaligned_with_requests(dataset)?;
        if !apart.is_empty() {
            let files = apart.join(", ");
            left_out.push(format!("the server's times of requests are left out: the clock of {files} is not aligned"));
        }
        let uncertainty_ns = Some(uncertainty_ns);
        Ok(Clocks { client, server: apart.is_empty(), lone_series: false, uncertainty_ns, left_out })
    }

    /// What the times of the timeline are.
    pub(crate) fn describe(&self, shift_ns: i64) -> String {
        let whose = match (self.client, self.uncertainty_ns) {
            (true, Some(ns)) => {
                format!("times since the first send; the server's clock is aligned to ±{} ms", ns as f64 / 1e6)
            }
            (true, None) => "times since the first send, all on the client's clock".to_string(),
            (false, _) => "times since the server's first, all on the server's clock".to_string(),
        };
        match shift_ns {
            0 => whose,
            ns => format!("{whose}; shown {} ms later, so that none is negative", ns as f64 / 1e6),
        }
    }

    /// Sentences about what is not drawn.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.clone().into_iter()
    }
}

fn any_send(dataset: &Dataset) -> Result<bool, ExportError> {
    let Some(path) = dataset.path(Table::Requests) else { return Ok(false) };
    for batch in batches(&path, &["sent_ns"], ROWS)? {
        let batch = batch?;
        if column::<Int64Array>(&batch, "sent_ns").is_some_and(|c| c.null_count() < c.len()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Files whose clock is not aligned and that hold more than samples: their requests and events lie who knows where.
fn unaligned_with_requests(dataset: &Dataset) -> Result<Vec<String>, ExportError> {
    let unaligned = || dataset.manifest().sources.iter().filter(|s| s.aligned == Some(false));
    if unaligned().next().is_none() {
        return Ok(Vec::new());
    }
    let mut samples: BTreeMap<String, u64> = BTreeMap::new();
    if let Some(path) = dataset.path(Table::Samples) {
        for batch in batches(&path, &["source"], ROWS)? {
            let batch = batch?;
            for name in column::<StringArray>(&batch, "source").into_iter().flatten().flatten() {
                match samples.get_mut(name) {
                    Some(n) => *n += 1,
                    None => drop(samples.insert(name.to_string(), 1)),
                }
            }
        }
    }
    let holds_more = |records: u64, name: &str| records > samples.get(name).copied().unwrap_or(0);
    Ok(unaligned().filter(|s| holds_more(s.records, &s.name)).map(|s| s.name.clone()).collect())
}
