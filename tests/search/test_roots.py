"""A root searched with some of its actions, its lines, and a search that is watched and stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, NativeTicTacToe, TreeGame, TreeState
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import HashedEvaluator, reference_visits

from moemcts.evaluation import UniformEvaluator
from moemcts.game import Action, Game, Player
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig


def started(game, config, *, moves="", seed=0, **options):  # type: ignore[no-untyped-def]
    root = game.parse_state(moves)
    search = Search(game, config)
    search.reset(game.views([(root, root.active_players[0])]), [seed], **options)
    return search


def test_only_the_given_root_actions_are_searched_and_all_replies_to_them() -> None:
    game = NativeConnectFour()
    search = started(game, SearchConfig(simulations=300), root_actions=[[5, 2]])
    (result,) = search.run(HashedEvaluator(7, 1))
    assert list(result.actions) == [2, 5]
    assert result.visits.sum() == 300
    assert result.principal_variation[0] == [result.best_action]
    assert result.num_nodes > 250


@pytest.mark.parametrize(
    ("given_actions", "message"),
    [([], "one or more of"), ([7], r"player 0, one or more of \[0, 1, 2, 3, 4, 5, 6\], got \[7\]"), ([0, 9], "got")]
    + [(wrong, f"root actions to be 32-bit whole numbers, got {wrong[0]}") for wrong in ([-1, 3], [2**32], [2.5])],
)
def test_root_actions_that_are_not_legal_are_refused(given_actions, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        started(NativeConnectFour(), SearchConfig(), root_actions=[given_actions])


def test_a_root_action_that_no_policy_has_an_entry_for_is_refused() -> None:
    class Wide(TreeState):
        def legal_actions(self, player: Player) -> Sequence[Action]:
            return (*super().legal_actions(player), 9)

        def search_actions(self, player: Player) -> Sequence[Action]:
            return super().legal_actions(player)

    class Game(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Wide(self.rules)

    game = Game(TreeGame(5, 2, 4, 3, False))
    search = Search(game, SearchConfig(simulations=9))
    with pytest.raises(ValueError, match="expected actions below 4, the game gave 9"):
        search.reset(game.views([(game.initial_state(), 0)]), [0], root_actions=[[9]])


def test_root_actions_are_given_per_root() -> None:
    with pytest.raises(ValueError, match="for 1 roots"):
        started(NativeConnectFour(), SearchConfig(), root_actions=[None, None])


def test_a_tree_of_one_board_is_not_gone_on_with_on_another() -> None:
    large, small = plugins().game("hex"), plugins().game("hex?size=5")
    search = Search(large, SearchConfig(simulations=20))
    search.reset(large.views([(large.initial_state(), 0)]), [0])
    search.run(UniformEvaluator(large.spec))
    kept = search.keep()
    search = Search(small, SearchConfig(simulations=20))
    search.reset(small.views([(small.initial_state(), 0)]), [0], kept)
    (result,) = search.run(UniformEvaluator(small.spec))
    assert list(result.actions) == list(range(25))
    assert result.visits.sum() == 20


@pytest.mark.parametrize(
    "spec",
    [{"discount": 0.9}, {"utility_sum": None}, {"teams": ((0,), (1,))}, {"num_actions": 8}, {}],
)
def test_a_tree_of_another_game_is_not_gone_on_with(spec: dict[str, Any]) -> None:
    first, second = NativeConnectFour(), NativeConnectFour()
    second.spec = replace(first.spec, **spec)
    search = started(first, SearchConfig(simulations=30))
    search.run(UniformEvaluator(first.spec))
    kept = search.keep()
    search = Search(second, SearchConfig(simulations=30))
    search.reset(second.views([(second.initial_state(), 0)]), [0], kept)
    (result,) = search.run(UniformEvaluator(second.spec))
    # The first simulation of a new tree evaluates its root; those of the kept one are counted too.
    assert (result.visits.sum() > 30) == (not spec)


def test_a_tree_of_another_policy_map_or_plane_set_is_not_gone_on_with() -> None:
    plain = plugins().game("chess")
    for options in ("policy=multi", "planes=v1", "max_plies=900", "planes=v2"):
        other = plugins().game(f"chess?{options}")
        search = started(plain, SearchConfig(simulations=20), moves="startpos")
        search.run(UniformEvaluator(plain.spec))
        kept = search.keep()
        search = Search(other, SearchConfig(simulations=20))
        search.reset(other.views([(other.initial_state(), 0)]), [0], kept)
        (result,) = search.run(UniformEvaluator(other.spec))
        assert result.actions.tolist() == other.initial_state().legal_actions(0)
        assert (result.visits.sum() > 20) == (options == "planes=v2")


def test_a_restricted_root_is_not_gone_on_with_but_what_lies_below_it_is() -> None:
    game = NativeConnectFour()
    search = started(game, SearchConfig(simulations=100), root_actions=[[3]])
    search.run(HashedEvaluator(7, 1))
    search.reset(game.views([(game.initial_state(), 0)]), [0], search.keep())
    (again,) = search.run(HashedEvaluator(7, 1))
    assert list(again.actions) == list(range(7))
    assert again.visits.sum() == 100
    search = started(game, SearchConfig(simulations=100), root_actions=[[3]])
    search.run(HashedEvaluator(7, 1))
    search.reset(game.views([(game.parse_state("3"), 1)]), [0], search.keep())
    (below,) = search.run(HashedEvaluator(7, 1))
    assert list(below.actions) == list(range(7))
    assert below.visits.sum() == 199


def test_a_gumbel_root_is_not_gone_on_with_but_what_lies_below_it_is() -> None:
    game, planned = NativeConnectFour(), SearchConfig(simulations=100, root="gumbel")
    for moves, has_been_here in (("", False), ("3", True)):
        # Of the root below, which has more moves, none had a plan.
        search = started(game, planned, root_actions=[[2, 3]])
        search.run(HashedEvaluator(7, 1))
        again = Search(game, SearchConfig(simulations=100))
        root = game.parse_state(moves)
        again.reset(game.views([(root, root.active_players[0])]), [0], search.keep())
        (result,) = again.run(HashedEvaluator(7, 1))
        assert list(result.actions) == list(range(7))
        assert (result.visits.sum() > 100) == has_been_here
        assert result.best_action == result.actions[result.visits.argmax()]


def test_each_action_has_its_most_visited_line() -> None:
    game = NativeConnectFour()
    search = started(game, SearchConfig(simulations=400, first_play_urgency="draw"), moves="3 3 2")
    (result,) = search.run(HashedEvaluator(7, 1))
    lines = search.lines()
    assert [line[0] for line in lines] == [[action] for action in result.actions]
    assert lines[int(result.visits.argmax())] == result.principal_variation
    for line in lines:
        state = game.parse_state("3 3 2")
        for actions in line:
            assert actions[0] in state.legal_actions(state.active_players[0])
            state = state.play(actions)


def test_an_action_that_was_not_tried_has_no_line() -> None:
    search = started(NativeConnectFour(), SearchConfig(simulations=2))
    (result,) = search.run(UniformEvaluator(NativeConnectFour.spec))
    assert [bool(line) for line in search.lines()] == list(result.visits > 0)
    for number in (1, -1):
        with pytest.raises(IndexError, match=f"below 1, got {number}"):
            search.lines(number)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 200), st.integers(2, 4))
def test_lines_of_simultaneous_moves_are_joint_actions(seed: int, num_players: int) -> None:
    game = HashedTree(TreeGame(seed, num_players, 3, 5, True))
    root = game.initial_state()
    player = root.active_players[-1]
    search = Search(game, SearchConfig(simulations=80))
    search.reset(game.views([(root, player)]), [seed])
    (result,) = search.run(HashedEvaluator(3, 1))
    at = root.active_players.index(player)
    for action, line in zip(result.actions, search.lines(), strict=True):
        state = root
        assert not line or line[0][at] == action
        for actions in line:
            assert len(actions) == len(state.active_players)
            state = state.play(actions)


@pytest.mark.parametrize("leaves", [1, 5])
def test_a_search_can_be_watched_and_stopped_between_any_two_steps(leaves: int) -> None:
    game = NativeConnectFour()
    config = SearchConfig(simulations=60, leaves_per_tree=leaves)
    evaluator = HashedEvaluator(7, 1)
    search = started(game, config)
    (before,) = search.results()
    assert before.visits.sum() == before.num_simulations == 0
    seen = 0
    while len(views := search.select()):
        (waiting,) = search.results()
        assert np.isfinite(waiting.values).all()
        search.backup(evaluator.evaluate(views))
        (result,) = search.results()
        assert result.visits.sum() == result.num_simulations > seen - 1
        seen = result.num_simulations
    (watched,) = search.results()
    unwatched = reference_visits(game, game.initial_state(), config, evaluator, 0).visits(0)
    assert dict(zip(watched.actions, watched.visits, strict=True)) == unwatched


def test_a_tree_kept_while_leaves_wait_forgets_them() -> None:
    game = NativeConnectFour()
    search = started(game, SearchConfig(simulations=100, leaves_per_tree=8))
    evaluator = HashedEvaluator(7, 1)
    for _ in range(4):
        search.backup(evaluator.evaluate(search.select()))
    (stopped,) = search.results()
    assert len(search.select()) > 1
    search.reset(game.views([(game.initial_state(), 0)]), [0], search.keep())
    (resumed,) = search.run(evaluator)
    assert resumed.num_simulations == 100
    assert resumed.visits.sum() == stopped.visits.sum() + 100


def test_evaluations_that_come_after_the_trees_were_handed_out_are_refused() -> None:
    game = NativeConnectFour()
    search = started(game, SearchConfig(simulations=100, leaves_per_tree=8))
    evaluator = HashedEvaluator(7, 1)
    evaluation = evaluator.evaluate(search.select())
    search.keep()
    assert search.results() == []
    assert len(search.select()) == 0
    with pytest.raises(ValueError, match="row 0 waits for no evaluation"):
        search.backup(evaluation, np.array([0]))


def test_a_root_that_is_refused_leaves_an_empty_search() -> None:
    game = NativeConnectFour()
    search = started(game, SearchConfig(simulations=100))
    search.select()
    with pytest.raises(ValueError, match="one or more of"):
        search.reset(game.views([(game.initial_state(), 0)]), [0], root_actions=[[9]])
    assert search.results() == []
    assert len(search.select()) == 0


def test_limits_count_anew_for_every_search() -> None:
    game = NativeTicTacToe()
    search = started(game, SearchConfig(simulations=None, seconds=0.02))
    for _ in range(3):
        search.reset(game.views([(game.initial_state(), 0)]), [0])
        (result,) = search.run(UniformEvaluator(game.spec))
        assert result.num_simulations > 50


@pytest.mark.parametrize(
    "other",
    [HashedTree(TreeGame(seed=1, num_players=2, branching=2, depth=3, simultaneous=False)), NativeConnectFour()],
)
def test_roots_of_another_game_are_told_from_those_of_the_searchs_own(other: Game) -> None:
    search = Search(NativeTicTacToe(), SearchConfig(simulations=1))
    roots = other.views([(other.initial_state(), 0)])
    with pytest.raises(TypeError, match=f"expected TicTacToeViews, as views .*, got {type(roots).__name__}$"):
        search.reset(roots, [0])
