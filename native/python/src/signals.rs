//! Native loops that may take long look for signals, so that Ctrl-C ends them.

use crate::game::search_error;
use moemcts_tree::SearchError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Instant;

/// Asking the interpreter costs a lock: this many milliseconds pass between two looks.
const INTERVAL: u64 = 50;

/// Watches for signals during one call, and asks who has called whether to end.
pub struct Signals {
    /// What is called without arguments and answers yes or no; None where nobody is asked.
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

    /// Returns whether to end: a signal's handler, which runs on the main thread alone, has raised an exception, or who
    /// is asked says so. Looks every now and then.
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
        // Never taken back: on other threads there is no signal.
        self.has_come.fetch_or(has_come, Ordering::Relaxed);
        has_come
    }

    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        py.check_signals()?;
        self.stop.as_ref().map_or(Ok(false), |stop| stop.bind(py).call0()?.is_truthy())
    }

    /// Returns the handler's exception where the loop was interrupted, and otherwise what went wrong in it.
    pub fn error<E: Into<PyErr>>(&self, error: SearchError<E>) -> PyErr {
        match error {
            SearchError::Interrupted => self.exception(),
            error => search_error(error),
        }
    }

    /// Raises what a handler raised.
    pub fn check(&self) -> PyResult<()> {
        match self.raised.lock().ok().and_then(|mut raised| raised.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns what the handler raised.
    fn exception(&self) -> PyErr {
        self.check().err().unwrap_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))
    }
}
