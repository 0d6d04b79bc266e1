"""Samples as used in training: views, phases, shuffled batches."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import BoolArray, FloatArray, Game, IntArray, Packed, Symmetry, Views
from moemcts.gates import PhaseGate
from moemcts.learn.data.phase_weights import PhaseWeights
from moemcts.learn.data.records import PER_SAMPLE, Records, Visits, join_values, join_visits
from moemcts.learn.data.shards import dataset_id, part_ids, read_shards
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.native import core

CHUNK = 4096
"""Views per chunk where all samples are encoded or gated."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """B samples with everything a loss needs."""

    planes: FloatArray
    """`[B, *observation_shape]`."""
    actions: IntArray
    """Actions played, `[B]`."""
    policy: Visits | None
    """Search visits, B rows that sum to one; where a sample's are unknown, all are on the action played. None if no
    sample of the dataset has visits."""
    returns: FloatArray
    """`[B, P]`, column 0 for the viewing player."""
    plies_to_end: IntArray
    """`[B]`."""
    weights: FloatArray
    """Sample weights, `[B]`."""
    values: FloatArray | None = None
    """Value targets in place of returns, `[B, P]`; None if the returns are the targets."""

    def __len__(self) -> int:
        return len(self.actions)


class Dataset:
    """Samples of one game; phases and planes are computed from positions on demand, so that it serves every gate."""

    def __init__(
        self,
        game: Game,
        shards: Sequence[Records],
        *,
        name: str = "",
        parts: Iterable[str] = (),
        folder: Path | None = None,
        targets: FloatArray | None = None,
    ) -> None:
        """Joins shards without copying their positions.

        Takes 34 bytes of memory per sample and 4 per player; for samples of a search 12 more and 6 per visited action
        (8 in games of more than 65,536 actions): about 40 without visits, about 230 with those of 30 actions.

        Phase weights are cached in `folder`, if given. `targets` `[N, P]` are value targets in place of returns.
        """
        self.game = game
        self.id = name
        self.parts = frozenset([name, *parts]) - {""}
        """The ids of these samples and of the datasets they were joined from; subsets keep them."""
        self._samples = _Samples(game, shards, PhaseWeights(folder, name), targets)
        self._rows = np.arange(self._samples.num_samples)
        self._phase_weights: dict[str, FloatArray] = {}

    @classmethod
    def open(cls, folder: Path, game: Game) -> Dataset:
        """Returns the dataset in a folder.

        Raises ForeignData if it belongs to another game or encoding, DamagedFile if it is not as it was written.
        """
        manifest, shards = read_shards(folder, game)
        return cls(game, shards, name=dataset_id(manifest), parts=part_ids(manifest), folder=folder)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> IntArray:
        """Indices of these samples in the files, `[N]`."""
        return self._rows

    def games(self) -> IntArray:
        """Returns the game number of each sample, `[N]`."""
        return np.asarray(self._samples.game_numbers[self._rows], dtype=np.int64)

    def plies_to_end(self) -> IntArray:
        """Returns the number of plies from each position to the end of its game, `[N]`."""
        return np.asarray(self._samples.plies_to_end[self._rows], dtype=np.int64)

    def actions(self, rows: IntArray) -> IntArray:
        """Returns the actions played in the given rows."""
        return np.asarray(self._samples.action[self._rows[rows]], dtype=np.int64)

    def returns(self, rows: IntArray) -> FloatArray:
        """Returns the players' returns for the given rows, `[len(rows), P]`, column 0 for the viewing player."""
        return np.asarray(self._samples.returns[self._rows[rows]], dtype=np.float32)

    def views(self, rows: IntArray) -> Views:
        """Returns the views of the given rows, in that order."""
        return self._samples.views(self._rows[rows])

    def positions(self, rows: IntArray) -> Packed:
        """Returns the packed positions of the given rows, in that order."""
        return self._samples.positions(self._rows[rows])

    def players(self, rows: IntArray) -> IntArray:
        """Returns the viewing players of the given rows, `[len(rows)]`."""
        return np.asarray(self._samples.player[self._rows[rows]], dtype=np.int64)

    def are_searched(self, rows: IntArray) -> BoolArray:
        """Returns which of the given rows have search visits."""
        visits = self._samples.visits
        return np.zeros(len(rows), dtype=np.bool_) if visits is None else visits.are_known(self._rows[rows])

    def values(self, rows: IntArray) -> FloatArray:
        """Returns the values that the players of the given rows expected, `[len(rows)]`, nan where unknown."""
        known = self._samples.values
        return np.full(len(rows), np.nan, dtype=np.float32) if known is None else known[self._rows[rows]]

    def take(self, rows: IntArray) -> Dataset:
        """Returns the samples of the given rows as a dataset."""
        part = Dataset.__new__(Dataset)
        part.game, part.id, part.parts, part._samples = self.game, self.id, self.parts, self._samples
        part._rows = self._rows[rows]
        part._phase_weights = {key: weights[rows] for key, weights in self._phase_weights.items()}
        return part

    def split(self, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
        """Returns the samples to train on and those held out, a random `fraction` of the games; at least one game each.

        Raises MoemctsError if there are fewer than two games.
        """
        games = np.unique(self.games())
        if len(games) < 2:
            raise MoemctsError(
                f"cannot hold out games for validation: expected at least 2, got {len(games)}; learn from more "
                "samples, or name a dataset for validation"
            )
        num_held_out = min(max(round(fraction * len(games)), 1), len(games) - 1)
        held_out = np.random.default_rng((seed, len(games))).permutation(games)[:num_held_out]
        is_held_out = np.isin(self.games(), held_out)
        return self.take(np.flatnonzero(~is_held_out)), self.take(np.flatnonzero(is_held_out))

    def encoded_by(self, game: Game) -> Dataset:
        """Returns the samples as encoded by another game, which must store positions as this one does."""
        other = self.take(np.arange(len(self)))
        other.game, other._phase_weights = game, {}
        other._samples = self._samples.encoded_by(game)
        return other

    def sample_games(self, num_samples: int) -> Dataset:
        """Returns randomly drawn whole games with about `num_samples` samples in total, or all if there are fewer.

        The draw is always the same; a smaller number draws a subset of the games of a larger one.
        """
        games, counts = np.unique(self.games(), return_counts=True)
        order = np.random.default_rng(len(games)).permutation(len(games))
        num_games = int(np.searchsorted(np.cumsum(counts[order]), num_samples)) + 1
        if num_games >= len(games):
            return self
        part = self.take(np.flatnonzero(np.isin(self.games(), games[order[:num_games]])))
        part.id = f"{self.id}, {num_samples} samples"
        return part

    def phase_weights(self, gate: PhaseGate) -> FloatArray:
        """Returns the weight of each phase of the gate for each sample, `[N, K]`.

        Weights are computed once per gate, for all samples of the files, and cached beside these.
        """
        key = gate_fingerprint(gate, self.game)
        if key not in self._phase_weights:
            self._phase_weights[key] = self._samples.phase_weights(gate, key)[self._rows]
        return self._phase_weights[key]

    def phase_counts(self, gate: PhaseGate) -> dict[str, float]:
        """Returns the number of samples of each phase, by name: the sum of its weights."""
        sums = self.phase_weights(gate).sum(axis=0, dtype=np.float64)
        return {name: float(count) for name, count in zip(gate.phase_names, sums, strict=True)}

    def batch(
        self,
        rows: IntArray,
        weights: FloatArray,
        symmetries: Sequence[Symmetry] = (),
        seed: Sequence[int] = (0,),
        *,
        share: tuple[int, int] = (0, 1),
    ) -> Batch:
        """Returns the given rows as a batch; each is transformed by a random one of the symmetries and the identity.

        With `share` `(i, n)`, the batch has only every `n`-th row from `i` on, each as it would be in the whole batch.
        """
        drawn = np.random.default_rng(list(seed)).integers(len(symmetries) + 1, size=len(rows))[share[0] :: share[1]]
        rows = rows[share[0] :: share[1]]
        samples = self._rows[rows]
        planes = self.views(rows).observations()
        actions = self.actions(rows)
        policy = self._policy(samples, actions)
        if symmetries:
            for i, symmetry in enumerate(symmetries, 1):
                chosen = np.flatnonzero(drawn == i)
                if not len(chosen):
                    continue
                planes[chosen] = symmetry.planes(planes[chosen])
                actions[chosen] = symmetry.actions[actions[chosen]]
                if policy is not None:
                    visited = np.repeat(drawn == i, np.diff(policy.offsets))
                    policy.actions[visited] = symmetry.actions[policy.actions[visited]]
        return Batch(
            planes=planes,
            actions=actions,
            policy=policy,
            returns=self.returns(rows),
            plies_to_end=np.asarray(self._samples.plies_to_end[samples], dtype=np.int64),
            weights=np.asarray(weights[rows], dtype=np.float32),
            values=None if self._samples.targets is None else self._samples.targets[samples],
        )

    def _policy(self, samples: IntArray, actions: IntArray) -> Visits | None:
        visits = self._samples.visits
        return None if visits is None else visits.take(samples).where_known(actions)


def epoch_rows(weights: FloatArray, size: int, seed: int) -> list[IntArray]:
    """Returns the rows of each batch of one epoch, shuffled; samples of weight 0 are left out."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(weights > 0))
    return np.array_split(rows, max(num_batches(weights, size), 1))


def num_batches(weights: FloatArray, size: int) -> int:
    """Returns the number of batches per epoch."""
    return -(-int((weights > 0).sum()) // size)


def chunks_of(rows: IntArray, size: int = CHUNK) -> Iterator[IntArray]:
    """Yields the rows in chunks of at most `size`."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


class _Samples:
    """Joined shards: per-sample arrays in memory, positions where the shards have them."""

    def __init__(
        self, game: Game, shards: Sequence[Records], phase_weights: PhaseWeights, targets: FloatArray | None
    ) -> None:
        arrays = {name: np.concatenate([getattr(shard, name) for shard in shards]) for name in PER_SAMPLE}
        self.player, self.action = arrays["player"], arrays["action"]
        self.returns, self.game_numbers = arrays["returns"], arrays["game"]
        self.plies_to_end, self._position = arrays["plies_to_end"], arrays["position"]
        self.num_samples = len(self.action)
        self.targets = targets
        self.visits, self.values = join_visits(shards), join_values(shards)
        self._game = game
        self._phase_weights = phase_weights
        self._data = [shard.positions.data for shard in shards]
        self._offsets = [np.require(shard.positions.offsets, np.int64, "A") for shard in shards]
        self._shard = np.repeat(np.arange(len(shards), dtype=np.int32), [len(shard) for shard in shards])

    def encoded_by(self, game: Game) -> _Samples:
        """Returns the same samples as encoded by another game."""
        other = copy.copy(self)
        other._game = game
        return other

    def views(self, samples: IntArray) -> Views:
        """Returns the views of samples, in that order."""
        return self._game.unpack(self.positions(samples), np.asarray(self.player[samples], dtype=np.int64))

    def positions(self, samples: IntArray) -> Packed:
        """Returns the packed positions of samples, in that order."""
        parts, rows = self._shard[samples].astype(np.int64), self._position[samples].astype(np.int64)
        return Packed(*core.gather_rows(self._data, self._offsets, parts, rows))

    def phase_weights(self, gate: PhaseGate, fingerprint: str) -> FloatArray:
        """Returns the phase weights of all samples, `[N, K]`."""
        return self._phase_weights.of(gate, fingerprint, self.num_samples, self.views)
