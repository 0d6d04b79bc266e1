"""The search stops where it should, repeats itself for a seed, keeps trees, and refuses nonsense."""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from copy import copy

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, NativeTicTacToe, Ring, TreeGame, TreeState, Walk
from hypothesis import given, settings
from hypothesis import strategies as st

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.errors import MoemctsError
from moemcts.evaluation import Evaluation, RolloutEvaluator, UniformEvaluator
from moemcts.experts import ExpertSet
from moemcts.game import MAX_PLAYERS, Action, Player, Views
from moemcts.gates import PlyGate
from moemcts.plugins import plugins
from moemcts.search import Search, SearchAgent, SearchConfig
from moemcts.search.rollouts import TruncatedRollouts


def search(game, config, *, seed=0, moves="", evaluator=None):  # type: ignore[no-untyped-def]
    root = game.parse_state(moves)
    found = Search(game, config)
    found.reset(game.views([(root, root.active_players[0])]), [seed])
    (result,) = found.run(evaluator or UniformEvaluator(game.spec))
    return result


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(1, 16))
def test_visits_sum_to_the_simulations(simulations: int, leaves: int) -> None:
    result = search(NativeConnectFour(), SearchConfig(simulations=simulations, leaves_per_tree=leaves))
    assert result.visits.sum() == simulations == result.num_simulations


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_uniform_priors_have_their_share_at_every_node(share: float) -> None:
    policy = np.arange(7, dtype=np.float32)

    class Fixed:
        @staticmethod
        def evaluate(views):  # type: ignore[no-untyped-def]
            return Evaluation(np.tile(policy, (len(views), 1)), np.zeros(len(views), dtype=np.float32))

    config = SearchConfig(simulations=60, uniform_share=share)
    result = search(NativeConnectFour(), config, evaluator=Fixed())
    softmax = np.exp(policy) / np.exp(policy).sum()
    assert result.priors == pytest.approx((1 - share) * softmax + share / 7, abs=1e-6)
    # What the policy says is not heard below the root either.
    even = search(NativeConnectFour(), SearchConfig(simulations=60)).visits
    assert (result.visits.tolist() == even.tolist()) is (share == 1)


def test_files_do_not_name_a_share_of_none() -> None:
    assert "uniform_share" not in SearchConfig().model_dump()
    assert SearchConfig(uniform_share=0.5).model_dump()["uniform_share"] == 0.5


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(1, 16))
def test_the_tree_has_no_more_nodes_than_allowed(nodes: int, leaves: int) -> None:
    config = SearchConfig(simulations=None, nodes=nodes, leaves_per_tree=leaves)
    assert search(NativeConnectFour(), config).num_nodes == nodes


@pytest.mark.parametrize("replies", ["kept", "drawn"])
@pytest.mark.parametrize("name", ["connect-four", "chess"])
def test_a_descent_under_way_is_all_that_exceeds_the_nodes_where_opponents_are_asked(name: str, replies: str) -> None:
    game = plugins().game(name)
    for nodes, leaves in itertools.product((2, 3, 10, 50), (1, 8, 64)):
        config = SearchConfig(simulations=None, nodes=nodes, leaves_per_tree=leaves, replies=replies)
        found = Search(game, config, opponents=RandomAgent())
        found.reset(game.views([(game.initial_state(), 0)]), [0])
        (result,) = found.run(UniformEvaluator(game.spec))
        assert result.num_nodes <= nodes + 1


def test_nodes_alone_stop_a_search_that_finds_nothing_new() -> None:
    result = search(NativeTicTacToe(), SearchConfig(simulations=None, nodes=10_000), moves="0 1 2 4 3 5 7")
    assert result.num_nodes < 10_000
    assert result.num_simulations == 20_000


def test_time_stops_a_search() -> None:
    started = time.monotonic()
    result = search(NativeConnectFour(), SearchConfig(simulations=None, seconds=0.05))
    # On a machine that is busy it may come back late.
    assert 0.05 <= time.monotonic() - started < 30
    assert result.num_simulations > 100


