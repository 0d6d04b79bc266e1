"""The built-in plugin: what every game can use."""

from __future__ import annotations

from collections.abc import Sequence

from moemcts.agents import RandomAgent
from moemcts.game import Game
from moemcts.gates import PlyGate, SinglePhase
from moemcts.hookspecs import Registration, hookimpl


@hookimpl
def register_gates() -> Sequence[Registration]:
    return [
        Registration("none", _single_phase, "one phase: a single network, the baseline"),
        Registration("plies", _plies, "cuts by plies played; three equal parts of the longest game by default"),
    ]


@hookimpl
def register_agents() -> Sequence[Registration]:
    return [Registration("random", _random, "plays legal actions with equal probability")]


def _single_phase(game: Game) -> SinglePhase:
    return SinglePhase()


def _plies(game: Game, *, cuts: Sequence[int] = ()) -> PlyGate:
    longest = game.spec.max_plies
    return PlyGate(cuts or (longest // 3, 2 * longest // 3), ())


def _random(game: Game) -> RandomAgent:
    return RandomAgent()
