"""Noise in the priors of a root, also of one that is searched again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
from games_for_tests import NativeConnectFour
from searching_for_tests import HashedEvaluator, native_results, reference_visits

from moemcts.evaluation import Evaluation
from moemcts.game import Action, FloatArray, Game, GameSpec, Player, State, Views
from moemcts.search import Search, SearchConfig

CLEAN = np.array([0.94, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01], dtype=np.float32)


class Favourite:
    """Likes one action."""

    def evaluate(self, views: Views) -> Evaluation:
        return Evaluation(np.tile(np.log(CLEAN), (len(views), 1)), np.zeros(len(views), dtype=np.float32))


def test_a_root_that_is_searched_again_has_the_noise_of_one_search() -> None:
    game = NativeConnectFour()
    roots = game.views([(game.initial_state(), 0)])
    search, kept = Search(game, SearchConfig(simulations=10, noise_fraction=0.25, noise_alpha=10.0)), None
    seen = []
    for seed in range(8):
        search.reset(roots, [seed], kept)
        (result,) = search.run(Favourite())
        assert (result.priors >= 0.75 * CLEAN - 1e-6).all()
        assert result.priors.sum() == pytest.approx(1, abs=1e-6)
        seen.append(result.priors)
        kept = search.keep()
    assert not np.array_equal(seen[0], seen[1])
    plain = Search(game, SearchConfig(simulations=10))
    plain.reset(roots, [1], kept)
    (result,) = plain.run(Favourite())
    assert result.priors == pytest.approx(CLEAN, abs=1e-6)


def test_copies_of_a_kept_tree_differ_by_their_seeds_alone() -> None:
    game = NativeConnectFour()
    roots = game.views([(game.initial_state(), 0)])
    search = Search(game, SearchConfig(simulations=60, noise_fraction=0.25, noise_alpha=0.3))
    search.reset(roots, [9])
    search.run(Favourite())
    (tree,) = search.keep()
    found: dict[int, object] = {}
    noises = set()
    for seed in (1, 2, 3, 1):
        search.reset(roots, [seed], [copy(tree)])
        (result,) = search.run(Favourite())
        assert result.visits.sum() > 60
        one = (result.actions.tolist(), result.priors.tolist(), result.visits.tolist())
        assert found.setdefault(seed, one) == one
        noises.add(tuple(sorted(one[1])))
    assert len(noises) == 3


def test_a_root_below_has_noise_in_its_own_priors() -> None:
    game = NativeConnectFour()
    search = Search(game, SearchConfig(simulations=40, noise_fraction=0.25, noise_alpha=10.0))
    search.reset(game.views([(game.initial_state(), 0)]), [1])
    search.run(Favourite())
    search.reset(game.views([(game.parse_state("0"), 1)]), [1], search.keep())
    (result,) = search.run(Favourite())
    assert result.num_simulations < result.visits.sum()
    assert (result.priors >= 0.75 * CLEAN - 1e-6).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_kept_root_goes_on_with_the_actions_that_noise_likes(seed: int) -> None:
    game = NativeConnectFour()
    config = SearchConfig(
        simulations=100, noise_fraction=0.5, pruning_visits=2, unpruned_actions=3, unpruning_visits=1e6
    )
    search = Search(game, config)
    search.reset(game.views([(game.initial_state(), 0)]), [seed])
    search.run(HashedEvaluator(7, 1))
    kept = search.keep()
    search.reset(game.views([(game.parse_state("3 3"), 0)]), [seed], kept)
    (before,) = search.results()
    (after,) = search.run(HashedEvaluator(7, 1))
    gone_on_with = np.flatnonzero(after.visits > before.visits)
    ranks = np.argsort(np.argsort(-after.priors))
    assert set(ranks[gone_on_with]) <= {0, 1, 2}


@dataclass(frozen=True)
class Walk(State):
    """Two players, three actions, and no end within sight."""

    simultaneous: bool
    path: tuple[tuple[int, ...], ...] = ()

    @property
    def ply(self) -> int:
        return len(self.path)

    @property
    def active_players(self) -> tuple[Player, ...]:
        return (0, 1) if self.simultaneous else (len(self.path) % 2,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return range(3)

    def play(self, actions: Sequence[Action]) -> Walk:
        return replace(self, path=(*self.path, tuple(map(int, actions))))

    def returns(self) -> FloatArray:
        return np.zeros(2, dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        """Returns what was played first by this player, and likewise by the other: 0 to 2."""
        first = self.path[0] if self.path else (0, 0)
        return np.array([first[0], first[-1], player], dtype=np.float32)

    def key(self) -> int:
        return hash(self.path) % 2**64


class Walking(Game):
    def __init__(self, *, simultaneous: bool) -> None:
        self.simultaneous = simultaneous
        self.spec = GameSpec(
            name="walk", num_players=2, num_actions=3, observation_shape=(3,), max_plies=99, utility_sum=None
        )

    def initial_state(self, seed: int = 0) -> Walk:
        return Walk(self.simultaneous)

    def parse_state(self, text: str) -> Walk:
        raise NotImplementedError

    def format_state(self, state: State) -> str:
        raise NotImplementedError


class FirstMove:
    """What the root's joint action was decides everybody's value."""

    def evaluate(self, views: Views) -> Evaluation:
        planes = views.observations()
        own = np.where(planes[:, 2] == 0, planes[:, 0], planes[:, 1])
        other = np.where(planes[:, 2] == 0, planes[:, 1], planes[:, 0])
        value = np.stack([own, other], axis=1) / 8
        return Evaluation(np.zeros((len(planes), 3), dtype=np.float32), value.astype(np.float32))


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_children_stay_with_their_actions(seed: int, simultaneous: bool) -> None:
    game = Walking(simultaneous=simultaneous)
    root = game.initial_state()
    for player in root.active_players:
        search, kept = Search(game, SearchConfig(simulations=60, noise_fraction=0.5)), None
        for visits in (60, 120, 180):
            search.reset(game.views([(root, player)]), [seed + visits], kept)
            (result,) = search.run(FirstMove())
            assert result.visits.sum() == visits
            assert result.values == pytest.approx(result.actions / 8)
            kept = search.keep()


def test_noise_too_small_for_a_number_is_even() -> None:
    game = NativeConnectFour()
    config = SearchConfig(simulations=30, noise_fraction=0.5, noise_alpha=1e-5)
    root = game.initial_state()
    (result,) = native_results(game, [(root, 0)], config, Favourite(), [3])
    assert result.priors == pytest.approx(0.5 * CLEAN + 0.5 / 7, abs=1e-6)
    expected = reference_visits(game, root, config, Favourite(), 3)
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(0)
