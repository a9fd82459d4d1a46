//! What all targets share.

/// The folder of the fixtures.
pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// Lets the Parquet decoder panic where that is caught: libFuzzer would take the panic itself for a crash. One that nobody
/// catches still is one.
pub fn start() {
    postrun_schema::silence_caught();
}