def test_time_counts_from_the_beginning_of_a_reset() -> None:
    class Slow(TreeState):
        def search_actions(self, player: Player) -> Sequence[Action]:
            time.sleep(0.2)
            return super().search_actions(player)

    game = HashedTree(TreeGame(3, 2, 3, 5, False))
    one = Search(game, SearchConfig(simulations=1000, seconds=0.1))
    one.reset(game.views([(Slow(game.rules), 0)]), [0])
    (result,) = one.run(UniformEvaluator(game.spec))
    assert result.num_simulations == 0
    assert result.priors.sum() == pytest.approx(1)


def test_a_search_without_limits_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a limit"):
        SearchConfig(simulations=None)


@pytest.mark.parametrize(
    "numbers",
    [
        {"seconds": math.inf},
        {"c_init": math.inf},
        {"simulations": 2**32},
        {"nodes": 2**31},
        {"rollout_plies": 2**33},
        {"cache_size": 2**32},
    ],
)
def test_numbers_that_no_search_counts_with_are_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"finite number|less than or equal to"):
        SearchConfig.model_validate(numbers)
    assert search(NativeTicTacToe(), SearchConfig(simulations=10, seconds=1e30)).num_simulations == 10


@pytest.mark.parametrize("num_threads", [1, 2])
def test_equal_seeds_give_equal_results(num_threads: int) -> None:
    game = NativeConnectFour()
    config = SearchConfig(simulations=100, noise_fraction=0.3, num_threads=num_threads, leaves_per_tree=3)
    roots = game.views([(game.initial_state(), 0)] * 6)
    results = []
    for _ in range(2):
        one = Search(game, config)
        one.reset(roots, [1, 2, 3, 1, 2, 3])
        results.append([list(result.visits) for result in one.run(UniformEvaluator(game.spec))])
    assert results[0] == results[1]
    assert results[0][:3] == results[0][3:]
    assert results[0][0] != results[0][1]


def test_a_tree_does_not_depend_on_the_trees_beside_it() -> None:
    game = NativeConnectFour()
    config = SearchConfig(simulations=60, leaves_per_tree=4)
    states = [game.parse_state(moves) for moves in ("", "3", "3 3", "0 6 3")]
    alone = [search(game, config, seed=i, moves=moves).visits for i, moves in enumerate(("", "3", "3 3", "0 6 3"))]
    together = Search(game, config)
    together.reset(game.views([(state, state.active_players[0]) for state in states]), [0, 1, 2, 3])
    for one, other in zip(alone, together.run(UniformEvaluator(game.spec)), strict=True):
        assert list(one) == list(other.visits)


def test_noise_changes_priors_and_keeps_their_sum() -> None:
    config = SearchConfig(simulations=50, noise_fraction=0.25)
    noisy = search(NativeConnectFour(), config, seed=3)
    assert noisy.priors.sum() == pytest.approx(1, abs=1e-6)
    assert noisy.priors.std() > 0.01
    assert (noisy.priors >= 0.75 / 7 - 1e-6).all()


def test_search_finds_the_winning_move_and_the_only_defence() -> None:
    win = search(NativeTicTacToe(), SearchConfig(simulations=200), moves="0 3 1 4")
    assert win.best_action == 2
    assert win.values[list(win.actions).index(2)] == 1
    assert search(NativeTicTacToe(), SearchConfig(simulations=400), moves="0 4 1").best_action == 2


def test_rollouts_guide_the_search() -> None:
    game = NativeConnectFour()
    evaluator = RolloutEvaluator(game.spec, num_rollouts=2, seed=1)
    result = search(game, SearchConfig(simulations=100), moves="3 0 3 0 3 6", evaluator=evaluator)
    assert result.best_action == 3


def test_the_principal_variation_is_the_most_visited_line() -> None:
    result = search(NativeTicTacToe(), SearchConfig(simulations=400), moves="0 3 1")
    assert result.principal_variation[0] == [result.best_action]
    assert len(result.principal_variation) >= 3


def test_kept_trees_are_gone_on_with() -> None:
    game = NativeConnectFour()
    config = SearchConfig(simulations=200)
    one = Search(game, config)
    one.reset(game.views([(game.initial_state(), 0)]), [0])
    (first,) = one.run(UniformEvaluator(game.spec))
    kept = one.keep()
    after = game.initial_state().play([first.best_action]).play([0])
    one.reset(game.views([(after, 0)]), [0], kept)
    (second,) = one.run(UniformEvaluator(game.spec))
    assert second.num_simulations == 200
    assert second.visits.sum() > 200
    one.reset(game.views([(after, 0)]), [0])
    (fresh,) = one.run(UniformEvaluator(game.spec))
    assert fresh.visits.sum() == 200


