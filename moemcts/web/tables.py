"""All games that pages play: which there are, and who may go on with one."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from contextlib import ExitStack
from typing import Any, NamedTuple

from moemcts.game import Action
from moemcts.stopping import Stopped, check_wanted, wanted_while
from moemcts.web.insight import Watched
from moemcts.web.table import Refusal, WebTable

MOST_TABLES = 64
"""Games that are kept; the one that was asked for longest ago goes first."""

GONE_ON = "the game has gone on elsewhere: look at it again"


class Seen(NamedTuple):
    """What a page has seen of a game."""

    step: int
    """How many rounds."""
    revision: int | None = None
    """After which change; None for who does not say."""

    def is_of(self, table: WebTable) -> bool:
        """Returns whether that is how the game stands."""
        return self.step == table.step and self.revision in (None, table.revision)


class Tables:
    """All games that pages play; an agent thinks for one of them at a time, as its searches are shared.

    Meanwhile all games can be looked at, and others played. A game that is changed while a round of it is played stays
    as it was changed.
    """

    def __init__(self) -> None:
        self._tables: OrderedDict[str, WebTable] = OrderedDict()
        self._lock = threading.Lock()
        """Held while games are looked at or changed."""
        self._thinking: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        """Held while an agent is asked for a move, by the agent's identity."""

    def add(self, table: WebTable) -> dict[str, Any]:
        """Adds a game and returns its snapshot."""
        with self._lock:
            self._tables[table.id] = table
            while len(self._tables) > MOST_TABLES:
                self._tables.popitem(last=False)
            return table.snapshot()

    def look(self, table: str) -> dict[str, Any]:
        with self._lock:
            return self._of(table).snapshot()

    def rounds(self, table: str) -> dict[str, Any]:
        """Returns the snapshots of all rounds of a game."""
        with self._lock:
            return {"rounds": self._of(table).rounds()}

    def advance(self, table: str, seen: Seen, action: Action | str | None) -> dict[str, Any]:
        """Plays a round of a game as its page has seen it, with the person's action or what it is called.

        Raises Refusal where the game has gone on since, and soon where it goes on meanwhile or nobody waits for the
        round any more: then that is no part of the game.
        """
        with ExitStack() as held:
            for lock in self._locks(table, seen):
                held.enter_context(lock)
            with self._lock:
                # Whoever had the locks before may have gone on.
                found = self._of(table, seen)
                before = Seen(found.step, found.revision)
                chosen = found.read(action) if isinstance(action, str) else action
            try:
                with wanted_while(lambda: before.is_of(found)):
                    # Who has waited for the locks may have left.
                    check_wanted()
                    played = found.after(chosen)
                    check_wanted()
            except Stopped:
                raise Refusal(409, GONE_ON) from None
            with self._lock:
                self._of(table, before).keep(played)
                return found.snapshot()

    def resign(self, table: str, seen: Seen) -> dict[str, Any]:
        """Gives a game up for the person; raises as `advance`."""
        with self._lock:
            found = self._of(table, seen)
            found.resign()
            return found.snapshot()

    def turn(self, table: str) -> dict[str, Any]:
        """Turns a board round and returns the snapshots of all rounds."""
        with self._lock:
            found = self._of(table)
            found.turn()
            return {"rounds": found.rounds()}

    def back(self, table: str, seen: Seen) -> dict[str, Any]:
        """Takes a move back; raises as `advance`."""
        with self._lock:
            found = self._of(table, seen)
            found.back()
            return found.snapshot()

    def _locks(self, table: str, seen: Seen) -> list[threading.Lock]:
        """Returns what is held while a round is played, always in the same order: the table's, and its agents'."""
        with self._lock:
            found = self._of(table, seen)
            agents = sorted({id(one.agent) for one in found.agents if isinstance(one, Watched)})
            return [found.playing, *(self._thinking[agent] for agent in agents)]

    def _of(self, name: str, seen: Seen | None = None) -> WebTable:
        if name not in self._tables:
            raise Refusal(404, "no such game: the program was started anew, or it was too long ago; begin another")
        table = self._tables[name]
        self._tables.move_to_end(name)
        if seen is not None and not seen.is_of(table):
            raise Refusal(
                409,
                f"expected a move after {table.step} rounds, got one after {seen.step}: the game has gone on elsewhere"
                if seen.step != table.step
                else GONE_ON,
            )
        return table
