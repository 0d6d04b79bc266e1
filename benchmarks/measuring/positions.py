"""Positions for measurements: two named chess positions, and those of random games."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from moemcts.game import Game, State, random_action

CHESS = {
    "start": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "middlegame": "r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1BP2/PPPQ2PP/R3KB1R w KQ - 3 9",
}


def random_positions(game: Game, num_positions: int) -> list[State]:
    """Returns the positions of random games in sequence, without terminal positions."""
    return list(itertools.islice(_positions(game), num_positions))


def _positions(game: Game) -> Iterator[State]:
    rng = np.random.default_rng(0)
    for seed in itertools.count():
        state = game.initial_state(seed)
        while players := state.active_players:
            yield state
            state = state.play([random_action(state, player, rng) for player in players])
