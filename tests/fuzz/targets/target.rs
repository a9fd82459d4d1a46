//! What all targets share.

/// The folder of the fixtures.
pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// Lets the Parquet decoder panic where that is caught: libFuzzer would take the panic itself for a crash. One that nobody
/// catches still is one.
pub fn start() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let file = info.location().map_or("", |at| at.file());
        if !["/parquet-", "/arrow-"].iter().any(|decoder| file.contains(decoder)) {
            abort(info);
        }
    }));
}
