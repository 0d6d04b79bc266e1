"""Phase statistics of a dataset: those of the papers' figures 2 and 11 to 16, and how often games go back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.errors import UsageError
from moemcts.game import Game, IntArray, Packed
from moemcts.gates import PhaseGate
from moemcts.native import core
from moemcts.store import MANIFEST

if TYPE_CHECKING:
    from moemcts.learn.data.records import Records

MAX_MOVE = 100
"""Later moves are counted as this one."""
POSITIONS_PER_BATCH = 100_000
MIN_FIRST_RANK_PIECES = 4
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
        positions_of_phase = self.positions.sum(axis=1)
        games_of_phase = self.results.sum(axis=1)
        divisions = zip(("middlegame", "endgame"), self.divisions, strict=True)
        return {
            "games": self.num_games,
            "positions": self.num_positions,
            "share of positions": dict(zip(names, _shares(positions_of_phase, self.num_positions), strict=True)),
            "share of games": dict(zip(names, _shares(games_of_phase, self.num_games), strict=True)),
            "first move": {
                name: _mean_and_deviation(moves) for name, moves in zip(names, self.first_moves, strict=True)
            },
            "results": {
                # Empty for a phase that no game reaches.
                name: _shares(results, int(results.sum())) if results.any() else []
                for name, results in zip(names, self.results, strict=True)
            },
            "share of games that go back": round(float((self.returns > 0).mean()), 4),
            "returns per game": round(float(self.returns.mean()), 4),
            "most returns": int(self.returns.max(initial=0)),
            "division as Lichess shows it": {name: _mean_and_deviation(moves) for name, moves in divisions},
        }


def dataset_folders(folder: Path) -> list[Path]:
    """Returns the folder of a dataset, or those of all splits of an import; raises UsageError if there is none."""
    folders = [folder] if (folder / MANIFEST).exists() else sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not folders:
        raise UsageError(f"expected a dataset in {folder}, found no {MANIFEST}")
    return folders


def read_datasets(folders: Iterable[Path], game: Game) -> list[Records]:
    """Returns the shards of datasets of a game, regardless of their planes."""
    from moemcts.learn.data.shards import read_shards
    from moemcts.runs.sources import game_of_dataset

    shards: list[Records] = []
    for dataset in folders:
        shards += read_shards(dataset, game_of_dataset(dataset, game))[1]
    return shards


def collect(shards: Iterable[Records], game: Game, gate: PhaseGate) -> Statistics:
    """Returns the statistics of whole games; a game must not span several shards."""
    counter = _Counter(gate.num_phases)
    for shard in shards:
        for batch in _game_batches(shard):
            counter.add(batch, _phases(batch, game, gate))
    return counter.statistics(gate.phase_names)


@dataclass(frozen=True)
class _Batch:
    """N positions of whole games, in playing order."""

    positions: Packed
    player: IntArray
    """The player to move, `[N]`."""
    game: IntArray
    """The number of the game, `[N]`."""
    returns: np.ndarray[Any, Any]
    """The result from the player's point of view and from the opponent's, `[N, 2]`."""

    def measure(self, name: str) -> IntArray:
        """Returns a native measure of each position, `[N]`."""
        numbers: IntArray = core.chess_measure(self.positions.data, self.positions.offsets, name)
        return numbers


class _Counter:
    """Counts batches of games, with K phases and M = `MAX_MOVE` + 1 columns for moves."""

    def __init__(self, num_phases: int) -> None:
        num_moves = MAX_MOVE + 1
        self._positions = np.zeros((num_phases, num_moves), dtype=np.int64)
        self._results = np.zeros((num_phases, 3), dtype=np.int64)
        self._pieces = np.zeros(num_moves)
        self._sparse = np.zeros(num_moves)
        # Histograms of mixedness by move; it never exceeds 1000.
        self._mixedness = np.zeros((num_moves, 1001), dtype=np.int64)
        self._first_moves: list[list[IntArray]] = [[] for _ in range(num_phases)]
        self._returns: list[IntArray] = []
        self._divisions: tuple[list[IntArray], list[IntArray]] = ([], [])
        self._num_games = 0

    def add(self, batch: _Batch, phases: IntArray) -> None:
        """Counts a batch whose positions are in `phases`, `[N]`."""
        move_numbers = batch.measure("moves completed") + 1
        starts = np.flatnonzero(np.diff(batch.game, prepend=batch.game[:1] - 1))
        # The index of each position's game in this batch.
        game_index = np.cumsum(np.diff(batch.game, prepend=batch.game[:1]) != 0)
        self._count_positions(batch, phases, np.minimum(move_numbers, MAX_MOVE))
        white_returns = np.where(batch.player == 0, batch.returns[:, 0], -batch.returns[:, 0])[starts]
        # White's wins are in column 0, draws in 1, Black's wins in 2.
        result_columns = 1 - np.sign(white_returns).astype(np.int64)
        for phase, first_moves in enumerate(self._first_moves):
            rows = np.flatnonzero(phases == phase)
            games, first_rows = np.unique(game_index[rows], return_index=True)
            first_moves.append(move_numbers[rows[first_rows]])
            np.add.at(self._results[phase], result_columns[games], 1)
        goes_back = (np.diff(phases) < 0) & (np.diff(game_index) == 0)
        self._returns.append(np.bincount(game_index[1:][goes_back], minlength=len(starts)))
        bounds = np.append(starts, len(game_index))
        division_rows = core.chess_divisions(batch.positions.data, batch.positions.offsets, bounds)
        for rows, moves in zip(division_rows, self._divisions, strict=True):
            # Games without the division have a negative row.
            moves.append(move_numbers[rows[rows >= 0]])
        self._num_games += len(starts)

    def _count_positions(self, batch: _Batch, phases: IntArray, moves: IntArray) -> None:
        """Counts what is measured by move; `moves` are those of the positions, `[N]`."""
        first_rank_pieces = np.minimum(batch.measure("back rank white"), batch.measure("back rank black"))
        np.add.at(self._positions, (phases, moves), 1)
        np.add.at(self._pieces, moves, batch.measure("majors and minors"))
        np.add.at(self._sparse, moves, first_rank_pieces < MIN_FIRST_RANK_PIECES)
        np.add.at(self._mixedness, (moves, batch.measure("mixedness")), 1)

    def statistics(self, phase_names: tuple[str, ...]) -> Statistics:
        """Returns the statistics of all batches."""
        num_positions = np.maximum(self._positions.sum(axis=0), 1)
        middlegames, endgames = map(_concatenate, self._divisions)
        return Statistics(
            phase_names=phase_names,
            num_games=self._num_games,
            num_positions=int(self._positions.sum()),
            positions=self._positions,
            first_moves=tuple(map(_concatenate, self._first_moves)),
            results=self._results,
            returns=_concatenate(self._returns),
            pieces=self._pieces / num_positions,
            mixedness=np.stack([_quartiles(histogram) for histogram in self._mixedness], axis=1),
            sparse=self._sparse / num_positions,
            divisions=(middlegames, endgames),
        )


def _concatenate(arrays: Sequence[IntArray]) -> IntArray:
    """Returns the joined arrays; empty if there are none."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


