//! Whether a second thread is of use.

/// True where this process may use one processor only: threads would take turns, and pay for it.
pub fn is_single_processor() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1)
}
