//! Interruption of long-running native loops: by Ctrl-C, and by the cancellation of what the calling thread does.

use crate::game::search_error;
use moemcts_tree::SearchError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Instant;

/// Milliseconds between two checks, as each has to take the interpreter lock.
const INTERVAL: u64 = 50;

/// `moemcts.cancellation.check_cancelled`, which raises Cancelled if nobody waits for the calling thread any more.
static CHECK_CANCELLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Checks for signals and cancellation during one call, and polls the caller's stop callback.
pub struct Signals {
    /// A callback without arguments that returns whether to stop; None if there is none.
    stop: Option<Py<PyAny>>,
    started: Instant,
    looked: AtomicU64,
    has_come: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Default for Signals {
    fn default() -> Self {
        Self::asking(None)
    }
}

impl Signals {
    pub fn asking(stop: Option<Py<PyAny>>) -> Self {
        Self {
            stop,
            started: Instant::now(),
            looked: AtomicU64::new(0),
            has_come: AtomicBool::new(false),
            raised: Mutex::new(None),
        }
    }

    /// Returns whether to stop: a signal handler has raised an exception, which can happen only on the main thread, the
    /// thread's work has been cancelled, or the callback says so. The checks are rate-limited.
    pub fn came(&self) -> bool {
        if self.has_come.load(Ordering::Relaxed) {
            return true;
        }
        let now = self.started.elapsed().as_millis() as u64;
        if now < self.looked.load(Ordering::Relaxed) + INTERVAL {
            return false;
        }
        self.looked.store(now, Ordering::Relaxed);
        let has_come = Python::attach(|py| self.is_over(py)).unwrap_or_else(|error| {
            if let Ok(mut raised) = self.raised.lock() {
                *raised = Some(error);
            }
            true
        });
        // Never reset, as checks on other threads do not see signals.
        self.has_come.fetch_or(has_come, Ordering::Relaxed);
        has_come
    }

    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        py.check_signals()?;
        CHECK_CANCELLED.import(py, "moemcts.cancellation", "check_cancelled")?.call0()?;
        self.stop.as_ref().map_or(Ok(false), |stop| stop.bind(py).call0()?.is_truthy())
    }

    /// Returns the exception that interrupted the loop, otherwise the loop's own error.
    pub fn error<E: Into<PyErr>>(&self, error: SearchError<E>) -> PyErr {
        match error {
            SearchError::Interrupted => self.exception(),
            error => search_error(error),
        }
    }

    /// Raises the exception of the handler or of the cancellation, if any.
    pub fn check(&self) -> PyResult<()> {
        match self.raised.lock().ok().and_then(|mut raised| raised.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns the exception that `check` raises.
    fn exception(&self) -> PyErr {
        self.check().err().unwrap_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))
    }
}
