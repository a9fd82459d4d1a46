//! Values of log lines that share a stamp, moved apart.
//!
//! A busy server writes many lines a second, and most logs cut their stamps to it. Left as they are, all but one of
//! these values would stand at a moment that is taken already. So the lines of one writer and one stamp are spread
//! evenly over the stamp's width, in their order; that is within what the stamp says.

use crate::error::IngestError;
use crate::server::recording::ServerSink;
use std::borrow::Cow;

/// Lines kept back at once; a writer of more in one stamp is spread in parts.
const MOST_LINES: usize = 4096;

/// What one line gives, by series.
pub(crate) type Values = Vec<(Cow<'static, str>, f64)>;

/// The lines of one writer that wait until their number is known.
#[derive(Debug, Default)]
pub(crate) struct StampSpread {
    labels: Option<String>,
    at_ns: i64,
    width_ns: i64,
    lines: Vec<Values>,
}

impl StampSpread {
    pub(crate) fn new(labels: Option<String>) -> StampSpread {
        StampSpread { labels, ..StampSpread::default() }
    }

    /// Takes the values of a line whose stamp is cut to `width_ns`.
    pub(crate) fn push(
        &mut self,
        sink: &mut ServerSink,
        at_ns: i64,
        width_ns: i64,
        values: Values,
    ) -> Result<(), IngestError> {
        if at_ns != self.at_ns || width_ns != self.width_ns || self.lines.len() >= MOST_LINES {
            self.flush(sink)?;
        }
        (self.at_ns, self.width_ns) = (at_ns, width_ns);
        self.lines.push(values);
        Ok(())
    }

    /// Hands over what waits; to be called at the end of the file.
    pub(crate) fn flush(&mut self, sink: &mut ServerSink) -> Result<(), IngestError> {
        let step = self.width_ns / i64::try_from(self.lines.len().max(1)).unwrap_or(1);
        let mut at_ns = self.at_ns;
        for values in self.lines.drain(..) {
            for (series, value) in values {
                sink.sample(at_ns, &series, self.labels.as_deref(), value)?;
            }
            at_ns = at_ns.saturating_add(step);
        }
        Ok(())
    }
}
