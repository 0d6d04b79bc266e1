"""Truncated rollouts: values from further on, by agents, natively and in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeTicTacToe, TreeGame, TreeState

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.errors import UnlawfulGame, UsageError
from moemcts.evaluation import Evaluation, RolloutEvaluator, UniformEvaluator
from moemcts.game import FloatArray, Game, Views
from moemcts.naming import resolve_agent
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.rollouts import TruncatedRollouts
from moemcts.testing import check_agent


class Plies:
    """Values a view by how far its game has gone, and says how often it was asked."""

    def __init__(self, num_actions: int) -> None:
        self._num_actions = num_actions
        self.asked = 0

    def evaluate(self, views: Views) -> Evaluation:
        self.asked += 1
        logits = np.tile(np.arange(self._num_actions, dtype=np.float32), (len(views), 1))
        return Evaluation(logits, (views.plies() / 1000).astype(np.float32))


class Slow:
    """A native agent without its native part: it is asked through Python."""

    def __init__(self, agent: Agent) -> None:
        self.name = "slow"
        self._agent = agent

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return self._agent.act(views, seats)


def starts(game: Game, num: int) -> Views:
    pairs = [
        (game.initial_state(seed), player) for seed in range(num) for player in game.initial_state(seed).active_players
    ]
    return game.views(pairs)


def test_values_are_those_of_later_positions_and_the_policy_is_the_views_own() -> None:
    game = plugins().game("pommerman")
    evaluator = Plies(game.spec.num_actions)
    simple = plugins().agent("simple", game)
    found = TruncatedRollouts(game, evaluator, 5, agents=simple).evaluate(starts(game, 3))
    assert found.value == pytest.approx(5 / 1000)
    assert np.array_equal(found.logits[0], np.arange(6))


def test_a_policy_that_nobody_hears_is_not_asked_for() -> None:
    game = plugins().game("pommerman")
    evaluator = Plies(game.spec.num_actions)
    found = TruncatedRollouts(game, evaluator, 5, uses_policy=False).evaluate(starts(game, 1))
    assert evaluator.asked == 1
    assert not found.logits.any()


@pytest.mark.parametrize("agent", ["simple", "random"])
def test_rollouts_to_the_end_are_worth_what_is_decided_there(agent: str) -> None:
    game = plugins().game("pommerman")
    evaluator = Plies(game.spec.num_actions)
    views = starts(game, 8)
    rollouts = TruncatedRollouts(game, evaluator, 1000, agents=plugins().agent(agent, game))
    ends = rollouts.roll_out(views)
    for row in range(len(views)):
        state, player = ends.views[row]
        assert player == views[row].player
        assert state.is_decided(player)
        assert ends.paid[row] == pytest.approx(state.returns())
    assert not ends.scales.any()
    value = rollouts.evaluate(views).value
    # As what the evaluator says of positions where play goes on.
    assert value.shape == (len(views),)
    assert np.array_equal(value, ends.paid[np.arange(len(views)), views.players()])
    # Who lays bombs at random is soon dead; the policy is still asked for, nothing else is.
    assert value.min() == -1
    asked = evaluator.asked
    rollouts.evaluate(views)
    assert evaluator.asked == asked + 1


def test_everybody_is_valued_where_the_evaluator_values_everybody() -> None:
    game = NativeTicTacToe()
    evaluator = RolloutEvaluator(game.spec)
    views = game.views([(game.initial_state(), 0), (game.parse_state("0 3 1 4"), 0)])
    together = TruncatedRollouts(game, evaluator, 3).evaluate(views).value
    assert together.shape == (2, 2)
    assert together.sum(axis=1) == pytest.approx([0, 0])
    for row in range(2):
        alone = TruncatedRollouts(game, evaluator, 3).evaluate(views.take([row])).value
        assert np.array_equal(alone, together[[row]])


@pytest.mark.parametrize("name", ["pommerman", "tictactoe", "chess"])
def test_a_rollout_depends_on_its_position_alone(name: str) -> None:
    game = plugins().game(name)
    rollouts = TruncatedRollouts(
        game, UniformEvaluator(game.spec), 7, agents=plugins().agent(plugins().player(game), game)
    )
    views = starts(game, 2)
    both = rollouts.roll_out(views)
    rows = list(range(len(views)))[::-1]
    turned = rollouts.roll_out(views.take(rows))
    assert [both.views[row].state.key() for row in rows] == [turned.views[row].state.key() for row in range(len(rows))]
    assert np.array_equal(both.paid[::-1], turned.paid)


def test_native_agents_play_as_they_do_when_python_asks_them() -> None:
    """Random numbers differ, distributions do not: shares of decided rollouts within four standard errors."""
    game = plugins().game("pommerman")
    simple = plugins().agent("simple", game)
    views = starts(game, 100)
    natively, slowly = (
        TruncatedRollouts(game, UniformEvaluator(game.spec), 60, agents=agent).roll_out(views)
        for agent in (simple, Slow(simple))
    )
    shares = np.array([(ends.scales == 0).all(axis=1).mean() for ends in (natively, slowly)])
    mean = shares.mean()
    assert 0.05 < mean < 0.9
    assert abs(shares[0] - shares[1]) < 4 * np.sqrt(2 * mean * (1 - mean) / len(views))
    assert {int(ply) for ply in slowly.views.plies()[slowly.scales.any(axis=1)]} == {60}
    assert {int(ply) for ply in natively.views.plies()[natively.scales.any(axis=1)]} == {60}


def test_play_goes_on_to_where_the_viewer_moves() -> None:
    game = NativeTicTacToe()
    views = game.views([(game.initial_state(), 0)])
    for plies, ply in ((1, 2), (2, 2), (3, 4)):
        (end,) = TruncatedRollouts(game, UniformEvaluator(game.spec), plies).roll_out(views).views
        assert (end.state.ply, end.player) == (ply, 0)


@pytest.mark.parametrize("has_rewards", [False, True])
def test_rewards_and_discounts_on_the_way_count(has_rewards: bool) -> None:
    """The mean over many rollouts of a tree is the value that all its leaves have by hand."""
    rules = TreeGame(
        seed=3, num_players=2, branching=2, depth=5, simultaneous=False, has_rewards=has_rewards, discount=0.9
    )
    game = HashedTree(rules)
    root = game.initial_state()

    def worth(state) -> np.ndarray:  # type: ignore[no-untyped-def]
        if not state.active_players:
            return np.asarray(state.returns(), dtype=np.float64)
        (player,) = state.active_players
        children = [state.play([action]) for action in state.legal_actions(player)]
        return np.mean([child.rewards() + 0.9 * worth(child) for child in children], axis=0)

    views = game.views([(root, root.active_players[0])])
    paid = np.mean(
        [
            TruncatedRollouts(game, UniformEvaluator(game.spec), 99, seed=seed).roll_out(views).paid[0]
            for seed in range(1500)
        ],
        axis=0,
    )
    assert paid == pytest.approx(worth(root), abs=0.08)


def test_agents_by_seat_and_at_random() -> None:
    game = plugins().game("pommerman")
    agents = {1: plugins().agent("simple", game), 2: RandomAgent()}
    ends = TruncatedRollouts(game, UniformEvaluator(game.spec), 3, agents=agents).roll_out(starts(game, 2))
    assert ends.views.plies().tolist() == [3] * 8


class Last:
    """Plays the last of the legal actions."""

    name = "last"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        legal = [views[row].state.legal_actions(seat.player) for row, seat in enumerate(seats)]
        return [Decision(action=int(actions[-1])) for actions in legal]


def test_an_agent_of_seats_that_are_apart_plays_for_its_own_seats() -> None:
    played_together = 0
    for seed in range(20):
        game = HashedTree(TreeGame(seed, 3, 5, 6, simultaneous=True, has_chance=True))
        root = game.initial_state()
        views = game.views([(root, root.active_players[0])])
        one, other = Last(), Last()
        ends = [
            TruncatedRollouts(game, UniformEvaluator(game.spec), 4, agents=agents).roll_out(views).views[0].state
            for agents in (one, {0: one, 1: other, 2: one}, {0: other, 1: one, 2: other})
        ]
        assert ends[0] == ends[1] == ends[2]
        played_together += sum(len(set(joint)) > 1 for joint in ends[0].path)
    assert played_together > 20


def test_a_search_with_rollouts_keeps_the_laws_of_agents() -> None:
    game = plugins().game("pommerman")
    check_agent(plugins().agent("planner?simulations=8&rollout_plies=3", game), game, num_games=2)


def test_rollouts_see_a_bomb_that_the_search_is_too_short_for() -> None:
    """With a constant in place of a network, what kills nine steps later is seen by rollouts alone."""
    game = plugins().game("pommerman")
    lost = []
    for rollout_plies in (0, 12):
        agent = plugins().agent(f"planner?simulations=30&rollout_plies={rollout_plies}", game)
        simple = plugins().agent("simple", game)
        lost.append(sum(_is_dead(game, agent, simple, seed) for seed in range(12)))
    assert lost[1] < lost[0]


def _is_dead(game: Game, agent: Agent, simple: Agent, board: int) -> bool:
    """Plays 150 steps of our agent in seat 0 against three scripts."""
    state = game.initial_state(board)
    seats = [Seat(player, np.random.default_rng([board, player])) for player in range(4)]
    for _ in range(150):
        actions = []
        for player in state.active_players:
            who = agent if player == 0 else simple
            actions.append(who.act(game.views([(state, player)]), [seats[player]])[0].action)
        state = state.play(actions)
        if 0 not in state.active_players:
            break
    return bool(state.returns()[0] < 0)


def test_no_rollouts_with_a_queue_or_of_no_plies() -> None:
    game = plugins().game("pommerman")
    with pytest.raises(ValueError, match="at least one ply"):
        TruncatedRollouts(game, UniformEvaluator(game.spec), 0)
    with pytest.raises(ValueError, match="at most 4294967295 plies of a rollout, got 8589934592"):
        TruncatedRollouts(game, UniformEvaluator(game.spec), 2**33)
    for num_rollouts in (0, 2**32):
        with pytest.raises(ValueError, match=f"expected 1 to 4294967295 rollouts, got {num_rollouts}"):
            RolloutEvaluator(game.spec, num_rollouts=num_rollouts)
    with pytest.raises(UsageError, match="no rollout_plies with a queue, got 5"):
        resolve_agent("weights:pommerman?routing=queue&rollout_plies=5", game)
    with pytest.raises(UsageError) as told:
        resolve_agent("planner?rollout_plies=-1", game)
    refused = "agent 'planner?rollout_plies=-1': rollout_plies: Input should be greater than or equal to 0, got -1"
    assert str(told.value) == refused


def test_settings_without_rollouts_are_written_as_before() -> None:
    assert "rollout_plies" not in SearchConfig().model_dump()
    assert SearchConfig(rollout_plies=4).model_dump()["rollout_plies"] == 4
    game = plugins().game("pommerman")
    agent = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=4, rollout_plies=2))
    state = game.initial_state(3)
    assert agent.act(game.views([(state, 0)]), [Seat(0, np.random.default_rng(0))])[0].simulations == 4


def test_agents_for_other_than_all_players_and_positions_of_two_sizes_are_refused() -> None:
    game, duel = plugins().game("pommerman"), plugins().game("pommerman-1v1")
    views = game.views([(game.initial_state(), 0)])
    with pytest.raises(ValueError, match="an agent or None for each of 4 players, got 2"):
        views.roll_out(3, [None, None], 0, discount=1.0)
    with pytest.raises(ValueError, match=r"positions of one variant, got 4 players.* and 2,"):
        game.views([(game.initial_state(), 0), (duel.initial_state(), 0)])


class Waiting(TreeState):
    """The second player moves for ever, and the first waits."""

    @property
    def active_players(self) -> tuple[int, ...]:
        return (1,)

    def returns(self) -> FloatArray:
        return np.zeros(2, dtype=np.float32)


def test_a_rollout_in_which_the_viewing_player_waits_for_ever_has_an_end() -> None:
    game = HashedTree(TreeGame(seed=1, num_players=2, branching=2, depth=9, simultaneous=False))
    game.spec = replace(game.spec, max_plies=20)
    rollouts = TruncatedRollouts(game, UniformEvaluator(game.spec), 3)
    with pytest.raises(UnlawfulGame, match="expected the game to end within max_plies, 20, but it goes on"):
        rollouts.evaluate(game.views([(Waiting(game.rules), 0)]))
