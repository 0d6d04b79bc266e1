"""Runs functions in background threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

from moemcts.cancellation import POLL_SECONDS, Cancelled, cancelled_unless
from moemcts.work.progress import Advance


class BackgroundTask:
    """Runs a function in a background thread; `wait` re-raises its exception."""

    def __init__(self, function: Callable[[Advance], None]) -> None:
        self._function = function
        self._done, self._total = 0, 1
        self._is_stopped = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def wait(self, advance: Advance) -> None:
        """Blocks until the function returns, reporting its progress meanwhile; raises its exception."""
        is_running = True
        while is_running:
            self._thread.join(POLL_SECONDS)
            is_running = self._thread.is_alive()
            advance(self._done, self._total)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stops the function at its next progress report or wait for workers, and blocks until it has ended."""
        self._is_stopped = True
        self._thread.join()

    def _run(self) -> None:
        try:
            with cancelled_unless(lambda: not self._is_stopped):
                self._function(self._on_progress)
        except BaseException as error:
            self._error = error

    def _on_progress(self, done: int, total: int) -> None:
        if self._is_stopped:
            raise Cancelled
        self._done, self._total = done, total
