//! A progress bar on standard error for long reads, on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};
use postrun_ingest::Input;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Below this the work is done before a bar could be read.
const LONG_BYTES: u64 = 64 << 20;
const REFRESH: Duration = Duration::from_millis(100);

/// Draws until dropped.
pub struct Progress {
    bytes: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Progress {
    /// Starts a bar if the inputs are large and someone can see it.
    pub fn start(inputs: &[Input]) -> Progress {
        let total: u64 = inputs.iter().map(size).sum();
        let (bytes, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let visible = total >= LONG_BYTES && std::io::stderr().is_terminal();
        let draw = || {
            let (bytes, done) = (Arc::clone(&bytes), Arc::clone(&done));
            std::thread::Builder::new().spawn(move || draw(total, &bytes, &done)).ok()
        };
        let thread = visible.then(draw).flatten();
        Progress { bytes, done, thread }
    }

    /// The counter that the reader moves.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A bar that failed to draw has no bearing on the result.
            let _ = thread.join();
        }
    }
}

fn draw(total: u64, bytes: &AtomicU64, done: &AtomicBool) {
    let bar = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template("reading {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}") {
        bar.set_style(style);
    }
    while !done.load(Ordering::Relaxed) {
        bar.set_position(bytes.load(Ordering::Relaxed).min(total));
        std::thread::sleep(REFRESH);
    }
    bar.finish_and_clear();
}

fn size(input: &Input) -> u64 {
    match input {
        Input::Path(path) => size_of_path(path, 4),
        Input::Stdin => 0,
    }
}

fn size_of_path(path: &Path, depth: u32) -> u64 {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => meta.len(),
        Ok(_) if depth > 0 => {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|e| size_of_path(&e.path(), depth - 1)).sum()
        }
        _ => 0,
    }
}
