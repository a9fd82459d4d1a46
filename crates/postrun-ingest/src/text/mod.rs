//! Reading plain text: lines, stamps, numbers, printed Python values. Nothing here knows what a text is about.

pub(crate) mod lines;
pub(crate) mod marker;
pub(crate) mod name;
pub(crate) mod number;
pub(crate) mod python;
pub(crate) mod stamp;
pub(crate) mod unix_stamp;
