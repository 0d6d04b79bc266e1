"""What a decision is said to cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.errors import MoemctsError
from moemcts.game import Views
from moemcts.plugins import plugins
from moemcts.runs.experiment import estimate as estimates
from moemcts.runs.experiment.estimate import (
    BATCHED_GAMES,
    IMPORT_RATE,
    Sizes,
    bytes_of_training,
    cheaper_search,
    data_seconds,
    decision_seconds,
    sample_games,
    untrained_evaluator,
)
from moemcts.runs.learning_cost import PhaseSample
from moemcts.runs.settings import DataConfig
from moemcts.search import SearchConfig


def test_who_decides_most_often_is_found_in_every_game() -> None:
    found = sample_games(plugins().game("tictactoe"), [RandomAgent()] * 2)
    # Whoever begins moves as often as the other, or once more.
    assert found.most_per_game == sum(-(-len(states) // 2) for states in found.games) / len(found.games)


class _Slow:
    """Takes ten seconds for the first decisions and one for each that follows, by a clock of its own."""

    name = "slow"

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[tuple[list[int], list[int]]] = []

    def perf_counter(self) -> float:
        return self.now

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        self.now += len(views) if self.asked else 10
        self.asked.append((views.plies().tolist(), [id(seat) for seat in seats]))
        return [Decision(action=views[row].state.legal_actions(views[row].player)[0]) for row in range(len(views))]


def test_a_decision_costs_what_it_does_where_another_went_before(monkeypatch: pytest.MonkeyPatch) -> None:
    game, slow = plugins().game("tictactoe"), _Slow()
    games = sample_games(game, [RandomAgent()] * 2).games[:5]
    monkeypatch.setattr(estimates, "time", slow)
    assert decision_seconds(game, slow, games) == 1
    (plies, seats), (later, same) = slow.asked
    assert len(plies) == 5
    # The other player moves in between; a game that is over is left out.
    known = dict(zip(seats, plies, strict=True))
    assert all(ply == known[seat] + 2 for ply, seat in zip(later, same, strict=True))


def test_a_game_of_one_decision_costs_what_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    game, slow = plugins().game("tictactoe"), _Slow()
    monkeypatch.setattr(estimates, "time", slow)
    assert decision_seconds(game, slow, [[game.initial_state()]]) == 10


def test_weights_to_be_are_asked_as_those_that_are_trained_will_be() -> None:
    game = plugins().game("tictactoe")
    views = game.views([(game.initial_state(), 0)])
    for backend, precision in (("torch", None), ("onnxruntime", "float32"), ("torch", "int8")):
        evaluator = untrained_evaluator(game, "resnet?channels=4&blocks=1", backend, precision, "cpu")
        found = evaluator.evaluate(views)
        assert found.logits.shape == (1, game.spec.num_actions)
        assert np.isfinite(found.value).all()


def test_a_gate_with_more_weights_than_phases_is_told_where_its_cost_is_estimated() -> None:
    game = plugins().game("tictactoe")
    gate: Any = SimpleNamespace(name="wide", num_phases=2, weights=lambda views: np.full((len(views), 3), 1 / 3))
    with pytest.raises(
        MoemctsError, match=r"gate 'wide' is invalid: expected weights of shape \(1, 2\).*, got \(1, 3\)"
    ):
        PhaseSample.of(gate, game, [[game.initial_state()]])


def test_a_slow_network_searches_for_a_second_to_tell_what_a_decision_costs() -> None:
    # 400 positions per second: 12.5 simulations of each line are a second, 16 are the fewest.
    for rate, simulations in ((400, 16), (1_600, 50), (3_200, 100), (25_600, 800), (math.inf, 800)):
        search, times = cheaper_search(SearchConfig(simulations=800), rate)
        assert search.simulations == simulations
        assert times == 800 / simulations
        assert simulations == 16 or simulations * BATCHED_GAMES <= rate
    # Both limits become smaller, and none appears where there was none.
    search, times = cheaper_search(SearchConfig(simulations=400, nodes=200), 1_600)
    assert (search.simulations, search.nodes, times) == (100, 50, 4)
    search, times = cheaper_search(SearchConfig(simulations=None, nodes=200), 1_600)
    assert (search.simulations, search.nodes, times) == (None, 50, 4)
    timed = SearchConfig(simulations=None, seconds=1)
    assert cheaper_search(timed, 1) == (timed, 1)


def test_games_of_which_half_is_kept_take_twice_as_long() -> None:
    played = sample_games(plugins().game("tictactoe"), [RandomAgent()] * 2)
    sizes = Sizes(learned=0, measured=0, rated=0)
    whole, half = (data_seconds(DataConfig(samples=1000, keep=keep), played, sizes) for keep in (1.0, 0.5))
    assert half == 2 * whole == 2000 * played.seconds_per_sample


def test_games_of_a_file_are_imported_and_not_played() -> None:
    sizes = Sizes(learned=0, measured=0, rated=0, imported=3 * IMPORT_RATE)
    played = sample_games(plugins().game("tictactoe"), [RandomAgent()] * 2)
    assert data_seconds(DataConfig(games="games.pgn"), played, sizes) == 3
    assert data_seconds(DataConfig(games="games.pgn"), None, sizes) == 3


def test_a_training_has_two_states_of_its_weights_and_their_moments_in_float32() -> None:
    assert bytes_of_training(1000) == 2 * (1000 + 2 * 1000) * 4
