//! Which gaps count beside those between token-bearing chunks, and how they are summed up.

use crate::chunk_scan::RequestChunks;
use crate::convention::recipe::{Itl, Method, POSTRUN, Recipe};
use crate::convention::weighted::respread;
use crate::gaps::Plan;
use crate::moments::gap;
use crate::order_stats::{Counter, Selection, count_gaps, see_gaps};
use crate::summary::Summary;

/// The part of a recipe that is about gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GapRule(pub Recipe);

impl Default for GapRule {
    fn default() -> GapRule {
        GapRule(POSTRUN)
    }
}

impl GapRule {
    /// The rule of a recipe; `None` where inter-token latency is a mean a request.
    pub(crate) fn of(recipe: &Recipe) -> Option<GapRule> {
        let Recipe { itl, method, spread, .. } = *recipe;
        let gaps = !matches!(itl, Itl::RequestMean | Itl::RequestMeanWithTtft);
        gaps.then_some(GapRule(Recipe { itl, method, spread, ..POSTRUN }))
    }

    pub(crate) fn method(self) -> Method {
        self.0.method
    }

    /// Calls `each` with every gap that is not one between two chunks: the chunk it belongs to, its length, how often.
    pub(crate) fn extra(
        self,
        first_byte: Option<i64>,
        chunks: &RequestChunks<'_>,
        mut each: impl FnMut(usize, u64, u64),
    ) {
        match self.0.itl {
            Itl::AllChunkGaps => {
                if let (Some(byte), Some(first)) = (first_byte, chunks.at_ns.first()) {
                    each(0, gap(byte, *first), 1);
                }
            }
            Itl::TokenGaps => {
                for (at, tokens) in chunks.tokens.iter().enumerate() {
                    if let Some(more) = tokens.map(|n| u64::from(n).saturating_sub(1)).filter(|more| *more > 0) {
                        each(at, 0, more);
                    }
                }
            }
            Itl::ChunkGaps | Itl::RequestMean | Itl::RequestMeanWithTtft => {}
        }
    }
}

/// All gaps of the run by one rule, in the same two passes as the rest.
pub(crate) struct ByRule {
    rule: GapRule,
    counter: Counter<0>,
    selection: Selection<0>,
}

impl ByRule {
    pub(crate) fn new(rule: GapRule) -> ByRule {
        ByRule { rule, counter: Counter::new(), selection: Selection::new() }
    }

    pub(crate) fn first(&mut self, plan: &Plan<'_>, chunks: &RequestChunks<'_>) {
        count_gaps::<0, 0>(chunks.at_ns, Some(&mut self.counter), None);
        self.rule.extra(plan.columns.first_byte(chunks.request), chunks, |_, gap, times| self.counter.add(gap, times));
    }

    pub(crate) fn between(&mut self, plan: &Plan<'_>) {
        let counter = std::mem::replace(&mut self.counter, Counter::new());
        self.selection = counter.plan(plan.percentiles, self.rule.method());
    }

    pub(crate) fn second(&mut self, plan: &Plan<'_>, chunks: &RequestChunks<'_>) {
        see_gaps::<0, 0>(chunks.at_ns, Some(&mut self.selection), None);
        self.rule
            .extra(plan.columns.first_byte(chunks.request), chunks, |_, gap, times| self.selection.see(gap, times));
    }

    pub(crate) fn finish(self) -> (GapRule, Option<Summary>) {
        (self.rule, self.selection.finish(1.0).map(|summary| respread(summary, &self.rule.0)))
    }
}
