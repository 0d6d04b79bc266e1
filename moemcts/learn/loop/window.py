"""The replay window: the newest generations, and the samples drawn from them for training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import BoolArray, Game, IntArray
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.records import Records
from moemcts.learn.loop.config import ReplayConfig, TargetsConfig
from moemcts.learn.loop.games import generation_of
from moemcts.learn.loop.targets import value_targets
from moemcts.splitmix import uniform_of
from moemcts.store import digest

_ROUNDING = 1e-9
"""Rounding error by which a share of generations that is a whole number may exceed it."""
MIN_SAMPLES = 2
"""Minimum number of training samples, and of held-out ones."""


def replay_window(generation: int, num_samples: Callable[[int], int], config: ReplayConfig) -> range:
    """Returns the generations whose samples train `generation`, the newest; the first is 1.

    `num_samples` returns the number of samples that a generation made.
    """
    size = min(config.generations, max(1, math.ceil(config.growth * generation - _ROUNDING)))
    first = max(1, generation - size + 1)
    if config.samples is not None:
        total, oldest = 0, generation
        for oldest in range(generation, first - 1, -1):
            total += num_samples(oldest)
            if total >= config.samples:
                break
        first = oldest
    return range(first, generation + 1)


@dataclass(frozen=True, kw_only=True)
class Samples:
    """The training samples of a generation, and the held-out ones that its losses are measured on."""

    training: Dataset
    validation: Dataset


def open_window(
    game: Game,
    shards: Sequence[Records],
    name: str,
    replay: ReplayConfig,
    targets: TargetsConfig,
    *,
    held_out: float,
    seed: int,
    newest: int,
) -> Samples:
    """Returns the samples of some generations, split into training and held-out games.

    A game is held out in all generations or in none, with the exception of `held_out_games`: about a share `held_out`
    of them, chosen by the seed. `name` identifies the samples, `newest` is the newest generation. Raises MoemctsError
    if there are too few.
    """
    value_target_rows = None
    if not targets.is_result:
        value_target_rows = np.concatenate([value_targets(shard, targets, game.spec) for shard in shards])
    everything = Dataset(game, shards, name=name, targets=value_target_rows)
    games = everything.games()
    is_held_out = held_out_games(games, held_out, seed)
    rest = np.flatnonzero(~is_held_out)
    training = everything.take(draw_rows(rest, generation_of(games[rest]) == newest, replay, (seed, newest)))
    validation = everything.take(np.flatnonzero(is_held_out))
    if min(len(training), len(validation)) < MIN_SAMPLES:
        raise MoemctsError(
            f"expected samples to learn from and to measure on, got {len(training)} and {len(validation)} of "
            f"{len(np.unique(games))} games; play more games per generation, or hold out more"
        )
    training.id = _subset_id(training, name)
    validation.id = _subset_id(validation, name)
    return Samples(training=training, validation=validation)


def held_out_games(games: IntArray, fraction: float, seed: int) -> BoolArray:
    """Returns which samples are of held-out games, `[N]`: the same games whatever the window.

    At least as many games are held out as have `MIN_SAMPLES` samples together, and as many are not, if there are
    enough: a window of so few samples that none would be held out is measured on some that other windows may be trained
    on.
    """
    numbers, of_sample, counts = np.unique(games, return_inverse=True, return_counts=True)
    draws = uniform_of(numbers, seed)
    is_held_out = draws < fraction
    if len(numbers) > 1:
        order = draws.argsort()
        fewest = _num_games_with(MIN_SAMPLES, counts[order])
        most = len(numbers) - _num_games_with(MIN_SAMPLES, counts[order[::-1]])
        num_held_out = min(max(int(is_held_out.sum()), fewest), max(most, 1))
        is_held_out[order[:num_held_out]], is_held_out[order[num_held_out:]] = True, False
    return np.asarray(is_held_out[of_sample], dtype=np.bool_)


def _num_games_with(num_samples: int, counts: IntArray) -> int:
    """Returns how many of the first games have `num_samples` samples together."""
    return int(np.searchsorted(np.cumsum(counts), num_samples)) + 1


def draw_rows(rows: IntArray, is_new: BoolArray, replay: ReplayConfig, seed: Sequence[int]) -> IntArray:
    """Returns the rows to train on, ascending, given all of them and a mask of those of the newest generation."""
    rng = np.random.default_rng(list(seed))
    new, old = rows[is_new], rows[~is_new]
    size = len(rows) if replay.drawn is None else min(replay.drawn, len(rows))
    if replay.newest > 0 and len(new):
        # If the newest are too few for their share, fewer rows are drawn.
        size = min(size, math.floor(len(new) / replay.newest))
        num_new = max(math.ceil(size * replay.newest), round(size * len(new) / len(rows)))
        num_new = min(num_new, len(new), size)
        if size - num_new > len(old):
            num_new = min(len(new), size - len(old))
        chosen = [rng.permutation(new)[:num_new], rng.permutation(old)[: size - num_new]]
        return np.sort(np.concatenate(chosen))
    return np.sort(rng.permutation(rows)[:size]) if size < len(rows) else rows


def _subset_id(dataset: Dataset, name: str) -> str:
    """Returns an id of exactly these rows of the samples called `name`."""
    return digest(f"{name} {digest(dataset.rows.tobytes())}".encode())[:16]
