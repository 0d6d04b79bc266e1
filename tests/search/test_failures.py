"""What a search does where a game, an evaluator or a user stops it in the middle."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, TreeGame, TreeState
from searching_for_tests import HashedEvaluator

from moemcts.agent_calls import Answer, call_agent
from moemcts.agents import Decision, Seat
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Action, FloatArray, Game, Player, State, Views
from moemcts.native import playout_search
from moemcts.search import Search, SearchAgent, SearchConfig

RULES = TreeGame(seed=5, num_players=2, branching=9, depth=12, simultaneous=False)


class Interrupted(HashedTree):
    """A game that is interrupted while the n-th action is played."""

    plays_left = -1

    def initial_state(self, seed: int = 0) -> State:
        game = self

        class Position(TreeState):
            def play(self, actions):  # type: ignore[no-untyped-def]
                game.plays_left -= 1
                if not game.plays_left:
                    raise KeyboardInterrupt
                return super().play(actions)

        return Position(self.rules)


def begun(game: Game, **options: object) -> Search:
    search = Search(game, SearchConfig(simulations=200, leaves_per_tree=8, **options))
    search.reset(game.views([(game.initial_state(), 0)] * 2), [0, 1])
    return search


def test_a_search_that_was_interrupted_is_not_gone_on_with() -> None:
    game = Interrupted(RULES)
    search, evaluator = begun(game), UniformEvaluator(game.spec)
    for _ in range(4):
        search.backup(evaluator.evaluate(search.select()))
    game.plays_left = 6
    with pytest.raises(KeyboardInterrupt):
        search.select()
    with pytest.raises(ValueError, match="expected the search to be reset after an error"):
        search.run(evaluator)
    assert all(0 < result.num_simulations < 200 for result in search.results())
    search.reset(game.views([(game.initial_state(), 0)] * 2), [0, 1])
    assert [result.num_simulations for result in search.run(evaluator)] == [200, 200]


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_search_that_refused_an_evaluation_is_not_gone_on_with(num_threads: int) -> None:
    game = NativeConnectFour()
    search, evaluator = begun(game, num_threads=num_threads), UniformEvaluator(game.spec)
    search.backup(evaluator.evaluate(search.select()))
    views = search.select()
    logits = np.zeros((len(views), 7), np.float32)
    logits[1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity in row 1"):
        search.backup(Evaluation(logits, np.zeros(len(views), np.float32)))
    with pytest.raises(ValueError, match="expected the search to be reset after an error"):
        search.select()


@pytest.mark.parametrize("returns", [(5.0, -5.0), (1.0, -1.01), (0.0, float("nan"))])
def test_returns_out_of_range_are_refused(returns: tuple[float, float]) -> None:
    class Position(TreeState):
        def returns(self) -> FloatArray:
            return np.zeros(2, np.float32) if self.active_players else np.array(returns, np.float32)

    class Paying(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    game = Paying(RULES)
    with pytest.raises(
        ValueError, match=r"expected returns (in \[-1, 1\]|of 2 players, all finite numbers), the game gave"
    ):
        begun(game).run(UniformEvaluator(game.spec))


@pytest.mark.parametrize("actions", [(1, 1), (2, 0)])
def test_actions_that_do_not_ascend_are_refused(actions: tuple[int, int]) -> None:
    class Position(TreeState):
        def legal_actions(self, player: Player) -> Sequence[Action]:
            return actions

    class Careless(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    with pytest.raises(ValueError, match=f"actions of player 0 that ascend, the game gave {actions[1]} after"):
        begun(Careless(RULES))


class Late:
    """An opponent that answers in time from its second question on."""

    name = "late"

    def __init__(self) -> None:
        self.num_questions = 0

    def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
        self.num_questions += 1
        if self.num_questions == 1:
            raise TimeoutError("too late")
        return [Decision(action=int(views[row].state.legal_actions(views[row].player)[0])) for row in range(len(views))]


@pytest.mark.parametrize("replies", ["kept", "drawn"])
def test_a_search_whose_opponent_failed_is_not_gone_on_with(replies: str) -> None:
    game = HashedTree(RULES)
    evaluator = UniformEvaluator(game.spec)
    search = Search(game, SearchConfig(simulations=50, replies=replies), opponents=Late())  # type: ignore[arg-type]
    roots = game.views([(game.initial_state(), 0)])
    search.reset(roots, [0])
    with pytest.raises(TimeoutError, match="too late"):
        search.run(evaluator)
    with pytest.raises(ValueError, match="expected the search to be reset after an error"):
        search.run(evaluator)
    search.reset(roots, [0])
    assert [result.num_simulations for result in search.run(evaluator)] == [50]


def test_a_search_whose_leaves_could_not_be_viewed_is_not_gone_on_with() -> None:
    class Blind(HashedTree):
        is_blind = False

        def views(self, pairs: Any) -> Views:
            if self.is_blind:
                raise MemoryError("no room for views")
            return super().views(pairs)

    game = Blind(RULES)
    search, evaluator = begun(game), UniformEvaluator(game.spec)
    search.backup(evaluator.evaluate(search.select()))
    game.is_blind = True
    with pytest.raises(MemoryError, match="no room for views"):
        search.select()
    game.is_blind = False
    with pytest.raises(ValueError, match="expected the search to be reset after an error"):
        search.select()


class Refusing:
    """Evaluates all positions but one."""

    def __init__(self, key: int, *, is_batch_dependent: bool = False) -> None:
        self.key = key
        self.is_batch_dependent = is_batch_dependent
        self._evaluator = HashedEvaluator(7, 1)

    def evaluate(self, views: Views) -> Evaluation:
        if any(views[row].state.key() == self.key for row in range(len(views))):
            raise MemoryError("no room for this one")
        return self._evaluator.evaluate(views)


@pytest.mark.parametrize("is_batch_dependent", [False, True])
def test_a_game_goes_on_with_its_tree_where_the_search_of_another_fails(is_batch_dependent: bool) -> None:
    game = NativeConnectFour()
    start = game.initial_state()
    bad = start.play([0]).play([0])
    config = SearchConfig(simulations=100, reuse=True)

    def decided(roots: list[State]) -> Answer:
        evaluator = Refusing(bad.key(), is_batch_dependent=is_batch_dependent)
        agent = SearchAgent(game, evaluator, config)
        seats = [Seat(0, np.random.default_rng(number)) for number in range(len(roots))]
        agent.act(game.views([(start, 0)]), seats[:1])
        return call_agent(agent, game.views([(root, 0) for root in roots]), seats)[0]

    search = Search(game, config)
    search.reset(game.views([(start, 0)]), [0])
    (first,) = search.run(HashedEvaluator(7, 1))
    good = start.play(first.principal_variation[0]).play(first.principal_variation[1])
    alone, beside = decided([good]), decided([good, bad])
    assert isinstance(alone, Decision)
    # More than this search made: what the first move found is still there.
    assert alone.nodes > 110
    assert isinstance(beside, Decision)
    assert (beside.action, beside.value, beside.nodes) == (alone.action, alone.value, alone.nodes)


def test_a_copy_of_a_kept_tree_is_gone_on_with_beside_it() -> None:
    game = NativeConnectFour()
    search, evaluator = begun(game), HashedEvaluator(7, 1)
    search.run(evaluator)
    (kept, _) = search.keep()

    def searched(tree: Any) -> tuple[int, list[int]]:
        search.reset(game.views([(game.initial_state(), 0)]), [0], [tree])
        (result,) = search.run(evaluator)
        return result.num_nodes, result.visits.tolist()

    twin = copy.copy(kept)
    found = searched(twin)
    assert searched(kept) == found
    assert found[0] > 300
    # Both are used up.
    assert searched(kept) == searched(copy.copy(twin)) != found


def test_an_evaluation_of_the_wrong_size_may_be_given_again() -> None:
    game = NativeConnectFour()
    search, evaluator = begun(game), UniformEvaluator(game.spec)
    views = search.select()
    with pytest.raises(ValueError, match="for 2 views"):
        search.backup(Evaluation(np.zeros((1, 7), np.float32), np.zeros(1, np.float32)))
    search.backup(evaluator.evaluate(views))
    assert [result.num_simulations for result in search.run(evaluator)] == [200, 200]


@pytest.mark.parametrize(
    ("logits", "value", "got"),
    [
        (np.zeros((2, 7)), np.zeros(2, np.float32), r"logits \[N, A\] as .* float32 array, got float64 \[2, 7\]"),
        (np.zeros(7, np.float32), np.zeros(2, np.float32), r"logits \[N, A\] as .* float32 array, got float32 \[7\]"),
        (np.zeros((2, 7), np.float32), [0.0, 0.0], r"value \[N\] or \[N, P\] as .* float32 array, got <class 'list'>"),
        (np.zeros((2, 7), np.float32), np.zeros((2, 2, 1), np.float32), r"array, got float32 \[2, 2, 1\]"),
        (np.zeros((2, 7), np.float32), np.zeros(2, "u1, f4")["f1"], r"an aligned float32 array, got float32 \[2\]"),
        (np.frombuffer(bytes(57), "f4", 14, 1).reshape(2, 7), np.zeros(2, "f4"), r"aligned .*, got float32 \[2, 7\]"),
    ],
)
def test_an_evaluation_of_another_type_is_named_in_a_line(logits: Any, value: Any, got: str) -> None:
    search = begun(NativeConnectFour())
    search.select()
    with pytest.raises(ValueError, match=f"{got}$"):
        search.backup(Evaluation(logits, value))


class Strangers(HashedTree):
    """A game in which somebody moves who does not play."""

    def initial_state(self, seed: int = 0) -> State:
        class Position(TreeState):
            @property
            def active_players(self) -> tuple[Player, ...]:
                return (0,) if not self.path else (2,)

            def legal_actions(self, player: Player) -> list[Action]:
                return [0, 1]

        return Position(self.rules)


def test_somebody_who_does_not_play_is_no_active_player() -> None:
    game = Strangers(RULES)
    with pytest.raises(ValueError, match="expected active players below 2, the game gave 2"):
        begun(game).run(UniformEvaluator(game.spec))
    views = game.views([(game.initial_state(), 0)])
    with pytest.raises(ValueError, match="expected active players below 2, the game gave 2"):
        playout_search(views, game.spec, [0], playouts=10, exploration=1.4)


@pytest.mark.parametrize("player", [2, 31, 32, 34])
def test_a_root_seen_by_nobody_who_plays_is_refused(player: Player) -> None:
    game = HashedTree(RULES)
    search = Search(game, SearchConfig(simulations=10))
    with pytest.raises(ValueError, match=f"where player {player} is active and searched"):
        search.reset(game.views([(game.initial_state(), player)]), [0])
    with pytest.raises(ValueError, match=f"where player {player} is active"):
        playout_search(game.views([(game.initial_state(), player)]), game.spec, [0], playouts=10)


FORKED = """
import os, sys
from games_for_tests import NativeConnectFour
from moemcts.evaluation import UniformEvaluator
from moemcts.search import Search, SearchConfig
def visits():
    game = NativeConnectFour()
    search = Search(game, SearchConfig(simulations=50, num_threads=2))
    search.reset(game.views([(game.initial_state(), 0)] * 4), list(range(4)))
    return [result.visits.tolist() for result in search.run(UniformEvaluator(game.spec))]
found = visits()
child = os.fork()
if not child:
    os._exit(found != visits())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
def test_a_process_that_is_forked_after_a_search_with_threads_searches() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120, env=environment)
