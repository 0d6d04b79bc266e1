"""UCI engines as agents: Stockfish, Fairy-Stockfish and whatever else speaks the protocol."""

from __future__ import annotations

import contextlib
import shutil
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from moemcts.agents import Agent, RandomAgent, Seat
from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Action, Game, Views
from moemcts_chess.board import python_chess

GAMES_FOLDER = "/usr/games"
"""Where Debian installs engines, which is not always on the path."""


class UciAgent:
    """Plays what an engine answers to each position, from the position alone and with an empty hash.

    So an engine of one thread that is limited by nodes or depth plays the same game whatever it played before.
    """

    def __init__(
        self,
        game: Game,
        path: str,
        *,
        nodes: int | None = 1000,
        depth: int | None = None,
        seconds: float | None = None,
        skill: int | None = None,
        hash_mib: int = 16,
    ) -> None:
        """Raises UsageError where there is no such program; it is started when it is first asked.

        `depth` or `seconds` replace the limit of nodes. `skill` is the engine's option Skill Level.
        """
        found = find_engine(path)
        limits = {"nodes": nodes, "depth": depth, "time": seconds}
        if depth is not None or seconds is not None:
            del limits["nodes"]
        self.name = f"uci:{path}"
        self._path = found
        self._limit = python_chess().engine.Limit(**limits)
        self._options = {"Hash": hash_mib, "Threads": 1, "Skill Level": skill}
        self._variant = game.spec.name
        self._game = game
        self._engine: Any = None

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Action]:
        """Raises MoemctsError where the engine fails or does not know the variant."""
        return [self._answer(views[row]) for row in range(len(seats))]

    def close(self) -> None:
        """Ends the engine's process."""
        if self._engine is not None:
            _quit(self._engine)
            self._engine = None

    def _answer(self, view: Any) -> Action:
        engine = python_chess().engine
        try:
            # A new game object makes the engine forget what it searched before.
            answer = self._started().play(view.state.board(), self._limit, game=object())
        except (engine.EngineError, OSError) as error:
            raise MoemctsError(f"{self.name} failed at {view.state.fen()}: {error}") from None
        if answer.move is None:
            raise MoemctsError(f"{self.name} gave no move at {view.state.fen()}")
        return self._game.parse_action(view.state, view.player, answer.move.uci())

    def _started(self) -> Any:
        if self._engine is None:
            self._engine = self._start()
            weakref.finalize(self, _quit, self._engine)
        return self._engine

    def _start(self) -> Any:
        try:
            process = python_chess().engine.SimpleEngine.popen_uci(self._path)
        except (python_chess().engine.EngineError, OSError) as error:
            raise MoemctsError(f"{self._path} is no UCI engine: {error}") from None
        known = process.options.get("UCI_Variant")
        variants = {"chess", "chess960", *(known.var if known else ())}
        wanted = {"threecheck": "3check"}.get(self._variant, self._variant)
        if wanted not in variants:
            _quit(process)
            raise UsageError(f"{self.name} does not play {self._variant} ({', '.join(sorted(variants))})")
        options = {name: value for name, value in self._options.items() if value is not None}
        process.configure({name: value for name, value in options.items() if name in process.options})
        return process


class Varied:
    """Plays at random for some plies and then as another agent, so that no two games are the same."""

    def __init__(self, agent: Agent, random_plies: int) -> None:
        self.name = f"{agent.name} after {random_plies} random plies"
        self._agent = agent
        self._random_plies = random_plies

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Action]:
        is_random = views.plies() < self._random_plies
        actions = np.zeros(len(seats), dtype=np.int64)
        for agent, rows in ((RandomAgent(), np.flatnonzero(is_random)), (self._agent, np.flatnonzero(~is_random))):
            if len(rows):
                actions[rows] = agent.act(views.take(rows), [seats[int(row)] for row in rows])
        return [int(action) for action in actions]


def find_engine(path: str) -> str:
    """Returns the program that a user names; raises UsageError where there is none."""
    found = shutil.which(path) or shutil.which(path, path=GAMES_FOLDER)
    if found is None:
        raise UsageError(f"no engine {path!r} on the path; on Debian: apt-get install {path.rpartition('/')[2]}")
    return found


def _quit(engine: Any) -> None:
    with contextlib.suppress(Exception):
        engine.quit()
