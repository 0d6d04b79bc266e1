"""Ends of games prove what lies above them; the search knows it, reports it, and plays by it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, NativeTicTacToe, TreeGame, TreeState
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import HashedEvaluator, native_results, searched_alike

from moemcts.agents import Decision, Seat
from moemcts.evaluation import UniformEvaluator
from moemcts.game import FloatArray
from moemcts.plugins import plugins
from moemcts.search import Search, SearchAgent, SearchConfig


class DecidedState(TreeState):
    """Wins, draws and losses instead of any numbers."""

    def returns(self) -> FloatArray:
        return np.sign(np.round(super().returns() * 1.5)).astype(np.float32)


class DecidedTree(HashedTree):
    """A random game that is won, drawn or lost."""

    def initial_state(self, seed: int = 0) -> DecidedState:
        return DecidedState(self.rules)


configs = st.builds(
    SearchConfig,
    simulations=st.integers(1, 150),
    nodes=st.none() | st.integers(1, 80),
    first_play_urgency=st.sampled_from(["loss", "draw", "parent", "reduction"]),
    virtual_loss=st.sampled_from([0.0, 1.0]),
    leaves_per_tree=st.sampled_from([1, 2, 5]),
    solver=st.just(True),
)
rules = st.builds(
    TreeGame,
    seed=st.integers(0, 1000),
    num_players=st.just(2),
    branching=st.integers(1, 4),
    depth=st.integers(1, 7),
    simultaneous=st.booleans(),
)
varied_rules = st.builds(
    TreeGame,
    seed=st.integers(0, 1000),
    num_players=st.just(2),
    branching=st.integers(1, 4),
    depth=st.integers(1, 7),
    simultaneous=st.booleans(),
    has_chance=st.booleans(),
    has_rewards=st.booleans(),
    discount=st.sampled_from([1.0, 1.0, 0.9]),
)


@pytest.fixture(params=[1, 2, 8], scope="module")
def _interval(request: pytest.FixtureRequest) -> Iterator[None]:
    """One more descent after so many simulations looks for a proof."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moemcts.search.config.PROOF_INTERVAL", request.param)
        yield


@pytest.mark.usefixtures("_interval")
@settings(max_examples=150, deadline=None)
@given(rules | varied_rules, configs, st.sampled_from([HashedTree, DecidedTree]), st.integers(0, 2**63))
def test_native_proofs_are_those_of_the_definition(rules, config, kind, seed):  # type: ignore[no-untyped-def]
    root, player, _, expected, result = searched_alike(kind(rules), config, seed)
    assert result.num_nodes == expected.num_nodes
    assert result.plies_left == expected.root.plies_left
    if result.plies_left is not None:
        assert result.value == pytest.approx(float(expected.root.values[player]))
    if len(root.active_players) > 1:
        assert not result.proven.any()
        return
    for i in range(len(result.actions)):
        child = expected.root.children.get((i,))
        is_known = child is not None and child.plies_left is not None and not child.steps
        assert result.proven[i] == is_known
        if is_known:
            assert result.proof_plies[i] == child.plies_left + 1
            assert result.values[i] == pytest.approx(float(child.values[player]))


def minimax(state, player: int) -> float:  # type: ignore[no-untyped-def]
    @cache
    def value(path) -> float:  # type: ignore[no-untyped-def]
        at = type(state)(state.rules, path)
        if not at.active_players:
            return float(at.returns()[player])
        (mover,) = at.active_players
        return (max if mover == player else min)(value((*path, (a,))) for a in at.legal_actions(mover))

    return value(state.path)


