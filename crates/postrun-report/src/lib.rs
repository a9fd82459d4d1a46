//! Draws tables, Markdown, CSV and JSON from finished values.
//!
//! Decides nothing and computes nothing: it takes analyses with their diagnoses ([`Report`]), turns nanoseconds into
//! units that people read, and writes text. The same input gives the same bytes.

mod chart;
mod client_section;
mod comparison;
mod csv;
mod diagnosis_section;
mod diff_json;
mod diff_mix;
mod diff_sections;
mod diff_text;
mod diff_words;
mod distributions;
mod headline;
mod html;
mod json;
mod json_server;
mod json_workload;
mod markdown;
mod markup;
mod overview;
mod parity;
mod pause_section;
mod quantity;
mod report;
mod section;
mod sections;
mod server_section;
mod spark;
mod terminal;
mod trend_section;
mod wording;
mod workload_section;

pub use chart::{CHARTS, Chart, ChartError, DIFF_CHARTS, Picture, Theme, diff_pictures, pictures};
pub use comparison::Comparison;
pub use csv::{csv_field, to_csv};
pub use diff_json::{DIFF_JSON_SCHEMA, DIFF_SCHEMA, TREND_JSON_SCHEMA, TREND_SCHEMA, diff_to_json, trend_to_json};
pub use diff_text::{diff_to_markdown, diff_to_table, trend_to_markdown, trend_to_table};
pub use html::{diff_to_html, to_html};
pub use json::{REPORT_JSON_SCHEMA, REPORT_SCHEMA, to_json};
pub use markdown::to_markdown;
pub use markup::json_escaped;
pub use parity::{
    PARITY_JSON_SCHEMA, Parity, ParityCounts, ParityRun, parity_csv, parity_json, parity_markdown, parity_table,
};
pub use quantity::{bytes, seconds};
pub use report::{Parts, Report, Reports};
pub use sections::issue_text;
pub use terminal::{Look, printable, to_table, wrap};
