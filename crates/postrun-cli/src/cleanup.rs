//! Removes our temporary folders and half-written files when the user interrupts.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// What shells add to the number of the signal that ended a process.
const BY_SIGNAL: i32 = 128;

/// From now on an interrupt or a request to end removes `dir` (a folder or a file) before the process ends.
pub fn on_signal(dir: &Path) {
    let Ok(mut folders) = FOLDERS.lock() else { return };
    folders.push(dir.to_path_buf());
    if folders.len() > 1 {
        return;
    }
    drop(folders);
    // Where no handler can be set, the folder stays: it has a name that nothing reads.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        for dir in FOLDERS.lock().iter().flat_map(|folders| folders.iter()) {
            let _ = if dir.is_dir() { std::fs::remove_dir_all(dir) } else { std::fs::remove_file(dir) };
        }
        std::process::exit(BY_SIGNAL + signal);
    });
}
