//! Clients that record one request at a time: what a record may say, how it is judged, and how a run is made of them.
//!
//! A format fills a [`Record`] for each request and hands it to a [`ClientRun`]; times stay on the file's own clock until
//! the run is closed and its first send is known. About 300 bytes a request wait in memory; chunks go to disk at once.

pub(crate) mod figures;
pub(crate) mod file;
mod judge;
pub(crate) mod manifest;
pub(crate) mod object;
pub(crate) mod record;
pub(crate) mod run;
pub(crate) mod values;

pub(crate) use object::Object;
pub(crate) use record::Record;
pub(crate) use run::ClientRun;
pub(crate) use values::{Scale, Values};
