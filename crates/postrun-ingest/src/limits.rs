//! How much is read at most of anything, and what happens beyond it.
//!
//! No file can take all memory. Beyond each limit stands an error or a counted entry of data quality.
//!
//! # Text
//! - A line of a log or of metrics: 1,048,576 bytes without its end; the rest of it is passed over (`long_line`).
//! - JSON has no limit on the length of a line or text, for it is read piece by piece; of an error message 1,024 bytes are kept,
//!   of all error messages of a run 67,108,864.
//! - A number or bare word of JSON: 4,096 bytes; an error.
//! - Nesting: 1,048,576 levels of values that are passed over, an error beyond; 48 levels and 65,536 values of what is kept
//!   whole (settings, messages), and what goes beyond is no value.
//! - A compressed file: 268,435,456 bytes, and beyond that 250 times its size; an error (`--max-expansion` raises the factor).
//! - The window of a file compressed by zstd: 134,217,728 bytes, which is `--long=27`; an error that says how to unpack it.
//! - A client's summary as CSV: 4,194,304 bytes; what follows is left out (`truncated_record`).
//! - Settings of a client at the top of a result, with those inside one of them: 10,000; later ones are left out
//!   (`too_many_records`).
//!
//! # Records
//! - Requests of one run: 16,777,216; an error. They need about 70 bytes of memory each.
//! - Gaps of one request: 4,194,304; the request is kept without its gaps (`out_of_range`).
//! - Requests and events in one file of the server's side: 4,194,304 each; later ones are left out (`too_many_records`).
//! - Series with their labels in one file of metrics: 131,072, and 67,108,864 bytes of names and labels; values of further ones
//!   are left out (`too_many_series`).
//! - Settings and facts of a server in one file: 10,000; later ones are left out (`too_many_records`).
//! - Files of a folder: 10,000, an error; 8 folders deep, and what lies deeper is left alone and named.
//!
//! # Memory
//! What a limit admits is the most that a hostile file can ask for. A benchmark (`tests/bench`, `--only memory`) measures what
//! an honest recording of four gigabytes takes.

use postrun_schema::Doc;

/// The page of `postrun explain limits`.
pub static LIMITS: Doc = Doc::from_source(include_str!("limits.rs"));

pub(crate) const LONGEST_LINE_BYTES: usize = 1 << 20;
pub(crate) const DEEPEST_SKIPPED: usize = 1 << 20;
pub(crate) const DEEPEST_KEPT: usize = 48;
pub(crate) const MOST_VALUES_KEPT: usize = 1 << 16;
pub(crate) const TOKEN_BYTES: usize = 4096;
pub(crate) const ERROR_BYTES: usize = 1 << 10;
pub(crate) const ALL_ERROR_BYTES: usize = 64 << 20;
pub(crate) const TABLE_BYTES: u64 = 4 << 20;
pub(crate) const MOST_SETTINGS: usize = 10_000;
pub(crate) const MOST_GAPS: usize = 1 << 22;
pub(crate) const MOST_SERVER_RECORDS: usize = 1 << 22;
pub(crate) const MOST_SERIES: usize = 1 << 17;
pub(crate) const SERIES_TEXT_BYTES: usize = 64 << 20;
pub(crate) const MOST_FILES: usize = 10_000;
pub(crate) const DEEPEST_FOLDER: usize = 8;
pub(crate) const FREE_TEXT_BYTES: u64 = 256 << 20;
/// Base 2 logarithm of bytes.
pub(crate) const ZSTD_WINDOW_LOG: u32 = 27;

/// What is said of a request beyond [`MOST_GAPS`].
pub(crate) fn too_many_gaps() -> String {
    format!("more than {MOST_GAPS} gaps of one request")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_states_the_limits_that_hold() {
        let page = LIMITS.text().replace(',', "");
        let most_times = crate::MOST_TIMES as usize;
        for limit in [
            LONGEST_LINE_BYTES,
            DEEPEST_SKIPPED,
            DEEPEST_KEPT,
            MOST_VALUES_KEPT,
            TOKEN_BYTES,
            ERROR_BYTES,
            ALL_ERROR_BYTES,
            TABLE_BYTES as usize,
            MOST_SETTINGS,
            MOST_GAPS,
            MOST_SERVER_RECORDS,
            MOST_SERIES,
            SERIES_TEXT_BYTES,
            MOST_FILES,
            DEEPEST_FOLDER,
            FREE_TEXT_BYTES as usize,
            1 << ZSTD_WINDOW_LOG,
            most_times,
            postrun_schema::MOST_REQUESTS,
        ] {
            let words: Vec<&str> = page.split(|c: char| !c.is_ascii_digit()).collect();
            assert!(words.contains(&limit.to_string().as_str()), "{limit} is not on the page");
        }
    }
}
