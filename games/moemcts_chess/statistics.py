"""Phase statistics of a dataset: those of the papers' figures 2 and 11 to 16, and how often games go back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.errors import UsageError
from moemcts.game import Game, IntArray, Packed
from moemcts.gates import PhaseGate
from moemcts.native import core

if TYPE_CHECKING:
    from moemcts.learn.data.records import Records

MAX_MOVE = 100
"""Later moves are counted as this one."""
ROWS = 100_000
SPARSE = 4
"""A first rank with fewer own pieces is sparse (scalachess, Divider.scala)."""

PAPER: dict[str, Any] = {
    "first move": {"middlegame": (11.89, 2.97), "endgame": (29.15, 7.44)},
    "share of positions": {"opening": 0.2867, "middlegame": 0.3970, "endgame": 0.3163},
    "share of games": {"opening": 1.0, "middlegame": 0.9681, "endgame": 0.6785},
    "results": {
        "opening": (0.3442, 0.4036, 0.2522),
        "middlegame": (None, 0.3851, None),
        "endgame": (None, 0.3609, None),
    },
    "share of games that go back": 0.284,
    "returns per game": 0.38,
}
"""M2CTS paper, figures 2, 12, 15, 16; thesis, section 4.1: KingBase Lite 2019, first moves and returns from the 1000
games of its test set of May 2017."""


@dataclass(frozen=True)
class Statistics:
    """Counts for K phases and moves 1 to `MAX_MOVE`."""

    phase_names: tuple[str, ...]
    num_games: int
    num_positions: int
    positions: IntArray
    """Number of positions of each phase at each move, `[K, MAX_MOVE + 1]`."""
    first_moves: tuple[IntArray, ...]
    """The first move of each phase in each game that reaches it."""
    results: IntArray
    """Numbers of games that reach each phase and were won by White, drawn, won by Black, `[K, 3]`."""
    returns: IntArray
    """How often each game goes to an earlier phase, `[G]`."""
    pieces: np.ndarray[Any, Any]
    """Mean majors and minors of both sides at each move, `[MAX_MOVE + 1]`."""
    mixedness: np.ndarray[Any, Any]
    """Quartiles of mixedness at each move, `[3, MAX_MOVE + 1]`."""
    sparse: np.ndarray[Any, Any]
    """Share of positions with a sparse first rank at each move."""
    divisions: tuple[IntArray, IntArray]
    """First middlegame and endgame moves of the games that Lichess divides there, at most one per game."""

    def summary(self) -> dict[str, Any]:
        """Returns the numbers as JSON values, by phase where applicable."""
        names = self.phase_names
        per_phase = self.positions.sum(axis=1)
        reached = self.results.sum(axis=1)
        return {
            "games": self.num_games,
            "positions": self.num_positions,
            "share of positions": dict(zip(names, _shares(per_phase, self.num_positions), strict=True)),
            "share of games": dict(zip(names, _shares(reached, self.num_games), strict=True)),
            "first move": {name: _mean(moves) for name, moves in zip(names, self.first_moves, strict=True)},
            "results": {name: _shares(row, int(row.sum())) for name, row in zip(names, self.results, strict=True)},
            "share of games that go back": round(float((self.returns > 0).mean()), 4),
            "returns per game": round(float(self.returns.mean()), 4),
            "most returns": int(self.returns.max(initial=0)),
            "division as Lichess shows it": {
                name: _mean(moves) for name, moves in zip(("middlegame", "endgame"), self.divisions, strict=True)
            },
        }


def read_datasets(folder: Path, game: Game) -> list[Records]:
    """Returns the shards of a dataset, or of all splits of an import, regardless of its planes.

    Raises UsageError if there is none.
    """
    from moemcts.learn.data.shards import read_shards
    from moemcts.runs.sources import game_of_dataset
    from moemcts.store import MANIFEST

    folders = [folder] if (folder / MANIFEST).exists() else sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not folders:
        raise UsageError(f"expected a dataset in {folder}, found no {MANIFEST}")
    return [shard for part in folders for shard in read_shards(part, game_of_dataset(part, game))[1]]


def collect(shards: Iterable[Records], game: Game, gate: PhaseGate) -> Statistics:
    """Returns the statistics of whole games; a game must not span several shards."""
    counts = _Counts(gate.num_phases)
    for shard in shards:
        for part in _whole_games(shard):
            counts.add(part, _phases(part, game, gate))
    return counts.statistics(gate.phase_names)


@dataclass(frozen=True)
class _Part:
    """Whole games: packed positions in playing order."""

    positions: Packed
    player: IntArray
    game: IntArray
    returns: np.ndarray[Any, Any]

    def measure(self, name: str) -> IntArray:
        numbers: IntArray = core.chess_measure(self.positions.data, self.positions.offsets, name)
        return numbers


class _Counts:
    def __init__(self, num_phases: int) -> None:
        moves = MAX_MOVE + 1
        self._positions = np.zeros((num_phases, moves), dtype=np.int64)
        self._results = np.zeros((num_phases, 3), dtype=np.int64)
        self._pieces = np.zeros(moves)
        self._sparse = np.zeros(moves)
        # Mixedness by move; it never exceeds 1000.
        self._mixedness = np.zeros((moves, 1001), dtype=np.int64)
        self._first: list[list[IntArray]] = [[] for _ in range(num_phases)]
        self._returns: list[IntArray] = []
        self._divisions: tuple[list[IntArray], list[IntArray]] = ([], [])
        self._num_games = 0

    def add(self, part: _Part, phases: IntArray) -> None:
        numbers = part.measure("moves completed") + 1
        moves = np.minimum(numbers, MAX_MOVE)
        starts = np.flatnonzero(np.diff(part.game, prepend=part.game[:1] - 1))
        of_game = np.cumsum(np.diff(part.game, prepend=part.game[:1]) != 0)
        white = np.where(part.player == 0, part.returns[:, 0], -part.returns[:, 0])[starts]
        np.add.at(self._positions, (phases, moves), 1)
        np.add.at(self._pieces, moves, part.measure("majors and minors"))
        sparse = np.minimum(part.measure("back rank white"), part.measure("back rank black")) < SPARSE
        np.add.at(self._sparse, moves, sparse)
        np.add.at(self._mixedness, (moves, part.measure("mixedness")), 1)
        for phase, first in enumerate(self._first):
            rows = np.flatnonzero(phases == phase)
            games, index = np.unique(of_game[rows], return_index=True)
            first.append(numbers[rows[index]])
            np.add.at(self._results[phase], 1 - np.sign(white[games]).astype(np.int64), 1)
        backwards = (np.diff(phases) < 0) & (np.diff(of_game) == 0)
        self._returns.append(np.bincount(of_game[1:][backwards], minlength=len(starts)))
        bounds = np.append(starts, len(of_game))
        divided = core.chess_divisions(part.positions.data, part.positions.offsets, bounds)
        for rows, moves_of_phase in zip(divided, self._divisions, strict=True):
            moves_of_phase.append(numbers[rows[rows >= 0]])
        self._num_games += len(starts)

    def statistics(self, phase_names: tuple[str, ...]) -> Statistics:
        per_move = np.maximum(self._positions.sum(axis=0), 1)
        middles, ends = (np.concatenate([_NO_ROWS, *moves]) for moves in self._divisions)
        return Statistics(
            phase_names=phase_names,
            num_games=self._num_games,
            num_positions=int(self._positions.sum()),
            positions=self._positions,
            first_moves=tuple(np.concatenate([_NO_ROWS, *moves]) for moves in self._first),
            results=self._results,
            returns=np.concatenate([_NO_ROWS, *self._returns]),
            pieces=self._pieces / per_move,
            mixedness=np.stack([_quantiles(row) for row in self._mixedness], axis=1),
            sparse=self._sparse / per_move,
            divisions=(middles, ends),
        )


_NO_ROWS = np.zeros(0, dtype=np.int64)


def _whole_games(shard: Records) -> Iterator[_Part]:
    """Splits a shard between games into parts of about `ROWS` positions, to bound memory."""
    numbers = np.asarray(shard.game)
    starts = np.append(np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1)), len(numbers))
    cuts = np.unique(starts[np.searchsorted(starts, np.arange(0, len(numbers) + ROWS, ROWS)).clip(max=len(starts) - 1)])
    for first, last in pairwise(cuts):
        rows = slice(first, last)
        positions = shard.positions.take(np.asarray(shard.position[rows], dtype=np.int64))
        player = np.asarray(shard.player[rows], dtype=np.int64)
        yield _Part(positions, player, numbers[rows].astype(np.int64), np.asarray(shard.returns[rows]))


def _phases(part: _Part, game: Game, gate: PhaseGate) -> IntArray:
    phases: IntArray = gate.weights(game.unpack(part.positions, part.player)).argmax(axis=1)
    return phases


def _quantiles(counts: IntArray) -> np.ndarray[Any, Any]:
    total = counts.sum()
    return np.searchsorted(np.cumsum(counts), np.array([0.25, 0.5, 0.75]) * total) if total else np.zeros(3)


def _shares(counts: IntArray, total: int) -> list[float]:
    return [round(float(count) / max(total, 1), 4) for count in counts]


def _mean(moves: IntArray) -> list[float]:
    """Returns mean and standard deviation; empty without moves."""
    return [round(float(moves.mean()), 2), round(float(moves.std()), 2)] if len(moves) else []
