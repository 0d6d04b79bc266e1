"""A search that remembers evaluations finds what it finds without, and asks for less."""

from __future__ import annotations

import contextlib
import copy
import pickle
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, TreeGame

from moemcts.agents import Decision, Seat
from moemcts.errors import UsageError
from moemcts.evaluation import CachedEvaluator, Evaluation, RolloutEvaluator, UniformEvaluator
from moemcts.experts import ExpertSet
from moemcts.game import Game, Player, Views
from moemcts.gates import PlyGate
from moemcts.locks import PicklableLock
from moemcts.naming import resolve_agent
from moemcts.native import identities
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig


class Counting:
    """Values by random playouts, which a view decides, and counts the views."""

    def __init__(self, game: Game) -> None:
        self._evaluator = RolloutEvaluator(game.spec, num_rollouts=2)
        self.num_views = 0

    def evaluate(self, views: Views) -> Evaluation:
        self.num_views += len(views)
        return self._evaluator.evaluate(views)


def decisions(game: Game, evaluator: Counting, cache_size: int) -> list[Decision]:
    """Plays a short game in which all players think by one agent; returns what it thought."""
    agent = SearchAgent(game, evaluator, SearchConfig(simulations=60, leaves_per_tree=4, cache_size=cache_size))
    state, made = game.initial_state(0), []
    for ply in range(6):
        views = game.views([(state, player) for player in state.active_players])
        seats = [Seat(player, np.random.default_rng([ply, player])) for player in state.active_players]
        chosen = agent.act(views, seats)
        made += chosen
        state = state.play([decision.action for decision in chosen])
    return made


def names(views: Views) -> list[tuple[int, int, Player]]:
    """Returns the key, the ply and the player of each view."""
    return list(zip(*(column.tolist() for column in identities(views)), strict=True))


def told(made: list[Decision]) -> list[object]:
    return [(one.action, one.value, one.policy and one.policy.shares.tolist()) for one in made]


@pytest.mark.parametrize("cache_size", [40, 100_000])
@pytest.mark.parametrize("name", ["connect four", "pommerman", "a tree"])
def test_a_cache_changes_nothing_but_the_work(name: str, cache_size: int) -> None:
    rules = TreeGame(seed=1, num_players=2, branching=2, depth=9, simultaneous=False)
    game = {
        "connect four": NativeConnectFour,
        "pommerman": lambda: plugins().game("pommerman"),
        "a tree": lambda: HashedTree(rules),
    }[name]()
    plain, cached = Counting(game), Counting(game)
    assert told(decisions(game, plain, 0)) == told(decisions(game, cached, cache_size))
    assert cached.num_views < plain.num_views
    if cache_size > plain.num_views:
        assert cached.num_views < 0.8 * plain.num_views


def test_what_does_not_fit_is_forgotten_in_the_order_in_which_it_came() -> None:
    game = NativeConnectFour()
    inner = Counting(game)
    cache = CachedEvaluator(inner, size=3)
    views = game.views([(game.parse_state(" ".join("012345"[:num])), num % 2) for num in range(6)])
    right = RolloutEvaluator(game.spec, num_rollouts=2).evaluate(views)
    # More than there is room for: the last three stay.
    assert np.array_equal(cache.evaluate(views).value, right.value)
    for rows, asked in (([5, 3, 4], 6), ([0, 5, 0], 7), ([3], 8), ([5, 0, 3], 8), ([4], 9)):
        found = cache.evaluate(views.take(rows))
        assert np.array_equal(found.value, right.value[rows])
        assert np.array_equal(found.logits, right.logits[rows])
        assert inner.num_views == asked
    assert (cache.hits, cache.misses) == (8, 9)


class Slow:
    """Values by random playouts, slowly, and notes whether two asked it at once."""

    def __init__(self, game: Game) -> None:
        self._evaluator = RolloutEvaluator(game.spec, num_rollouts=2)
        self._is_asked = self.was_crowded = False

    def evaluate(self, views: Views) -> Evaluation:
        self.was_crowded |= self._is_asked
        self._is_asked = True
        time.sleep(0.002)
        self._is_asked = False
        return self._evaluator.evaluate(views)


def test_threads_ask_a_cache_one_at_a_time() -> None:
    game = NativeConnectFour()
    inner = Slow(game)
    views = game.views([(game.parse_state(" ".join("0123456"[:num])), num % 2) for num in range(8)])
    right = RolloutEvaluator(game.spec, num_rollouts=2).evaluate(views)
    # So small that what one thread found is forgotten while another asks.
    cache = CachedEvaluator(inner, size=2)
    with ThreadPoolExecutor(4) as threads:
        asked = [[i % 8, (i + 1) % 8, (3 * i) % 8] for i in range(40)]
        for rows, found in zip(asked, threads.map(lambda rows: cache.evaluate(views.take(rows)), asked), strict=True):
            assert np.array_equal(found.value, right.value[rows])
    assert not inner.was_crowded
    for twin in (copy.deepcopy(PicklableLock()), pickle.loads(pickle.dumps(PicklableLock()))):
        with twin.lock:
            pass


