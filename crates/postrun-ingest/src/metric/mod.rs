//! Series of metrics, whoever wrote them down: text expositions, names of servers and exporters, columns of monitors.
//!
//! A format hands over names, labels and values; what postrun calls them, and what is worth storing, is settled here.

pub(crate) mod device;
pub(crate) mod exposition;
pub(crate) mod moments;
pub(crate) mod names;
pub(crate) mod series;
