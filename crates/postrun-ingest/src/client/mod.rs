//! What the readers of per-request records of clients share: checked values, rows that wait for their origin, figures
//! that a client stored, and which of several files about one run counts.

pub(crate) mod answer;
mod beside;
pub(crate) mod body;
mod copies;
pub(crate) mod distribution;
pub(crate) mod extras;
pub(crate) mod file;
pub(crate) mod first_token;
mod judge;
pub(crate) mod layer;
pub(crate) mod manifest;
pub(crate) mod object;
#[cfg(test)]
mod records_test;
pub(crate) mod row_spool;
pub(crate) mod run_rows;
#[cfg(test)]
pub(crate) mod run_test;
mod same_run;
#[cfg(test)]
mod same_run_test;
pub(crate) mod sends;
pub(crate) mod sheet;
mod take_over;
pub(crate) mod value;