def test_a_kept_tree_holds_what_a_search_below_it_would_have_found() -> None:
    game = NativeTicTacToe()
    one = Search(game, SearchConfig(simulations=5000))
    one.reset(game.views([(game.initial_state(), 0)]), [0])
    (first,) = one.run(UniformEvaluator(game.spec))
    child = game.initial_state().play([4])
    kept = one.keep()
    one.config = SearchConfig(simulations=1)
    again = Search(game, SearchConfig(simulations=1))
    again.reset(game.views([(child, 1)]), [0], kept)
    (second,) = again.run(UniformEvaluator(game.spec))
    # The child's visits are those of the edge that led to it, its own evaluation among them, and the one made now.
    assert second.visits.sum() == first.visits[list(first.actions).index(4)]
    assert second.value == pytest.approx(-first.values[list(first.actions).index(4)], abs=0.05)


def test_a_kept_tree_that_does_not_hold_the_root_is_dropped() -> None:
    game = NativeTicTacToe()
    one = Search(game, SearchConfig(simulations=20))
    one.reset(game.views([(game.parse_state("0 1"), 0)]), [0])
    one.run(UniformEvaluator(game.spec))
    one.reset(game.views([(game.initial_state(), 0)]), [0], one.keep())
    (result,) = one.run(UniformEvaluator(game.spec))
    assert result.visits.sum() == 20


def test_an_agent_that_keeps_its_trees_plays_whole_games() -> None:
    game = NativeConnectFour()
    agent = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=30, reuse=True))
    states = [game.initial_state() for _ in range(3)]
    seats = [[Seat(player, np.random.default_rng([i, player])) for player in (0, 1)] for i in range(3)]
    while any(state.active_players for state in states):
        for i, state in enumerate(states):
            for player in state.active_players:
                (decision,) = agent.act(game.views([(state, player)]), [seats[i][player]])
                states[i] = state.play([decision.action])
    assert all(abs(state.returns().sum()) == 0 for state in states)


def test_a_position_that_comes_again_later_is_not_that_of_the_kept_tree() -> None:
    plies: dict[str, list[int]] = {"early": [], "late": []}

    class Noted:
        def __init__(self, name: str) -> None:
            self._plies = plies[name]

        def evaluate(self, views: Views) -> Evaluation:
            self._plies += views.plies().tolist()
            return UniformEvaluator(game.spec).evaluate(views)

    game = Ring()
    experts = ExpertSet(PlyGate([6]), [Noted("early"), Noted("late")])
    agent = SearchAgent(game, experts, SearchConfig(simulations=16, reuse=True))
    for ply, phase in ((2, "early"), (10, "late")):
        for found in plies.values():
            found.clear()
        agent.act(game.views([(Walk(0, ply), 0)]), [Seat(0, np.random.default_rng(0))])
        assert plies[phase][0] == ply
    assert not plies["early"]


def test_a_tree_of_other_opponents_is_not_gone_on_with() -> None:
    game = plugins().game("pommerman")
    state = game.initial_state(0)
    evaluator = UniformEvaluator(game.spec)
    first = Search(game, SearchConfig(simulations=40))
    stop = plugins().agent("stop", game)
    grown: list[int] = []
    for opponents in (None, stop):
        first.reset(game.views([(state, 0)]), [0])
        first.run(evaluator)
        second = Search(game, SearchConfig(simulations=8), opponents=opponents)
        second.reset(game.views([(state, 0)]), [0], first.keep())
        (result,) = second.run(evaluator)
        grown.append(int(result.visits.sum()))
    assert grown[0] > 40
    assert grown[1] <= 8


