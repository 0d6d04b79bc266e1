"""UCI engines as agents: Stockfish, Fairy-Stockfish and whatever else speaks the protocol."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import subprocess
import time
import weakref
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from moemcts.agents import Agent, RandomAgent, Seat
from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Action, Game, Views
from moemcts_chess.game import VARIANTS

UCI_NAMES = {"chess960": "chess", "threecheck": "3check"}
"""What engines call the variants, where it is not our name."""
GAMES_FOLDER = "/usr/games"
"""Where Debian installs engines, which is not always on the path."""
PATIENCE = 20.0
"""Seconds that an engine may take beyond the time it was given."""


class UciAgent:
    """Plays what an engine answers to each position, from the position alone and with an empty hash.

    So an engine of one thread that is limited by nodes or depth plays the same game whatever it played before.
    """

    def __init__(
        self,
        game: Game,
        path: str,
        *,
        nodes: int = 1000,
        depth: int | None = None,
        seconds: float | None = None,
        skill: int | None = None,
        hash_mib: int = 1,
    ) -> None:
        """Starts the engine; raises UsageError where there is no such program or it does not play the game.

        `depth` or `seconds` replace the limit of nodes. `skill` is the engine's option Skill Level.
        """
        self.name = f"uci:{path}"
        self._game = game
        self._seconds = seconds or 0.0
        given = {"depth": depth, "movetime": None if seconds is None else round(1000 * seconds)}
        limits = {name: value for name, value in given.items() if value is not None} or {"nodes": nodes}
        self._go = " ".join(["go", *(f"{name} {value}" for name, value in limits.items())])
        self._engine = _Engine(find_engine(path))
        played = [name for name in VARIANTS if UCI_NAMES.get(name, name) in self._engine.variants]
        if game.spec.name not in played:
            self._engine.close()
            raise UsageError(f"{self.name} does not play {game.spec.name}, only {', '.join(played)}")
        self._engine.set("UCI_Variant", UCI_NAMES.get(game.spec.name, game.spec.name))
        self._engine.set("UCI_Chess960", "true" if game.spec.name == "chess960" else "false")
        self._engine.set("Threads", 1)
        self._engine.set("Hash", hash_mib)
        if skill is not None:
            self._engine.set("Skill Level", skill)

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Action]:
        """Raises MoemctsError where the engine fails."""
        return [self._answer(views[row]) for row in range(len(seats))]

    def close(self) -> None:
        """Ends the engine's process."""
        self._engine.close()

    def _answer(self, view: Any) -> Action:
        fen = view.state.fen()
        self._engine.send("ucinewgame", f"position fen {fen}", "isready")
        self._engine.read_until("readyok", PATIENCE)
        self._engine.send(self._go)
        answer = self._engine.read_until("bestmove", PATIENCE + self._seconds)[-1].split()
        try:
            return self._game.parse_action(view.state, view.player, answer[1])
        except (IndexError, ValueError):
            raise MoemctsError(f"{self.name} answered {' '.join(answer)!r} to {fen}") from None


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


class _Engine:
    """A running engine and the lines that go to and fro."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        self.close = weakref.finalize(self, _end, self._process)
        self._rest = b""
        self.send("uci")
        lines = self.read_until("uciok", PATIENCE)
        options = [line.split() for line in lines if line.startswith("option name ")]
        names = [" ".join(words[2 : words.index("type")]) for words in options if "type" in words]
        self._options = set(names)
        self.variants = {"chess"}
        for name, words in zip(names, options, strict=False):
            if name == "UCI_Variant":
                self.variants |= {value for word, value in pairwise(words) if word == "var"}

    def set(self, name: str, value: object) -> None:
        """Sets an option that the engine has; others are left alone."""
        if name in self._options:
            self.send(f"setoption name {name} value {value}")

    def send(self, *lines: str) -> None:
        """Raises MoemctsError where the engine has gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        except OSError:
            raise MoemctsError(f"{self._path} has ended; is it a UCI engine?") from None

    def read_until(self, first_word: str, seconds: float) -> list[str]:
        """Returns the lines up to one that starts with a word.

        Raises MoemctsError where the engine has ended or says nothing of the kind in time.
        """
        assert self._process.stdout is not None
        lines: list[str] = []
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                line, newline, rest = self._rest.partition(b"\n")
                if newline:
                    self._rest = rest
                    lines.append(line.decode(errors="replace").strip())
                    if lines[-1].split()[:1] == [first_word]:
                        return lines
                    continue
                if not selector.select(deadline - time.monotonic()):
                    raise MoemctsError(
                        f"{self._path} did not say {first_word} within {seconds:g} s; is it a UCI engine?"
                    )
                if not (read := os.read(self._process.stdout.fileno(), 1 << 16)):
                    raise MoemctsError(f"{self._path} has ended; is it a UCI engine?")
                self._rest += read


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