class Torn(np.ndarray):
    """Logits of which the rows that a cache keeps cannot be read: what a signal does that comes just then."""

    def __getitem__(self, index: object) -> Any:
        if isinstance(index, slice):
            raise KeyboardInterrupt
        return super().__getitem__(index)  # type: ignore[index]


def test_a_cache_that_is_interrupted_while_it_keeps_answers_forgets_them() -> None:
    game = NativeConnectFour()
    inner = RolloutEvaluator(game.spec, num_rollouts=2)
    views = game.views([(game.parse_state(" ".join("0123"[:num])), num % 2) for num in (1, 2)])
    right = inner.evaluate(views)

    class Once:
        has_torn = False

        def evaluate(self, views: Views) -> Evaluation:
            found = inner.evaluate(views)
            if self.has_torn:
                return found
            self.has_torn = True
            return Evaluation(found.logits.view(Torn), found.value)

    cache = CachedEvaluator(Once(), size=8)
    with pytest.raises(KeyboardInterrupt):
        cache.evaluate(views)
    for _ in range(2):
        found = cache.evaluate(views)
        assert np.array_equal(found.logits, right.logits)
        assert np.array_equal(found.value, right.value)
    assert cache.hits == 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that interrupt")
def test_a_cache_that_is_interrupted_anywhere_answers_rightly_afterwards() -> None:
    class Late(BaseException):
        pass

    def interrupt(*_: object) -> None:
        raise Late

    game = NativeConnectFour()
    inner = RolloutEvaluator(game.spec, num_rollouts=2)
    views = game.views([(game.parse_state(" ".join("0123456"[:num])), num % 2) for num in range(8)])
    right = inner.evaluate(views)
    cache = CachedEvaluator(inner, size=5)
    rng = np.random.default_rng(0)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(300):
            rows = rng.integers(len(views), size=3)
            with contextlib.suppress(Late):
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-5, 3e-4)))
                try:
                    cache.evaluate(views.take(rows))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            assert np.array_equal(cache.evaluate(views.take(rows)).value, right.value[rows])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_views_of_one_position_by_two_players_are_two() -> None:
    game = plugins().game("pommerman")
    state = game.initial_state(0)
    views = game.views([(state, player) for player in range(4)])
    assert names(views) == [(state.key(), 0, player) for player in range(4)]
    cache = CachedEvaluator(UniformEvaluator(game.spec))
    cache.evaluate(views)
    assert (cache.hits, cache.misses) == (0, 4)


def test_keys_of_packed_views_are_those_of_their_positions() -> None:
    game = plugins().game("chess")
    state = game.initial_state()
    views = game.views([(state, 0), (state.play([state.legal_actions(0)[0]]), 1)])
    packed = game.unpack(game.pack([view.state for view in views]), views.players())
    expected = [(view.state.key(), view.state.ply, view.player) for view in views]
    assert names(packed) == names(views) == expected


def test_a_position_that_comes_up_later_is_asked_about_again() -> None:
    """A gate may tell them apart: one of breakthrough has the ply in no key."""
    game = plugins().game("breakthrough?rows=6&columns=3")
    early, late = (game.parse_state(f"bbb/bw./.../.../wb./www w {ply}") for ply in (6, 8))
    assert early.key() == late.key()

    class Constant:
        def __init__(self, value: float) -> None:
            self._value = value

        def evaluate(self, views: Views) -> Evaluation:
            logits = np.zeros((len(views), game.spec.num_actions), np.float32)
            return Evaluation(logits, np.full(len(views), self._value, np.float32))

    cache = CachedEvaluator(ExpertSet(PlyGate([8]), [Constant(0.25), Constant(0.5)]))
    for state, value in ((early, 0.25), (late, 0.5), (early, 0.25)):
        assert cache.evaluate(game.views([(state, 0)])).value.tolist() == [value]
    assert (cache.hits, cache.misses) == (1, 2)


def test_a_cache_that_makes_no_sense_is_refused() -> None:
    game = plugins().game("pommerman")
    with pytest.raises(ValueError, match="at least one view, got 0"):
        CachedEvaluator(UniformEvaluator(game.spec), size=0)
    with pytest.raises(UsageError, match="no cache_size with a queue, got 9"):
        resolve_agent("weights:pommerman?routing=queue&cache_size=9", game)
    with pytest.raises(
        UsageError, match="no cache, as the evaluator's answers depend on their batch, got one of size 9"
    ):
        resolve_agent("weights:pommerman?routing=majority&cache_size=9", game)
    assert "cache_size" not in SearchConfig().model_dump()
    assert SearchConfig(cache_size=4).model_dump()["cache_size"] == 4


def test_a_cache_around_experts_says_who_was_asked() -> None:
    game = NativeConnectFour()
    experts = ExpertSet(PlyGate([3]), [UniformEvaluator(game.spec)] * 2)
    views = game.views([(game.initial_state(), 0)])
    seats = [Seat(0, np.random.default_rng(0))]
    config = SearchConfig(simulations=5)
    plain, cached = (SearchAgent(game, one, config).act(views, seats)[0] for one in (experts, CachedEvaluator(experts)))
    assert (cached.phase, cached.expert) == (plain.phase, plain.expert) == (experts.gate.phase_names[0], 0)
    assert CachedEvaluator(UniformEvaluator(game.spec)).gate is None