@pytest.mark.parametrize("replies", ["kept", "drawn"])
def test_a_tree_is_gone_on_with_against_the_opponents_it_was_grown_against(replies: str) -> None:
    game = plugins().game("pommerman")
    roots = game.views([(game.initial_state(0), 0)])
    config = SearchConfig.model_validate({"simulations": 40, "replies": replies})

    def simple() -> Agent:
        return plugins().agent("simple", game)

    one, other, stop, simplest = RandomAgent(), RandomAgent(), plugins().agent("stop", game), simple()
    for first, second, is_kept in (
        # Native ones by what they play, whatever they remember.
        (simplest, simple(), True),
        (simplest, stop, False),
        ({1: stop, 2: simplest, 3: stop}, {1: stop, 2: simple(), 3: stop}, True),
        ({1: stop, 2: simplest, 3: stop}, {1: simplest, 2: stop, 3: stop}, False),
        # Those in Python by who they are.
        (one, one, True),
        (one, other, False),
        ({1: one, 2: stop, 3: other}, {1: one, 2: stop, 3: other}, True),
        ({1: one, 2: stop, 3: other}, {1: other, 2: stop, 3: one}, False),
        ({1: one, 2: stop, 3: other}, {1: one, 2: simplest, 3: other}, False),
    ):
        grown = Search(game, config, opponents=first)
        grown.reset(roots, [0])
        grown.run(UniformEvaluator(game.spec))
        again = Search(game, config, opponents=second)
        again.reset(roots, [0], [copy(tree) for tree in grown.keep()])
        (result,) = again.run(UniformEvaluator(game.spec))
        assert result.visits.sum() == (80 if is_kept else 40), (first, second)


def test_temperature_spreads_the_moves_and_ends() -> None:
    game = NativeConnectFour()
    config = SearchConfig(simulations=50, temperature=1.0, temperature_plies=2)
    agent = SearchAgent(game, UniformEvaluator(game.spec), config)
    opening = game.initial_state()
    seats = [Seat(0, np.random.default_rng(i)) for i in range(30)]
    assert len({one.action for one in agent.act(game.views([(opening, 0)] * 30), seats)}) > 3
    later = game.parse_state("3 3")
    assert len({one.action for one in agent.act(game.views([(later, 0)] * 30), seats)}) == 1


def test_queued_experts_see_only_their_phase_and_full_batches() -> None:
    game = NativeConnectFour()
    gate = PlyGate([2, 4])
    sizes: list[int] = []

    class Watcher:
        def __init__(self, phase: int) -> None:
            self.phase = phase

        def evaluate(self, views):  # type: ignore[no-untyped-def]
            assert (gate.phases(views) == self.phase).all()
            sizes.append(len(views))
            return UniformEvaluator(game.spec).evaluate(views)

    experts = ExpertSet(gate, [Watcher(0), Watcher(1), Watcher(2)])
    one = Search(game, SearchConfig(simulations=100, leaves_per_tree=4))
    one.reset(game.views([(game.initial_state(), 0)] * 16), list(range(16)))
    for result in one.run_queued(experts, batch_size=32):
        assert result.visits.sum() == 100
    assert max(sizes) == 32
    # Leaves of 16 trees, four each, whose phases part: by `each` no batch would be as full for long.
    assert np.mean(sizes) > 24


@pytest.mark.parametrize(
    ("logits", "value", "message"),
    [
        (np.full((1, 7), np.nan, np.float32), np.zeros(1, np.float32), "NaN"),
        (np.zeros((1, 7), np.float32), np.array([np.inf], np.float32), "NaN"),
        (np.zeros((1, 6), np.float32), np.zeros(1, np.float32), "logits of 7 actions, got 6"),
        (np.zeros((2, 7), np.float32), np.zeros(2, np.float32), "for 1 views"),
        (np.zeros((1, 7), np.float64), np.zeros(1, np.float32), "float32"),
    ],
)
def test_evaluations_that_are_wrong_are_refused(logits, value, message) -> None:  # type: ignore[no-untyped-def]
    game = NativeConnectFour()
    one = Search(game, SearchConfig(simulations=10))
    one.reset(game.views([(game.initial_state(), 0)]), [0])
    one.select()
    with pytest.raises(ValueError, match=message):
        one.backup(Evaluation(logits, value))


def test_a_root_whose_player_is_not_active_is_refused() -> None:
    game = NativeTicTacToe()
    one = Search(game, SearchConfig(simulations=10))
    with pytest.raises(ValueError, match="expected a root where player 1 is active"):
        one.reset(game.views([(game.initial_state(), 1)]), [0])


