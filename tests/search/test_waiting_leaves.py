"""What is drawn on the way to leaves that wait is neither lost nor drawn anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from games_for_tests import NativeTicTacToe

from moemcts.agents import Decision, PolicyAgent, Seat
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.experts import ExpertSet
from moemcts.game import CHANCE, Action, Game, GameSpec, Player, State, Views
from moemcts.gates import SinglePhase
from moemcts.search import Search, SearchConfig
from moemcts.search.reference import ReferenceSearch

PLIES = 400
WIDE = 6


@dataclass(frozen=True)
class Fork(State):
    """One of two ways is drawn: the first goes straight on, on the other there are many moves at every ply."""

    drawer: Player
    path: tuple[Action, ...] = ()

    @property
    def ply(self) -> int:
        return len(self.path)

    @property
    def active_players(self) -> tuple[Player, ...]:
        return () if self.ply >= PLIES else (self.drawer if self.ply == 1 else 0,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        if self.ply < 2:
            return range(self.ply + 1)
        return range(WIDE if self.path[1] else 1)

    def chances(self) -> np.ndarray:
        return np.array([0.5, 0.5], dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> Fork:
        return Fork(self.drawer, (*self.path, int(actions[0])))

    def returns(self) -> np.ndarray:
        return np.zeros(1 if self.drawer == CHANCE else 2, dtype=np.float32)

    def observation(self, player: Player) -> np.ndarray:
        return np.full((1, 1, 1), 1 - 2 * self.path[1] if self.ply > 1 else 0, dtype=np.float32)

    def key(self) -> int:
        return hash(self.path) & (2**64 - 1)


class Forks(Game):
    """Games that begin where one of two ways will be drawn, by chance or by an opponent."""

    def __init__(self, drawer: Player) -> None:
        self.spec = GameSpec(
            name="forks",
            num_players=1 if drawer == CHANCE else 2,
            num_actions=WIDE,
            observation_shape=(1, 1, 1),
            max_plies=PLIES,
            utility_sum=None,
        )
        self.drawer = drawer

    def initial_state(self, seed: int = 0) -> Fork:
        return Fork(self.drawer)

    def parse_state(self, text: str) -> Fork:
        return Fork(self.drawer, tuple(map(int, text.split())))

    def format_state(self, state: State) -> str:
        assert isinstance(state, Fork)
        return " ".join(map(str, state.path))


class WhichWay:
    """Says which way was drawn: its mean is the difference of their shares."""

    def evaluate(self, views: Views) -> Evaluation:
        values = views.observations().reshape(len(views))
        return Evaluation(np.zeros((len(views), WIDE), dtype=np.float32), values)


class Coin:
    name = "coin"

    def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
        return [Decision(action=int(seat.rng.integers(2))) for seat in seats]


NUM_SEEDS = 8
SIMULATIONS = 300
# Four deviations of the mean of so many draws of -1 or 1.
NEAR = 4 / np.sqrt(NUM_SEEDS * SIMULATIONS)


@pytest.mark.parametrize("leaves", [1, 4, 16])
@pytest.mark.parametrize("drawer", [CHANCE, 1])
def test_ways_are_drawn_as_often_as_their_probabilities_say_however_many_leaves_wait(
    drawer: Player, leaves: int
) -> None:
    game = Forks(drawer)
    config = SearchConfig(simulations=SIMULATIONS, leaves_per_tree=leaves, replies="drawn")
    found = []
    for seed in range(NUM_SEEDS):
        search = Search(game, config, opponents=None if drawer == CHANCE else {drawer: Coin()})
        search.reset(game.views([(game.initial_state(), 0)]), [seed])
        (result,) = search.run(WhichWay())
        assert result.num_simulations == SIMULATIONS
        found.append(float(result.values[0]))
    assert abs(np.mean(found)) < NEAR


@pytest.mark.parametrize("leaves", [4, 16])
def test_the_definition_draws_them_so_too(leaves: int) -> None:
    game = Forks(CHANCE)
    found = []
    for seed in range(NUM_SEEDS):
        search = ReferenceSearch(
            game.spec, SearchConfig(simulations=SIMULATIONS, leaves_per_tree=leaves), game.initial_state(), seed=seed
        )
        while pairs := search.select():
            search.backup(WhichWay().evaluate(game.views(pairs)))
        (seat,) = search.root.seats
        found.append(seat.value_sums[0] / seat.visits[0])
    assert abs(np.mean(found)) < NEAR


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("replies", ["kept", "drawn"])
def test_a_search_whose_leaves_wait_in_a_queue_ends(replies: str, leaves: int) -> None:
    game = NativeTicTacToe()
    evaluator = UniformEvaluator(game.spec)
    asked = 0

    class Counting(PolicyAgent):
        def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
            nonlocal asked
            asked += len(views)
            assert asked < 10_000, "asked for ever"
            return super().act(views, seats)

    config = SearchConfig(simulations=100, replies=replies, leaves_per_tree=leaves)
    search = Search(game, config, opponents={1: Counting(evaluator)})
    search.reset(game.views([(game.initial_state(), 0)]), [0])
    (result,) = search.run_queued(ExpertSet(SinglePhase(), [evaluator]), batch_size=64)
    assert result.num_simulations == 100
    # At most four replies lie on the way to an end.
    assert asked <= 4 * 100
