//! Interruption of long-running native loops: by Ctrl-C, and by the cancellation of what the calling thread does.

use crate::game::search_error;
use moemcts_tree::SearchError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Instant;

/// Milliseconds between two checks, as each has to take the interpreter lock.
const POLL_INTERVAL: u64 = 50;

/// `moemcts.cancellation.check_cancelled`, which raises Cancelled if nobody waits for the calling thread any more.
static CHECK_CANCELLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Checks for signals and cancellation during one call, and polls the caller's stop callback.
pub struct Interruption {
    /// A callback without arguments that returns whether to stop; None if there is none.
    stop: Option<Py<PyAny>>,
    started: Instant,
    last_check: AtomicU64,
    is_stopped: AtomicBool,
    exception: Mutex<Option<PyErr>>,
}

impl Default for Interruption {
    fn default() -> Self {
        Self::with_callback(None)
    }
}

impl Interruption {
    pub fn with_callback(stop: Option<Py<PyAny>>) -> Self {
        Self {
            stop,
            started: Instant::now(),
            last_check: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            exception: Mutex::new(None),
        }
    }

    /// Returns whether to stop: a signal handler has raised an exception, which can happen only on the main thread, the
    /// thread's work has been cancelled, or the callback says so. The checks are rate-limited.
    pub fn should_stop(&self) -> bool {
        if self.is_stopped.load(Ordering::Relaxed) {
            return true;
        }
        let now = self.started.elapsed().as_millis() as u64;
        if now < self.last_check.load(Ordering::Relaxed) + POLL_INTERVAL {
            return false;
        }
        self.last_check.store(now, Ordering::Relaxed);
        let is_stopped = Python::attach(|py| self.poll(py)).unwrap_or_else(|error| {
            if let Ok(mut exception) = self.exception.lock() {
                *exception = Some(error);
            }
            true
        });
        // Never reset, as checks on other threads do not see signals.
        self.is_stopped.fetch_or(is_stopped, Ordering::Relaxed);
        is_stopped
    }

    fn poll(&self, py: Python<'_>) -> PyResult<bool> {
        py.check_signals()?;
        CHECK_CANCELLED.import(py, "moemcts.cancellation", "check_cancelled")?.call0()?;
        self.stop.as_ref().map_or(Ok(false), |stop| stop.bind(py).call0()?.is_truthy())
    }

    /// Returns the exception that interrupted the loop, otherwise the loop's own error.
    pub fn to_exception<E: Into<PyErr>>(&self, error: SearchError<E>) -> PyErr {
        match error {
            SearchError::Interrupted => self.take_exception(),
            error => search_error(error),
        }
    }

    /// Raises the exception of the handler or of the cancellation, if any.
    pub fn check(&self) -> PyResult<()> {
        match self.exception.lock().ok().and_then(|mut exception| exception.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns the exception that `check` raises.
    fn take_exception(&self) -> PyErr {
        self.check().err().unwrap_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))
    }
}