@pytest.mark.parametrize("opponents", [None, "careful"])
def test_a_root_whose_player_is_not_active_is_refused_whoever_plays_on(opponents: str | None) -> None:
    game = plugins().game("connect-four")
    found = Search(game, SearchConfig(), opponents=opponents and plugins().agent(opponents, game))
    with pytest.raises(ValueError, match=r"where player 1 is active and searched, got active players \[0\]"):
        found.reset(game.views([(game.initial_state(), 1)]), [0])


@pytest.mark.parametrize("reply", [-1, 3, 99])
def test_an_opponent_that_plays_what_is_not_legal_is_named(reply: int) -> None:
    class Stubborn:
        name = "stubborn"

        def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
            return [Decision(action=reply) for _ in seats]

    game = plugins().game("connect-four")
    found = Search(game, SearchConfig(simulations=50), opponents=Stubborn())
    state = game.initial_state()
    for _ in range(6):
        state = state.play([3])
    found.reset(game.views([(state, 0)]), [0])
    told = f"stubborn, believed to be the opponent: expected a legal .* got {reply}"
    with pytest.raises(MoemctsError, match=told):
        found.run(UniformEvaluator(game.spec))
    with pytest.raises(MoemctsError, match=told):
        TruncatedRollouts(game, UniformEvaluator(game.spec), 2, agents=Stubborn()).evaluate(game.views([(state, 0)]))


def test_an_opponent_written_in_python_remembers_nothing_of_other_branches_and_is_warned_of() -> None:
    found: list[int] = []

    class Counting:
        name = "counting"

        def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
            for seat in seats:
                seat.memory = (seat.memory or 0) + 1
            found.extend(seat.memory for seat in seats)
            return RandomAgent().act(views, seats)  # type: ignore[return-value]

    game = NativeTicTacToe()
    search = Search(game, SearchConfig(simulations=100, leaves_per_tree=4), opponents=Counting())
    search.reset(game.views([(game.initial_state(), 0)] * 2), [0, 1])
    with pytest.warns(RuntimeWarning, match="counting, believed to be the opponent, remembers something: in a search"):
        search.run(UniformEvaluator(game.spec))
    assert len(found) > 50
    assert set(found) == {1}


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_an_agent_holds_no_large_tree_between_two_moves(is_interrupted: bool) -> None:
    class Position(TreeState):
        """One that only this search has; few games are short."""

        active_players = property(lambda self: (self.ply % 2,) if self.ply < 20 else ())  # type: ignore[assignment]

        def legal_actions(self, player: Player) -> Sequence[Action]:
            return range(9)

    class Large(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    class Stopping(UniformEvaluator):
        def evaluate(self, views: Views) -> Evaluation:
            if is_interrupted and views[0].state.ply >= 2:
                raise ArithmeticError
            return super().evaluate(views)

    game = Large(TreeGame(seed=5, num_players=2, branching=9, depth=20, simultaneous=False))
    config = SearchConfig(simulations=200 if is_interrupted else 15_000, leaves_per_tree=64)
    agent, root = SearchAgent(game, Stopping(game.spec), config), game.initial_state()
    views, seats = game.views([(root, 0)]), [Seat(0, np.random.default_rng(0))]
    with pytest.raises(ArithmeticError) if is_interrupted else nullcontext():
        assert agent.act(views, seats)[0].nodes > 10_000
    gc.collect()
    assert sum(type(one) is Position for one in gc.get_objects()) == 1


def test_more_players_than_a_search_holds_are_refused() -> None:
    game = NativeTicTacToe()
    many = {**SearchConfig().options(game.spec), "num_players": MAX_PLAYERS + 1}
    with pytest.raises(ValueError, match=f"expected 1 to {MAX_PLAYERS} players, got {MAX_PLAYERS + 1}"):
        game.search_type()(game, many)


def test_an_exception_in_a_python_game_comes_through() -> None:
    class Broken(HashedTree):
        def initial_state(self, seed: int = 0):  # type: ignore[no-untyped-def]
            state = super().initial_state(seed)
            object.__setattr__(state, "rules", TreeGame(0, 2, 0, 3, False))
            return state

    game = Broken(TreeGame(0, 2, 3, 3, False))
    one = Search(game, SearchConfig(simulations=10))
    with pytest.raises(ZeroDivisionError):
        one.reset(game.views([(game.initial_state(), 0)]), [0])
