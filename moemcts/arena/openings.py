"""Where the games of a match start: from seeds, or from positions in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Game, State


@dataclass(frozen=True)
class Opening:
    """A start position and what it is called."""

    name: str
    start: State | int
    """The position, or the seed of one."""


def openings_from_seeds(num_openings: int, *, first: int = 0) -> list[Opening]:
    """Returns the start positions of the seeds `first, first + 1, ...`."""
    return [Opening(f"seed {seed}", seed) for seed in range(first, first + num_openings)]


def random_openings(game: Game, num_openings: int, *, num_plies: int, first: int = 0) -> list[Opening]:
    """Returns positions after so many plies at random, from the seeds `first, first + 1, ...`.

    For games with a single start position, in which agents without randomness would play one game over and over.
    Positions differ from each other as long as the game has enough of them.
    """
    openings: list[Opening] = []
    seen: set[int] = set()
    num_repeated, seed = 0, first
    while len(openings) < num_openings:
        rng = np.random.default_rng(seed)
        state = game.initial_state(seed)
        for _ in range(num_plies):
            if state.active_players:
                state = state.play([int(rng.choice(state.legal_actions(player))) for player in state.active_players])
        is_new = state.key() not in seen
        if state.active_players and (is_new or num_repeated > 20 * num_openings):
            openings.append(Opening(f"seed {seed}", state))
            seen.add(state.key())
        num_repeated += not is_new
        seed += 1
    return openings


def read_openings(game: Game, path: Path) -> list[Opening]:
    """Returns the positions of a text file, one per line as `game.parse_state` reads them.

    Empty lines and lines that begin with `#` are passed over; a position that came before is left out. Raises
    UsageError with the number of every line that is no position or that is one in which the game is over.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MoemctsError(f"cannot read the openings {path}: {error}") from error
    openings: dict[int, Opening] = {}
    faults = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            state = game.parse_state(text)
        except ValueError as error:
            faults.append(f"line {number}: {error}")
            continue
        if not state.active_players:
            faults.append(f"line {number}: the game is over in this position")
            continue
        openings.setdefault(state.key(), Opening(f"line {number}", state))
    if faults:
        raise UsageError(_faults(path, faults))
    if not openings:
        raise UsageError(f"expected positions of {game.spec.name} in {path}, one per line, got none")
    return list(openings.values())


def _faults(path: Path, faults: Sequence[str]) -> str:
    shown = "; ".join(faults[:3])
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return f"{path} has {len(faults)} bad line{'s' if len(faults) > 1 else ''}: {shown}{more}"
