"""What routings change and cost is measured beside asking each expert about its own phase."""

from __future__ import annotations

import numpy as np
import pytest
from searching_for_tests import HashedEvaluator

from moemcts.agents import Seat
from moemcts.experts import ROUTINGS, ExpertSet
from moemcts.game import Views
from moemcts.gates import PlyGate
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate
from moemcts.learn.routings import MEASURED, measure_routings
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig


class Turned(HashedEvaluator):
    """Another opinion on the same planes."""

    def evaluate(self, views: Views):  # type: ignore[no-untyped-def]
        found = super().evaluate(views)
        return type(found)(-found.logits, -found.value)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    game, out = plugins().game("tictactoe"), tmp_path_factory.mktemp("data") / "games"
    generate(game, [plugins().agent("random", game)] * 2, 200, seed=0, out=out, reference="tictactoe")
    return Dataset.open(out, game)


def test_only_the_majoritys_expert_disagrees_where_phases_are_mixed(dataset: Dataset) -> None:
    game = plugins().game("tictactoe")
    gate = plugins().gate("plies?cuts=4", game)
    team = ExpertSet(gate, [HashedEvaluator(9, 1), Turned(9, 1)])
    found = {one.routing: one for one in measure_routings(team, dataset)}
    assert tuple(found) == MEASURED
    for name in ("each", "queue", "mixture"):
        assert (found[name].agreement, found[name].purity) == (1.0, 1.0)
        assert found[name].value == pytest.approx(0, abs=1e-6)
    majority = found["majority"]
    assert majority.agreement < 1
    assert 0.5 <= majority.purity < 1
    assert majority.kl > 0.1
    # What the other expert answers is wrong as often as its phase is in the minority, but for moves that there is no
    # choice about.
    assert majority.agreement == pytest.approx(majority.purity, abs=0.2)
    assert all(one.positions_per_second > 0 for one in found.values())


def test_experts_that_think_alike_agree_under_every_routing(dataset: Dataset) -> None:
    game = plugins().game("tictactoe")
    same = HashedEvaluator(9, 1)
    team = ExpertSet(plugins().gate("plies?cuts=4", game), [same, same])
    assert all(one.agreement == 1 and one.kl < 1e-6 for one in measure_routings(team, dataset))
    with pytest.raises(ValueError, match="expected positions to measure routings on"):
        measure_routings(team, dataset.take(np.arange(0)))


@pytest.mark.parametrize("routing", [*ROUTINGS, "queue"])
def test_a_batch_of_one_leaf_is_searched_alike_by_every_routing(routing: str) -> None:
    """Where the gate is hard, routings differ in what they do with leaves that come together."""
    game = plugins().game("tictactoe")
    state = game.parse_state("X........")
    views, seats = game.views([(state, 1)]), [Seat(1, np.random.default_rng(0))]

    def searched(routing: str, queue: int | None):  # type: ignore[no-untyped-def]
        team = ExpertSet(PlyGate([3]), [HashedEvaluator(9, 1), Turned(9, 1)], routing=ROUTINGS.get(routing))
        return SearchAgent(game, team, SearchConfig(simulations=60), queue=queue).search(views, seats)[0]

    expected, found = searched("each", None), searched(routing, 1 if routing == "queue" else None)
    assert found.visits.tolist() == expected.visits.tolist()
    assert found.value == pytest.approx(expected.value, abs=1e-6)
