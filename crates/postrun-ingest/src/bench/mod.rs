//! Results of benchmark clients that are index-aligned arrays: read in bounded memory, judged request by request.
//!
//! A format brings a walk over its keys and the policies in which its tool differs; everything else is here.

pub(crate) mod arrays;
pub(crate) mod columns;
pub(crate) mod facts;
pub(crate) mod file;
pub(crate) mod reported;
pub(crate) mod rows;
pub(crate) mod spool;
