//! The server's side of a run: what its files hold, where their clocks lie, and which requests are the client's.
//!
//! A format fills a [`recording::ServerSink`]. When all files are read, [`merge`] gives each recording to the runs it
//! belongs to: [`evidence`] joins its requests ([`join`]) and places its clock ([`align`]), [`rows`] writes the result.
//! Nothing here knows a format.

pub(crate) mod align;
pub(crate) mod align_levels;
#[cfg(test)]
mod align_test;
pub(crate) mod align_tokens;
pub(crate) mod claims;
pub(crate) mod client_trace;
pub(crate) mod evidence;
pub(crate) mod figure;
pub(crate) mod join;
pub(crate) mod json_lines;
pub(crate) mod json_records;
pub(crate) mod merge;
pub(crate) mod recording;
pub(crate) mod request;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod spool;
pub(crate) mod zone;
