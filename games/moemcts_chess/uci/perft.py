"""One `go perft`, counted in a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class PerftThread:
    """Prints the number of leaves below every move, as Stockfish does, until it is stopped."""

    def __init__(self, state: Any, depth: int, send: Callable[[str], None]) -> None:
        self._state = state
        self._depth = depth
        self._send = send
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="perft", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Requests an immediate end."""
        # Not an `Event`: a signal handler could deadlock on the lock of the code that it has interrupted.
        self._is_stopped = True

    def wait(self) -> None:
        """Waits until everything has been printed."""
        self._thread.join()

    def _run(self) -> None:
        if self._depth < 1:
            self._send("Nodes searched: 1")
            return
        state, total = self._state, 0
        actions = state.legal_actions(state.active_players[0]) if state.active_players else ()
        for action in actions:
            count = state.play([action]).perft(self._depth - 1, lambda: self._is_stopped)
            if self._is_stopped or count is None:
                self._send("info string perft was stopped before its end")
                return
            total += count
            self._send(f"{state.uci(action)}: {count}")
        self._send(f"Nodes searched: {total}")
