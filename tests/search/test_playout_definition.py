"""The native search by playouts tries exactly what its definition tries: UCT in plain Python, slow and short."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from games_for_tests import HashedTree
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import varied_trees

from moemcts.game import CHANCE, Action, GameSpec, Player, State, discounts
from moemcts.native import playout_search
from moemcts.search.nodes import sample_outcome
from moemcts.splitmix import SplitMix64


@dataclass
class Arms:
    """The statistics of one player at a node."""

    actions: Sequence[Action]
    visits: list[int]
    sums: list[float]

    def choose(self, num_visits: int, exploration: float | None, rng: SplitMix64) -> int:
        """Returns one of the least tried until all are tried, then the one of the highest bound."""
        least = min(self.visits)
        if exploration is None or least == 0:
            ties = [i for i, visits in enumerate(self.visits) if visits == least]
            return ties[below(len(ties), rng)]
        log = math.log(num_visits)
        bounds = [
            value_sum / n + exploration * math.sqrt(log / n)
            for n, value_sum in zip(self.visits, self.sums, strict=True)
        ]
        return bounds.index(max(bounds))


@dataclass
class Node:
    arms: dict[Player, Arms]
    is_chance: bool
    visits: int = 0
    children: dict[tuple[Action, ...], Node] = field(default_factory=dict)


@dataclass
class Uct:
    """A search by playouts for one player."""

    spec: GameSpec
    root: State
    player: Player
    exploration: float | None
    depth: float
    rng: SplitMix64

    def __post_init__(self) -> None:
        self.top = self.node(self.root, 0)

    def node(self, state: State, depth: int) -> Node:
        players = state.active_players if depth < self.depth else ()
        choosing = [player for player in players if player != CHANCE and (self.depth > 1 or player == self.player)]
        arms = {}
        for player in choosing:
            actions = state.search_actions(player)
            arms[player] = Arms(actions, [0] * len(actions), [0.0] * len(actions))
        return Node(arms, players == (CHANCE,))

    def run(self) -> None:
        """Goes down by the statistics, adds a node, plays to the end at random, and adds up what came of it."""
        node, state, way = self.top, self.root, list[tuple[Node, dict[Player, int], Any, Any]]()
        while node.arms or node.is_chance:
            chosen = {
                player: arms.choose(node.visits, self.exploration, self.rng) for player, arms in node.arms.items()
            }
            joint = self.joint(state, {player: node.arms[player].actions[i] for player, i in chosen.items()})
            after = state.play(joint)
            way.append((node, chosen, *self.step(state, after)))
            state = after
            if len(way) >= self.depth:
                break
            if (key := tuple(joint)) not in node.children:
                node.children[key] = self.node(state, len(way))
                break
            node = node.children[key]
        values = self.played_out(state)
        for node, chosen, rewards, factors in reversed(way):
            values = factors * values + rewards
            node.visits += 1
            for player, i in chosen.items():
                node.arms[player].visits[i] += 1
                node.arms[player].sums[i] += float(values[player])

    def played_out(self, state: State) -> Any:
        """Returns what random play to the end, or to where nothing is left to be decided, is worth to each player."""
        watched = [self.player] if self.depth == 1 else range(self.spec.num_players)
        values, scales = np.zeros(self.spec.num_players), np.ones(self.spec.num_players)
        while (players := state.active_players) and (
            set(players) & set(watched) or not all(state.is_decided(player) for player in watched)
        ):
            before, state = state, state.play(self.joint(state, {}))
            rewards, factors = self.step(before, state)
            values += rewards * scales
            scales *= factors
        return values + scales * state.returns().astype(np.float32)

    def joint(self, state: State, chosen: Mapping[Player, Action]) -> list[Action]:
        players = state.active_players
        if players == (CHANCE,):
            chances = [float(np.float32(chance)) for chance in state.chances()]
            return [state.legal_actions(CHANCE)[sample_outcome(chances, self.rng.uniform())]]
        return [chosen[player] if player in chosen else self.any_of(state.legal_actions(player)) for player in players]

    def any_of(self, actions: Sequence[Action]) -> Action:
        return actions[below(len(actions), self.rng) if len(actions) > 1 else 0]

    def step(self, before: State, after: State) -> tuple[Any, Any]:
        """Returns what a step paid each player, and what later values are worth before it."""
        rewards = np.asarray(after.rewards(), dtype=np.float32).astype(np.float64)
        return rewards, discounts(before, after, self.spec.discount, self.spec.num_players)


def below(number: int, rng: SplitMix64) -> int:
    return rng.next_u64() * number >> 64


@settings(max_examples=100, deadline=None)
@given(
    varied_trees,
    st.integers(1, 80),
    st.sampled_from([0.0, 0.7, 2.0]),
    st.sampled_from([1, 2, 3, None]),
    st.booleans(),
    st.integers(0, 2**63),
)
def test_playouts_are_those_of_the_definition(rules, num, exploration, depth, is_flat, seed):  # type: ignore[no-untyped-def]
    exploration, depth = (None, 1) if is_flat else (exploration, depth)
    game = HashedTree(rules)
    root = game.initial_state()
    player = root.active_players[-1]
    expected = Uct(game.spec, root, player, exploration, depth or math.inf, SplitMix64(seed))
    for _ in range(num):
        expected.run()
    ((actions, visits, sums),) = playout_search(
        game.views([(root, player)]), game.spec, [seed], playouts=num, exploration=exploration, depth=depth
    )
    arms = expected.top.arms[player]
    assert actions.tolist() == list(arms.actions)
    assert visits.tolist() == arms.visits
    assert sums.tolist() == arms.sums
