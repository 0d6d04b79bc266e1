"""The native tree visits exactly what the definition in NumPy visits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, NativeTicTacToe, TreeGame, TreeState
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from searching_for_tests import (
    HashedEvaluator,
    native_results,
    reference_visits,
    run_reference,
    searched_alike,
    varied_trees,
)

from moemcts.agents import Decision, Seat
from moemcts.game import Views
from moemcts.search import Search, SearchConfig
from moemcts.search.nodes import Node
from moemcts.search.reference import ReferenceSearch

configs = st.builds(
    SearchConfig,
    simulations=st.integers(1, 60),
    nodes=st.none() | st.integers(1, 40),
    c_init=st.sampled_from([0.5, 1.25, 2.5]),
    c_base=st.sampled_from([10.0, 19652.0]),
    first_play_urgency=st.sampled_from(["loss", "draw", "parent", "reduction"]),
    virtual_loss=st.sampled_from([0.0, 1.0, 3.0]),
    policy_temperature=st.sampled_from([0.5, 1.0, 1.7]),
    uniform_share=st.sampled_from([0.0, 0.25, 1.0]),
    noise_fraction=st.sampled_from([0.0, 0.25]),
    noise_alpha=st.sampled_from([0.2, 1.5]),
    leaves_per_tree=st.sampled_from([1, 2, 5]),
)


@settings(max_examples=150, deadline=None)
@given(varied_trees, configs, st.integers(0, 2**63), st.booleans())
def test_native_visits_are_those_of_the_definition_on_random_games(rules, config, seed, vector):  # type: ignore[no-untyped-def]
    game = HashedTree(rules)
    searched = searched_alike(game, config, seed, num_values=game.spec.num_players if vector else 1)
    expected, result = searched.expected, searched.result
    assert result.num_nodes == expected.num_nodes
    assert result.num_simulations == expected.num_simulations


TOGETHER: dict[str, st.SearchStrategy[Any]] = {
    "simulations": st.integers(1, 120),
    "nodes": st.none() | st.integers(1, 100),
    "c_init": st.sampled_from([0.5, 2.5]),
    "c_base": st.sampled_from([10.0, 19652.0]),
    "first_play_urgency": st.sampled_from(["loss", "draw", "parent", "reduction"]),
    "virtual_loss": st.sampled_from([0.0, 1.0, 3.0]),
    "policy_temperature": st.sampled_from([0.5, 1.7]),
    "uniform_share": st.sampled_from([0.0, 0.25, 1.0]),
    "noise_fraction": st.sampled_from([0.0, 0.25]),
    "noise_alpha": st.sampled_from([0.2, 1.5]),
    "forced_playouts": st.sampled_from([0.0, 0.0, 2.0]),
    "root": st.sampled_from(["puct", "puct", "gumbel"]),
    "considered_actions": st.sampled_from([1, 2, 16]),
    "gumbel_noise": st.sampled_from([0.0, 1.0]),
    "visit_offset": st.sampled_from([0.0, 50.0]),
    "value_scale": st.sampled_from([0.1, 1.0]),
    "pruning_visits": st.sampled_from([0, 3, 20]),
    "unpruned_actions": st.sampled_from([1, 2, 5]),
    "unpruning_visits": st.sampled_from([5.0, 20.0]),
    "unpruning_factor": st.sampled_from([1.01, 1.3, 2.0]),
    "stop_tolerance": st.sampled_from([0.0, 0.0, 0.3]),
    "stop_share": st.sampled_from([0.0, 0.7]),
    "smart_pruning": st.sampled_from([False, False, True]),
    "solver": st.booleans(),
    "leaves_per_tree": st.sampled_from([1, 2, 5]),
}
"""All that decides which nodes of one tree are visited; what cannot go together is refused."""
OF_NO_TREE = {
    *("seconds", "num_threads", "reuse", "replies", "rollout_plies", "cache_size"),
    *("temperature", "temperature_plies", "temperature_decay", "quantile_clipping", "q_veto_delta", "q_value_weight"),
}
"""Options of time, of several trees, of opponents, of evaluations and of the move that is played."""


def test_every_option_is_compared_or_of_no_tree() -> None:
    assert TOGETHER.keys() | OF_NO_TREE == SearchConfig.model_fields.keys()


@settings(max_examples=60, deadline=None)
@given(varied_trees, st.fixed_dictionaries(TOGETHER), st.integers(0, 2**63))
def test_options_together_are_searched_like_the_definition(rules, options, seed):  # type: ignore[no-untyped-def]
    try:
        config = SearchConfig(**options)
    except ValidationError:
        reject()
    searched = searched_alike(HashedTree(rules), config, seed)
    expected, result = searched.expected, searched.result
    assert (result.num_nodes, result.num_simulations) == (expected.num_nodes, expected.num_simulations)
    assert result.plies_left == expected.root.plies_left


def below(node: Node, *, levels: int) -> Iterator[Node]:
    """Yields the nodes up to some moves below a node."""
    for child in node.children.values() if levels else ():
        yield child
        yield from below(child, levels=levels - 1)


@settings(max_examples=60, deadline=None)
@given(varied_trees, st.fixed_dictionaries(TOGETHER), st.integers(0, 2**63), st.data())
def test_kept_trees_are_gone_on_with_like_the_definition(rules, options, seed, data):  # type: ignore[no-untyped-def]
    # In a kept root noise is drawn in the order of priors, in the definition in that of actions.
    options |= {"root": "puct", "noise_fraction": 0.0, "reuse": True}
    try:
        config = SearchConfig(**options)
    except ValidationError:
        reject()
    game = HashedTree(rules)
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    root = game.initial_state()
    expected = reference_visits(game, root, config, evaluator, seed)
    search, kept = Search(game, config), None
    for number in range(4):
        player = root.active_players[-1]
        search.reset(game.views([(root, player)]), [seed], kept)
        (result,) = search.run(evaluator)
        assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player), number
        assert (result.num_nodes, result.num_simulations) == (expected.num_nodes, expected.num_simulations), number
        kept = search.keep()
        following = [node for node in below(expected.root, levels=2) if node.seats and node.visits]
        if not following:
            break
        node = data.draw(st.sampled_from(following))
        root = node.state
        expected.continue_from(node, seed=seed)
        run_reference(expected, game, evaluator)


@settings(max_examples=60, deadline=None)
@given(varied_trees, configs, st.integers(0, 2**63), st.data())
def test_a_restricted_root_is_searched_like_the_definition(rules, config, seed, data):  # type: ignore[no-untyped-def]
    game = HashedTree(rules)
    root = game.initial_state()
    player = root.active_players[-1]
    given_actions = data.draw(st.lists(st.sampled_from(list(root.legal_actions(player))), min_size=1, unique=True))
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    expected = reference_visits(game, root, config, evaluator, seed, root_actions={player: given_actions})
    (result,) = native_results(game, [(root, player)], config, evaluator, [seed], root_actions=[given_actions])
    assert list(result.actions) == sorted(given_actions)
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)
    assert result.priors.sum() == pytest.approx(1, abs=1e-5)


class FixedReplies:
    """Replies with the legal action that a hash of the position picks."""

    name = "fixed"

    @staticmethod
    def reply(state, player):  # type: ignore[no-untyped-def]
        legal = state.legal_actions(player)
        return legal[state.key() % len(legal)]

    def act(self, views: Views, seats: list[Seat]) -> list[Decision]:
        return [Decision(action=self.reply(*views[row])) for row in range(len(views))]


@settings(max_examples=100, deadline=None)
@given(varied_trees.filter(lambda r: r.num_players > 1), configs, st.integers(0, 2**63))
def test_native_visits_are_those_of_the_definition_against_opponents(rules, config, seed):  # type: ignore[no-untyped-def]
    game = HashedTree(rules)
    root = game.initial_state()
    player = root.active_players[0]
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    agent = FixedReplies()
    opponents = {other: agent.reply for other in range(game.spec.num_players) if other != player}
    # A position in which only opponents move is a node of its own, and a leaf of its batch, when they are asked
    # outside; the definition passes through it.
    config = config.model_copy(update={"nodes": None, "leaves_per_tree": 1})
    expected = reference_visits(game, root, config, evaluator, seed, opponents)
    (result,) = native_results(game, [(root, player)], config, evaluator, [seed], agent)
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)


class Sided(HashedTree):
    """A random game with teams, and a sum that may be any: values need not be true to be added up alike."""

    def __init__(self, rules: TreeGame, *, has_teams: bool, has_sum: bool) -> None:
        super().__init__(rules)
        players = range(rules.num_players)
        teams = tuple(tuple(p for p in players if p % 2 == side) for side in (0, 1)) if has_teams else ()
        self.spec = replace(self.spec, teams=teams, utility_sum=0.0 if has_sum else None)


@settings(max_examples=100, deadline=None)
@given(
    varied_trees.filter(lambda r: r.num_players > 2),
    configs,
    st.integers(0, 2**63),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2),
)
def test_native_visits_are_those_of_the_definition_among_teams(rules, config, seed, has_teams, has_sum, num_others):  # type: ignore[no-untyped-def]
    game = Sided(rules, has_teams=has_teams, has_sum=has_sum)
    root = game.initial_state()
    player = root.active_players[0]
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    others = [other for other in range(rules.num_players) if other != player][:num_others]
    agents = {other: FixedReplies() for other in others}
    replies = dict.fromkeys(agents, FixedReplies.reply)
    config = config.model_copy(update={"nodes": None, "leaves_per_tree": 1})
    expected = reference_visits(game, root, config, evaluator, seed, replies)
    (result,) = native_results(game, [(root, player)], config, evaluator, [seed], agents)
    assert result.evaluation.tolist() == expected.root.values.tolist()
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)


class DrawnReplies:
    """Replies at random, by the random numbers of its seat."""

    name = "drawn"

    def act(self, views: Views, seats: list[Seat]) -> list[Decision]:
        legal = [views[row].state.legal_actions(seat.player) for row, seat in enumerate(seats)]
        return [Decision(action=int(seat.rng.choice(actions))) for seat, actions in zip(seats, legal, strict=True)]


@settings(max_examples=100, deadline=None)
@given(varied_trees.filter(lambda r: r.num_players > 1), configs, st.integers(0, 2**63))
def test_drawn_replies_are_those_of_the_definition(rules, config, seed):  # type: ignore[no-untyped-def]
    game = HashedTree(rules)
    root = game.initial_state()
    player = root.active_players[0]
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    # With several leaves per batch, replies are asked for in another order.
    config = config.model_copy(update={"leaves_per_tree": 1, "replies": "drawn"})
    rngs = {other: np.random.default_rng([seed, other]) for other in range(game.spec.num_players) if other != player}
    opponents = {
        other: lambda state, who, rng=rng: int(rng.choice(state.legal_actions(who))) for other, rng in rngs.items()
    }
    expected = reference_visits(game, root, config, evaluator, seed, opponents)
    (result,) = native_results(game, [(root, player)], config, evaluator, [seed], DrawnReplies())
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)
    assert result.num_nodes == expected.num_nodes
    assert result.num_simulations == expected.num_simulations


@pytest.mark.parametrize("game", [NativeTicTacToe(), NativeConnectFour()], ids=lambda game: game.spec.name)
@pytest.mark.parametrize("leaves", [1, 4])
def test_native_games_are_searched_like_the_definition(game, leaves):  # type: ignore[no-untyped-def]
    config = SearchConfig(simulations=300, leaves_per_tree=leaves, noise_fraction=0.25, num_threads=2)
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    roots = [game.parse_state(moves) for moves in ("", "4", "4 0", "4 0 1")]
    seeds = [7, 8, 9, 10]
    pairs = [(root, root.active_players[0]) for root in roots]
    results = native_results(game, pairs, config, evaluator, seeds)
    for root, seed, result in zip(roots, seeds, results, strict=True):
        expected = reference_visits(game, root, config, evaluator, seed).visits(root.active_players[0])
        assert dict(zip(result.actions, result.visits, strict=True)) == expected


def textbook_puct(state, evaluator, game, config):  # type: ignore[no-untyped-def]
    """PUCT as in the AlphaZero paper's pseudocode: two players, one statistic per action, sign flips."""

    class Record:
        def __init__(self, state):  # type: ignore[no-untyped-def]
            self.state, self.n, self.w, self.children = state, 0, 0.0, None

    root = Record(state)
    for _ in range(config.simulations + 1):
        node, path = root, [root]
        while node.children:
            c = math.log((node.n + config.c_base + 1) / config.c_base) + config.c_init
            scores = []
            for prior, child in node.children.values():
                q = -child.w / child.n if child.n else -1.0
                scores.append(q + c * float(prior) * math.sqrt(node.n) / (1 + child.n))
            node = list(node.children.values())[int(np.argmax(scores))][1]
            path.append(node)
        if node.state.active_players:
            (mover,) = node.state.active_players
            evaluation = evaluator.evaluate(game.views([(node.state, mover)]))
            legal = list(node.state.legal_actions(mover))
            weights = [math.exp(float(evaluation.logits[0][a])) for a in legal]
            value = float(evaluation.value[0])
            node.children = {
                a: (np.float32(w / sum(weights)), Record(node.state.play([a])))
                for a, w in zip(legal, weights, strict=True)
            }
        else:
            value = float(node.state.returns()[node.state.ply % 2])
        for record in reversed(path):
            record.n += 1
            record.w += value
            value = -value
    return {action: child.n for action, (_, child) in root.children.items()}


def test_one_active_player_is_textbook_puct() -> None:
    game = NativeTicTacToe()
    config = SearchConfig(simulations=200)
    evaluator = HashedEvaluator(9, 1)
    for moves in ("", "4", "4 0 8", "0 4 8 2"):
        root = game.parse_state(moves)
        (player,) = root.active_players
        expected = textbook_puct(root, evaluator, game, config)
        (result,) = native_results(game, [(root, player)], config, evaluator, [0])
        assert dict(zip(result.actions, result.visits, strict=True)) == expected
        assert reference_visits(game, root, config, evaluator, 0).visits(player) == expected


def test_a_tree_state_is_a_value() -> None:
    state = TreeState(TreeGame(1, 2, 3, 4, True))
    assert state.legal_actions(0) == state.legal_actions(0)


def test_the_definition_refuses_a_limit_that_it_does_not_keep() -> None:
    game = NativeTicTacToe()
    config = SearchConfig(simulations=None, seconds=1.0)
    with pytest.raises(ValueError, match="expected a limit of simulations or nodes"):
        ReferenceSearch(game.spec, config, game.initial_state())