def _game_batches(shard: Records) -> Iterator[_Batch]:
    """Splits a shard between games into batches of about `POSITIONS_PER_BATCH` positions, to bound memory."""
    games = np.asarray(shard.game)
    bounds = np.append(np.flatnonzero(np.diff(games, prepend=games[:1] - 1)), len(games))
    wanted_cuts = np.arange(0, len(games) + POSITIONS_PER_BATCH, POSITIONS_PER_BATCH)
    # Each cut is moved to the next bound between games.
    cuts = np.unique(bounds[np.searchsorted(bounds, wanted_cuts).clip(max=len(bounds) - 1)])
    for first, last in pairwise(cuts):
        rows = slice(first, last)
        positions = shard.positions.take(np.asarray(shard.position[rows], dtype=np.int64))
        player = np.asarray(shard.player[rows], dtype=np.int64)
        yield _Batch(positions, player, games[rows].astype(np.int64), np.asarray(shard.returns[rows]))


def _phases(batch: _Batch, game: Game, gate: PhaseGate) -> IntArray:
    """Returns the phase of each position, `[N]`."""
    phases: IntArray = gate.weights(game.unpack(batch.positions, batch.player)).argmax(axis=1)
    return phases


def _quartiles(histogram: IntArray) -> np.ndarray[Any, Any]:
    """Returns the quartiles of a histogram, `[3]`; zeros if it is empty."""
    total = histogram.sum()
    quartiles = np.searchsorted(np.cumsum(histogram), np.array([0.25, 0.5, 0.75]) * total)
    return quartiles if total else np.zeros(3)


def _shares(counts: IntArray, total: int) -> list[float]:
    return [round(float(count) / max(total, 1), 4) for count in counts]


def _mean_and_deviation(moves: IntArray) -> list[float]:
    """Returns mean and standard deviation; empty without moves."""
    return [round(float(moves.mean()), 2), round(float(moves.std()), 2)] if len(moves) else []
