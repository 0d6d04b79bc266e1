"""Scripted agents for Pommerman."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moemcts.agents import Decision, Seat
from moemcts.game import Views
from moemcts_pommerman import native


class ScriptedAgent:
    """Plays a native script: `simple`, `random` or `stop`.

    `simple` is the reference's SimpleAgent, with a fresh memory per game and seat; in the reference the memory is kept
    between games. It sees only what its player can see. In a search, `native` replies without the interpreter.
    """

    def __init__(self, script: str, *, name: str | None = None) -> None:
        """Raises ValueError for an unknown script."""
        self.name = name or script
        self.native = native.Scripted(script)
        self._script = script

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        for seat in seats:
            if seat.memory is None:
                seat.memory = native.Player(self._script, int(seat.rng.integers(2**63)))
        pommerman_views: Any = views
        actions: Sequence[int] = pommerman_views.choose([seat.memory for seat in seats])
        return [Decision(action=action) for action in actions]