@settings(max_examples=150, deadline=None)
@given(rules.filter(lambda r: not r.simultaneous), st.integers(0, 2**63), st.sampled_from([HashedTree, DecidedTree]))
def test_what_is_proven_is_what_minimax_finds(rules, seed, kind) -> None:  # type: ignore[no-untyped-def]
    game = kind(rules)
    root = game.initial_state()
    config = SearchConfig(simulations=400, leaves_per_tree=3, solver=True, first_play_urgency="draw")
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    (result,) = native_results(game, [(root, 0)], config, evaluator, [seed])
    for action, value in zip(result.actions[result.proven], result.values[result.proven], strict=True):
        assert value == pytest.approx(minimax(root.play([int(action)]), 0), abs=1e-6)
    if result.plies_left is not None:
        assert result.value == pytest.approx(minimax(root, 0), abs=1e-6)
        chosen = list(result.actions).index(result.best_action)
        assert result.proven[chosen]
        assert result.values[chosen] == pytest.approx(result.value)
        assert result.proof_plies[chosen] == result.plies_left == len(result.principal_variation)
        assert result.principal_variation[0] == [result.best_action]


def solved(moves: str, simulations: int = 20_000, **options):  # type: ignore[no-untyped-def]
    game = NativeTicTacToe()
    root = game.parse_state(moves)
    config = SearchConfig(simulations=simulations, solver=True, **options)
    (result,) = native_results(game, [(root, root.active_players[0])], config, HashedEvaluator(9, 1), [0])
    return result


@pytest.mark.parametrize("moves", ["1 4 0 2", "0 4 8 1 7 6", "4 0 8 2 1 7 6"])
def test_a_draw_is_proven_where_all_else_loses(moves: str) -> None:
    result = solved(moves)
    assert result.value == 0
    assert result.plies_left is not None
    assert result.num_simulations < 20_000
    assert (result.values[result.proven] <= 0).all()


class Drawn(TreeState):
    """A draw at once, or one after one more move; zero as the last mover counts it, so that it has a sign."""

    @property
    def active_players(self) -> tuple[int, ...]:
        return {(): (0,), ((1,),): (1,)}.get(self.path, ())

    def legal_actions(self, player: int) -> list[int]:
        return [0] if self.path else [0, 1]

    def returns(self) -> FloatArray:
        return np.array([0.0, -0.0], np.float32) * np.float32(1 if self.ply == 1 else -1)


def test_of_draws_the_latest_is_proven_whatever_sign_their_zeros_have() -> None:
    game = HashedTree(TreeGame(seed=0, num_players=2, branching=2, depth=2, simultaneous=False))
    root = Drawn(game.rules)
    assert [np.signbit(root.play([0]).returns()[0]), np.signbit(root.play([1]).play([0]).returns()[0])] == [False, True]
    config = SearchConfig(simulations=20, solver=True)
    _, _, _, expected, result = searched_alike(game, config, 0, root=root)
    assert result.plies_left == expected.root.plies_left == 2
    assert result.principal_variation == [[1], [0]]


def test_a_win_in_one_ends_the_search() -> None:
    result = solved("0 3 1 4")
    assert result.best_action == 2
    assert (result.value, result.plies_left) == (1, 1)
    assert result.num_simulations < 50
    assert result.policy(9)[2] == 1


def test_a_fork_is_lost_and_defended_for_as_long_as_possible() -> None:
    # The first player holds three corners, and two lines with a free field in the middle.
    result = solved("0 4 8 2 6")
    assert result.value == -1
    assert result.plies_left == result.proof_plies.max() == 2
    assert len(result.principal_variation) == 2


def test_what_is_proven_to_lose_is_neither_searched_on_nor_played() -> None:
    result = solved("0 4 1", simulations=60, first_play_urgency="draw")
    lost = result.proven & (result.values == -1)
    assert lost.any()
    assert not result.weights[lost].any()
    assert result.best_action == 2
    assert 0 < result.policy(9).sum() == pytest.approx(1)


def test_agents_win_and_lose_slowly_by_proof() -> None:
    game = NativeConnectFour()
    agent = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=2000, solver=True))
    state = game.parse_state("3 0 3 0 3 6")
    (decision,) = agent.act(game.views([(state, 0)]), [Seat(0, np.random.default_rng(0))])
    assert decision.action == 3


def test_players_who_reply_on_their_own_prove_nothing() -> None:
    game = NativeTicTacToe()

    class First:
        name = "first"

        def act(self, views, seats):  # type: ignore[no-untyped-def]
            return [Decision(action=int(np.flatnonzero(mask)[0])) for mask in views.legal_mask()]

    search = Search(game, SearchConfig(simulations=300, solver=True), opponents=First())
    search.reset(game.views([(game.parse_state("0 3 1 4"), 0)]), [0])
    (result,) = search.run(UniformEvaluator(game.spec))
    assert result.num_simulations == 300
    assert not result.proven.any()
    assert result.plies_left is None


