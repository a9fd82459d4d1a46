//! Removes our temporary folders and half-written files when the user interrupts.

use crate::output::say;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// What shells add to the number of the signal that ended a process.
const BY_SIGNAL: i32 = 128;
/// How often to remove what the work still adds to while it is removed, and how long to wait between.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// From now on an interrupt or a request to end removes `dir` (a folder or a file) before the process ends.
pub fn on_signal(dir: &Path) {
    let Ok(mut folders) = FOLDERS.lock() else { return };
    folders.push(dir.to_path_buf());
    if folders.len() > 1 {
        return;
    }
    drop(folders);
    // Where no handler can be set, the folder stays: it has a name that nothing reads.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let waits = move || {
        let Some(signal) = signals.forever().next() else { return };
        INTERRUPTED.store(true, Ordering::SeqCst);
        remove_unfinished();
        say("postrun: interrupted; what was half written is removed");
        std::process::exit(BY_SIGNAL + signal);
    };
    let _ = std::thread::Builder::new().spawn(waits);
}

/// Removes our folders and half-written files that are left.
pub fn remove_unfinished() {
    for dir in FOLDERS.lock().iter().flat_map(|folders| folders.iter()) {
        remove(dir);
    }
}

fn remove(path: &Path) {
    for _ in 0..ATTEMPTS {
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        if removed.is_ok() || path.symlink_metadata().is_err() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Never returns once the user has interrupted: errors of work whose folder was just removed are nobody's news, and the
/// exit code is that of the signal.
pub fn give_way() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        std::thread::sleep(PAUSE);
    }
}

/// A limit on the size of files (`ulimit -f`) becomes an error of the write, as a full disk is, and no longer a death on
/// the spot that leaves half a dataset.
pub fn outlive_size_limits() {
    // Where no handler can be set, the system's own way stays.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
