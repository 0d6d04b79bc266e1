"""What the views of some players say about the values of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from searching_for_tests import native_results, reference_visits

from moemcts.agents import Decision, Seat
from moemcts.evaluation import Evaluation
from moemcts.game import Action, FloatArray, Game, GameSpec, Player, State, Views
from moemcts.search import SearchConfig

CONFIG = SearchConfig(simulations=30)


@dataclass(frozen=True)
class Turns(State):
    """Four players move in turn, four times each, to returns that are certain from the start."""

    final: tuple[float, ...]
    gone: tuple[Player, ...] = ()
    """Who has left before the start."""
    ply: int = 0

    @property
    def active_players(self) -> tuple[Player, ...]:
        left = [player for player in range(4) if player not in self.gone]
        return (left[self.ply % len(left)],) if self.ply < 16 else ()

    def legal_actions(self, player: Player) -> tuple[Action, ...]:
        return (0, 1)

    def play(self, actions: Any) -> Turns:
        return replace(self, ply=self.ply + 1)

    def returns(self) -> FloatArray:
        known = [player in self.gone or self.ply >= 16 for player in range(4)]
        return np.where(known, self.final, 0).astype(np.float32)

    def is_decided(self, player: Player) -> bool:
        return player in self.gone or self.ply >= 16

    def observation(self, player: Player) -> FloatArray:
        return np.full(1, self.final[player], dtype=np.float32)

    def key(self) -> int:
        return self.ply


class FourPlayers(Game[Turns]):
    def __init__(self, *, teams: tuple[tuple[Player, ...], ...] = (), utility_sum: float | None = 0.0) -> None:
        self.spec = GameSpec(
            name="turns",
            num_players=4,
            num_actions=2,
            observation_shape=(1,),
            max_plies=16,
            utility_sum=utility_sum,
            teams=teams,
        )

    def initial_state(self, seed: int = 0) -> Turns:
        raise NotImplementedError

    def parse_state(self, text: str) -> Turns:
        raise NotImplementedError

    def format_state(self, state: Turns) -> str:
        raise NotImplementedError


class Knowing:
    """Values the viewing player exactly, and nobody else."""

    def evaluate(self, views: Views) -> Evaluation:
        return Evaluation(np.zeros((len(views), 2), np.float32), views.observations()[:, 0])


class First:
    name = "first"

    def act(self, views: Views, seats: list[Seat]) -> list[Decision]:
        return [Decision(action=0) for _ in seats]


def evaluated(game: FourPlayers, root: Turns, opponents: tuple[Player, ...] = ()) -> list[float]:
    """Returns the values of the root, by the search and by the definition: they are the same."""
    player = root.active_players[0]
    agents = {other: First() for other in opponents}
    (result,) = native_results(game, [(root, player)], CONFIG, Knowing(), [0], agents)
    replies: Any = {other: lambda state, who: 0 for other in opponents}
    expected = reference_visits(game, root, CONFIG, Knowing(), 0, replies)
    assert result.evaluation.tolist() == expected.root.values.tolist()
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)
    return [round(float(value), 6) for value in result.evaluation]


@pytest.mark.parametrize("utility_sum", [0.0, None])
def test_a_view_speaks_for_its_team(utility_sum: float | None) -> None:
    game = FourPlayers(teams=((0, 2), (1, 3)), utility_sum=utility_sum)
    root = Turns((0.9, -0.9, 0.9, -0.9))
    assert evaluated(game, root) == ([0.9, -0.9, 0.9, -0.9] if utility_sum == 0 else [0.9, 0, 0.9, 0])
    # Alone against all, each of the others has a third of what is left.
    assert evaluated(FourPlayers(), root) == [0.9, -0.3, -0.3, -0.3]


@pytest.mark.parametrize("opponents", [(), (2,), (3,), (2, 3)])
def test_who_has_left_is_worth_what_it_has_whether_searched_or_not(opponents: tuple[Player, ...]) -> None:
    root = Turns((0.5, 0.0, 0.5, -1.0), gone=(1, 3))
    assert evaluated(FourPlayers(), root, opponents) == [0.5, 0.0, 0.5, -1.0]
