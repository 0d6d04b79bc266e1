"""All games that are played on pages, with synchronised access."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from contextlib import ExitStack
from typing import Any, NamedTuple

from moemcts.cancellation import Cancelled, cancelled_unless, check_cancelled
from moemcts.game import Action
from moemcts.web.insight import ObservedAgent
from moemcts.web.table import RequestError, WebTable

MAX_TABLES = 64
"""Number of games that are kept; beyond it, the least recently used is dropped."""

GAME_CHANGED = "the game has gone on elsewhere: look at it again"


class TableVersion(NamedTuple):
    """The version of a game that a page has seen."""

    step: int
    """Number of rounds."""
    revision: int | None = None
    """Number of changes; None if the page does not send it."""

    def matches(self, table: WebTable) -> bool:
        """Returns whether the game is still at this version."""
        return self.step == table.step and self.revision in (None, table.revision)


class Tables:
    """All games that are played on pages; an agent decides for one of them at a time, as its searches are shared.

    Meanwhile all games can be read, and others played. If a game is changed while a round of it is played, the change
    stands and the round is discarded.
    """

    def __init__(self) -> None:
        self._tables: OrderedDict[str, WebTable] = OrderedDict()
        self._lock = threading.Lock()
        """Held while games are read or changed."""
        self._thinking: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        """Held while an agent decides, by the id of the agent."""

    def add(self, table: WebTable) -> dict[str, Any]:
        """Adds a game and returns its snapshot."""
        with self._lock:
            self._tables[table.id] = table
            while len(self._tables) > MAX_TABLES:
                self._tables.popitem(last=False)
            return table.snapshot()

    def snapshot(self, table_id: str) -> dict[str, Any]:
        """Returns the latest snapshot of a game."""
        with self._lock:
            return self._find(table_id).snapshot()

    def rounds(self, table_id: str) -> dict[str, Any]:
        """Returns the snapshots of all rounds of a game."""
        with self._lock:
            return {"rounds": self._find(table_id).rounds()}

    def advance(self, table_id: str, version: TableVersion, action: Action | str | None) -> dict[str, Any]:
        """Plays a round of a game at the version that the page has seen, with the person's action or its text.

        Raises RequestError if the game has changed since; also, without delay, if it changes meanwhile or the page no
        longer waits: the round is discarded then.
        """
        with ExitStack() as locks:
            for lock in self._locks(table_id, version):
                locks.enter_context(lock)
            with self._lock:
                # The previous holder of the locks may have advanced the game.
                table = self._find(table_id, version)
                current = TableVersion(table.step, table.revision)
                parsed_action = table.parse_action(action) if isinstance(action, str) else action
            try:
                with cancelled_unless(lambda: current.matches(table)):
                    # The page may have disconnected while this waited for the locks.
                    check_cancelled()
                    entry = table.play_round(parsed_action)
                    check_cancelled()
            except Cancelled:
                raise RequestError(409, GAME_CHANGED) from None
            with self._lock:
                self._find(table_id, current).append(entry)
                return table.snapshot()

    def resign(self, table_id: str, version: TableVersion) -> dict[str, Any]:
        """Resigns for the person; raises as `advance` does."""
        with self._lock:
            table = self._find(table_id, version)
            table.resign()
            return table.snapshot()

    def rotate(self, table_id: str) -> dict[str, Any]:
        """Rotates the board to the next player's side and returns the snapshots of all rounds."""
        with self._lock:
            table = self._find(table_id)
            table.rotate()
            return {"rounds": table.rounds()}

    def take_back(self, table_id: str, version: TableVersion) -> dict[str, Any]:
        """Takes back a move; raises as `advance` does."""
        with self._lock:
            table = self._find(table_id, version)
            table.take_back()
            return table.snapshot()

    def _locks(self, table_id: str, version: TableVersion) -> list[threading.Lock]:
        """Returns the locks to hold while playing a round, always in the same order: the table's, then its agents'."""
        with self._lock:
            table = self._find(table_id, version)
            agent_ids = sorted({id(agent.agent) for agent in table.agents if isinstance(agent, ObservedAgent)})
            return [table.playing, *(self._thinking[agent_id] for agent_id in agent_ids)]

    def _find(self, table_id: str, version: TableVersion | None = None) -> WebTable:
        if table_id not in self._tables:
            raise RequestError(404, "no such game: the program was started anew, or it was too long ago; begin another")
        table = self._tables[table_id]
        self._tables.move_to_end(table_id)
        if version is not None and not version.matches(table):
            if version.step == table.step:
                raise RequestError(409, GAME_CHANGED)
            raise RequestError(
                409,
                f"expected a move after {table.step} rounds, got one after {version.step}: the game has gone on "
                "elsewhere",
            )
        return table