def test_a_kept_tree_keeps_its_proofs() -> None:
    game = NativeTicTacToe()
    search = Search(game, SearchConfig(simulations=5000, solver=True))
    search.reset(game.views([(game.parse_state("0 4 8 1"), 0)]), [0])
    search.run(UniformEvaluator(game.spec))
    (proof,) = search.results()
    assert proof.plies_left is not None
    state = game.parse_state("0 4 8 1").play([proof.best_action])
    search.reset(game.views([(state, 1)]), [0], search.keep())
    (after,) = search.run(UniformEvaluator(game.spec))
    assert after.num_simulations == 0
    assert (after.value, after.plies_left) == (-proof.value, proof.plies_left - 1)


@pytest.mark.parametrize("solvers", [(False, True), (True, False, True)])
def test_a_tree_may_be_kept_by_searches_with_and_without_a_solver(solvers: tuple[bool, ...]) -> None:
    game = NativeTicTacToe()
    evaluator = HashedEvaluator(9, 1)
    state, kept = game.parse_state("4"), None
    for solver in solvers:
        search = Search(game, SearchConfig(simulations=100, solver=solver, first_play_urgency="draw"))
        search.reset(game.views([(state, state.active_players[0])]), [0], kept)
        (result,) = search.run(evaluator)
        assert result.num_simulations == 100
        state, kept = state.play([result.best_action]), search.keep()


@pytest.mark.parametrize("solver", [False, True])
def test_what_a_solver_proved_is_known_to_solvers_alone(solver: bool) -> None:
    game = NativeTicTacToe()
    evaluator = UniformEvaluator(game.spec)
    root = game.parse_state("6 3 7 4")
    search = Search(game, SearchConfig(simulations=200, solver=True))
    search.reset(game.views([(root, 0)]), [0])
    (proven,) = search.run(evaluator)
    assert (proven.best_action, proven.plies_left) == (8, 1)
    again = Search(game, SearchConfig(simulations=200, solver=solver))
    again.reset(game.views([(root, 0)]), [0], search.keep())
    (result,) = again.run(evaluator)
    assert result.best_action == 8
    assert (result.plies_left, result.num_simulations) == ((1, 0) if solver else (None, 200))


@pytest.mark.parametrize("leaves", [8, 64])
def test_looking_for_proofs_cuts_no_batch_short(leaves: int) -> None:
    game = NativeConnectFour()
    evaluator = UniformEvaluator(game.spec)
    filled = []
    for solver in (False, True):
        search = Search(game, SearchConfig(simulations=3000, leaves_per_tree=leaves, solver=solver))
        search.reset(game.views([(game.initial_state(0), 0)]), [0])
        (result,) = search.run(evaluator)
        assert result.visits.sum() == result.num_simulations == 3000
        batches, views = search.counts
        filled.append(views / batches)
    # PUCT alone runs into leaves that wait as well.
    assert filled[1] > 0.95 * filled[0]


@pytest.mark.parametrize(
    ("fen", "mate_in_plies"),
    [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1),
        ("7k/8/8/8/8/8/R7/1R4K1 w - - 0 1", 3),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 3),  # Morphy's problem, mate in two by Ra6
    ],
)
def test_mates_are_proven_and_counted_in_plies(fen: str, mate_in_plies: int) -> None:
    game = plugins().game("chess")
    root = game.parse_state(fen)
    config = SearchConfig(simulations=30_000, solver=True, first_play_urgency="draw", leaves_per_tree=8)
    search = Search(game, config)
    search.reset(game.views([(root, root.active_players[0])]), [0])
    (result,) = search.run(UniformEvaluator(game.spec))
    assert result.value == 1
    assert result.plies_left == mate_in_plies == len(result.principal_variation)
    state = root
    for actions in result.principal_variation:
        state = state.play(actions)
    assert state.returns()[root.active_players[0]] == 1
