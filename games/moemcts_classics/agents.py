"""Scripted agents for classic games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from moemcts.agents import Decision, Seat
from moemcts.game import Action, Views
from moemcts.native import core


class _ClassicViews(Protocol):
    """Views of a classic game."""

    def careful(self, seeds: Sequence[int]) -> list[Action]: ...


class CarefulAgent:
    """Wins in one move if possible, avoids moves that let the opponent do so, and picks randomly among the rest.

    In a search, `native` replies without the interpreter.
    """

    name = "careful"

    def __init__(self) -> None:
        self.native = core.ClassicsCareful()

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        seeds = [int(seat.rng.integers(2**63)) for seat in seats]
        return [Decision(action=action) for action in cast(_ClassicViews, views).careful(seeds)]
