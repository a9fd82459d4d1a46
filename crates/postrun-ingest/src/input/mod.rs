//! The files that the user named, directly or by their folder: which they are, what they are called, how they are opened.

pub(crate) mod candidate;
pub(crate) mod decoding;
pub(crate) mod folder;
pub(crate) mod label;
pub(crate) mod read_ahead;
pub(crate) mod source;
