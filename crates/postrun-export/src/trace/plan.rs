//! First where everything lies, then the tracks: arrows need both their ends before either is written.

use super::clocks::Clocks;
use super::preempted::{self, Off};
use super::row::{self, Row, TIMES};
use super::slices::{self, Built, PREFILL, TTFT};
use super::{Arrow, ROWS, Track};
use crate::error::ExportError;
use postrun_analysis::{Stall, StallClass, pauses, request_values};
use postrun_schema::{Dataset, Table, batches, counted};

/// What is drawn, and what is not.
pub(crate) struct Plan<'a> {
    clocks: &'a Clocks,
    /// By request and in time.
    pauses: Vec<Stall>,
    off: Vec<Off>,
    /// Whose prefill held up which pause, by that other request.
    culprits: Vec<(u32, usize)>,
    /// For each pause, where its arrow ends; `None`: it has none.
    arrows: Vec<Option<Arrow>>,
    span_ns: Option<(i64, i64)>,
    untimed_requests: u64,
    disordered: u64,
    pauses_not_drawn: u64,
    arrows_not_drawn: u64,
}

impl<'a> Plan<'a> {
    pub(crate) fn make(dataset: &Dataset, clocks: &'a Clocks) -> Result<Plan<'a>, ExportError> {
        let found = pauses(dataset)?;
        let mut judged = found.judged;
        judged.retain(|stall| stall.at_ns.is_some() && clocks.client);
        let by = |(at, stall): (usize, &Stall)| Some((stall.held_up_by?.request, at));
        let mut culprits: Vec<(u32, usize)> = judged.iter().enumerate().filter_map(by).collect();
        culprits.sort_unstable();
        let mut plan = Plan {
            clocks,
            off: preempted::of(dataset, clocks)?,
            culprits,
            arrows: Vec::new(),
            span_ns: None,
            untimed_requests: 0,
            disordered: 0,
            pauses_not_drawn: found.total.saturating_sub(judged.len() as u64),
            arrows_not_drawn: 0,
            pauses: judged,
        };
        plan.look(dataset)?;
        Ok(plan)
    }

    /// When the first request begins and the last one ends; `None` where none can be drawn.
    pub(crate) fn span_ns(&self) -> Option<(i64, i64)> {
        self.span_ns
    }

    /// The first reading.
    fn look(&mut self, dataset: &Dataset) -> Result<(), ExportError> {
        let Some(path) = dataset.path(Table::Requests) else { return Ok(()) };
        let mut heads: Vec<Option<i64>> = vec![None; self.pauses.len()];
        let mut tails: Vec<Option<(i64, i64)>> = vec![None; self.pauses.len()];
        for batch in batches(&path, &TIMES, ROWS)? {
            for row in row::rows(&batch?)? {
                let Some(built) = self.build(&row) else {
                    self.untimed_requests += 1;
                    continue;
                };
                self.disordered += u64::from(built.disordered);
                if let Some(whole) = built.slices.first() {
                    let (first, last) = self.span_ns.unwrap_or((whole.start_ns, whole.end_ns));
                    self.span_ns = Some((first.min(whole.start_ns), last.max(whole.end_ns)));
                }
                let first = self.pauses_of(row.request).0;
                for (at, slice) in built.of_pause.iter().enumerate() {
                    if let (Some(slice), Some(tail)) = (slice, tails.get_mut(first + at)) {
                        *tail = built.slices.get(*slice).map(|s| (s.start_ns, s.end_ns));
                    }
                }
                for pause in self.held_up_by(row.request) {
                    if let Some(head) = heads.get_mut(pause) {
                        *head = built.slices.get(self.head(&built, row.request, pause)).map(|s| s.start_ns);
                    }
                }
            }
        }
        let arrow = |(at, ends)| arrow(at, ends);
        self.arrows = heads.into_iter().zip(tails).enumerate().map(arrow).collect();
        let wanted = self.culprits.len() as u64;
        self.arrows_not_drawn = wanted - self.arrows.iter().flatten().count() as u64;
        Ok(())
    }

    /// The second reading: every track that can be drawn.
    pub(crate) fn each(
        &mut self,
        dataset: &Dataset,
        mut each: impl FnMut(Track) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let Some(path) = dataset.path(Table::Requests) else { return Ok(()) };
        for batch in batches(&path, &[], ROWS)? {
            let batch = batch?;
            let values = request_values(dataset, &batch)?;
            for (i, row) in row::rows(&batch)?.enumerate() {
                let Some(built) = self.build(&row) else { continue };
                let mut slices = self.with_arrows(built, row.request);
                if let Some(whole) = slices.first_mut() {
                    whole.name = row::title(&batch, i);
                    whole.args = row::args(&batch, &values, i);
                }
                each(Track { request: row.request, name: row::name(&batch, i, row.request), slices })?;
            }
        }
        Ok(())
    }

    fn build(&self, row: &Row) -> Option<Built> {
        let from = self.off.partition_point(|o| o.request < row.request);
        let to = self.off.partition_point(|o| o.request <= row.request);
        let off = self.off.get(from..to).unwrap_or_default();
        slices::build(row, self.clocks, self.pauses_of(row.request).1, off)
    }

    /// The pauses of a request, and the place of the first among all.
    fn pauses_of(&self, request: u32) -> (usize, &[Stall]) {
        let from = self.pauses.partition_point(|p| p.request < request);
        let to = self.pauses.partition_point(|p| p.request <= request);
        (from, self.pauses.get(from..to).unwrap_or_default())
    }

    /// Pauses of others that a request's prefill is held to have caused.
    fn held_up_by(&self, request: u32) -> impl Iterator<Item = usize> + use<> {
        let from = self.culprits.partition_point(|(by, _)| *by < request);
        let to = self.culprits.partition_point(|(by, _)| *by <= request);
        let pauses: Vec<usize> = self.culprits.get(from..to).unwrap_or_default().iter().map(|(_, p)| *p).collect();
        pauses.into_iter()
    }

    /// The slice of `request` that held up `pause`: its way back from a preemption, if that ended then, else its prefill.
    fn head(&self, built: &Built, request: u32, pause: usize) -> usize {
        let ended = self.pauses.get(pause).and_then(|p| p.held_up_by).map(|by| by.at_ns);
        let back = |stall: &Stall| {
            let end = stall.at_ns.map(|at| at.saturating_add(stall.length_ns));
            stall.class == StallClass::Preemption && end == ended
        };
        let own = self.pauses_of(request).1.iter().position(back);
        let named = |name: &str| built.slices.iter().position(|s| s.name == name);
        let own = own.and_then(|at| built.of_pause.get(at).copied().flatten());
        own.or_else(|| named(PREFILL)).or_else(|| named(TTFT)).unwrap_or(0)
    }

    fn with_arrows(&self, built: Built, request: u32) -> Vec<super::Slice> {
        let first = self.pauses_of(request).0;
        let arrow = |pause: usize| self.arrows.get(pause).copied().flatten();
        let out: Vec<(usize, u64)> = self
            .held_up_by(request)
            .filter_map(|pause| Some((self.head(&built, request, pause), arrow(pause)?.id)))
            .collect();
        let mut slices = built.slices;
        for (slice, id) in out {
            slices.get_mut(slice).into_iter().for_each(|s| s.arrows_out.push(id));
        }
        let into = |(at, slice): (usize, &Option<usize>)| Some(((*slice)?, arrow(first + at)?));
        let mut into: Vec<(usize, Arrow)> = built.of_pause.iter().enumerate().filter_map(into).collect();
        // From behind, because each new slice moves those after it.
        into.sort_by_key(|(slice, _)| std::cmp::Reverse(*slice));
        for (at, arrow) in into {
            if let Some(behind) = slices.get(at).map(|pause| slices::behind(pause, arrow)) {
                slices.insert(at + 1, behind);
            }
        }
        slices
    }

    /// Sentences about what is not drawn.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = String> {
        let all = [
            (self.untimed_requests, "request", "not drawn: no point in time is recorded on the clock shown"),
            (self.disordered, "request", "drawn without a phase: the recorded times of it are out of order"),
            (self.pauses_not_drawn, "long pause", "not drawn: without a place in time, or longer ones came first"),
            (self.arrows_not_drawn, "arrow", "not drawn: by the clocks the prefill began too late"),
        ];
        let left_out = all.into_iter().filter(|(n, ..)| *n > 0);
        left_out.map(|(n, noun, what)| format!("{} {what}", counted(n, noun)))
    }
}

/// An arrow leads forward in time, from the start of one slice into what is left of the other.
fn arrow(pause: usize, (head, tail): (Option<i64>, Option<(i64, i64)>)) -> Option<Arrow> {
    let (head, (start, end)) = (head?, tail?);
    let from_ns = start.max(head.saturating_add(1));
    (end.saturating_sub(from_ns) >= 2).then(|| Arrow {
        id: pause as u64 + 1,
        from_ns,
        at_ns: from_ns + (end - from_ns) / 2,
    })
}
