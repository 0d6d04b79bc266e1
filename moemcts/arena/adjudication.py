"""Adjudication: ends games early by the values that both sides report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from moemcts.agents import Decision
from moemcts.errors import UsageError, unknown_name
from moemcts.game import CHANCE, Game, Player, first_state
from moemcts.references import parse_reference


@dataclass(frozen=True, kw_only=True)
class Adjudication:
    """Rules for ending a two-player game early, and its result.

    Semantics and defaults are those of the M2CTS papers' matches, cutechess' `-draw movenumber=30 movecount=4 score=20
    -resign movecount=5 score=600`. Centipawns are converted to values v by the formula of the papers' engine, CrazyAra:
    1 - 1.4 ** (-centipawns / 100).
    """

    draw_value: float = 0.065
    """A draw if |v| of both sides is at most this, 20 centipawns,"""
    draw_moves: int = 4
    """for this many consecutive moves of each side (0: no draws),"""
    draw_from: int = 30
    """and each side has made this many moves in the game, not counting those of the opening."""
    resign_value: float = 0.867
    """A loss for a side whose own v is at most minus this, 600 centipawns,"""
    resign_moves: int = 5
    """for this many of its consecutive moves (0: nobody resigns)."""

    def __post_init__(self) -> None:
        for name in ("draw_value", "resign_value"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ValueError(f"expected {name} between 0 and 1, got {value!r}")
        for name in ("draw_moves", "draw_from", "resign_moves"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"expected {name} to be a number of moves, got {value!r}")


def parse_adjudication(text: str) -> Adjudication | None:
    """Returns the rules named by `off`, `papers` or `papers?draw_from=40&resign_moves=0`; else raises UsageError."""
    name, options = parse_reference(text)
    if name not in ("papers", "off"):
        raise unknown_name("adjudication", name, ("papers", "off"))
    for option in options:
        if name == "off" or option not in Adjudication.__dataclass_fields__:
            raise unknown_name(f"option of adjudication {name!r}", option, Adjudication.__dataclass_fields__)
    try:
        return None if name == "off" else Adjudication(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"adjudication {text!r}: {error}") from None


def check_adjudicable(game: Game) -> None:
    """Raises UsageError unless it is a turn-based two-player game whose returns sum to zero."""
    if game.spec.num_players != 2 or game.spec.utility_sum != 0:
        raise UsageError(f"expected a zero-sum game of two players to adjudicate, got {game.spec.name}")
    if len(first_state(game).active_players) > 1:
        raise UsageError(
            f"expected a game in which players take turns to adjudicate, but those of {game.spec.name} move at once"
        )


class Adjudicator:
    """Follows a game and determines when it is adjudicated."""

    def __init__(self, rules: Adjudication) -> None:
        self._rules = rules
        self._num_moves = 0
        """Moves of both sides since the start of the game."""
        self._level = 0
        """Consecutive moves of both sides with a drawn value."""
        self._losing = [0, 0]
        """Consecutive moves of each side with a lost value."""

    def note(self, players: Sequence[Player], decisions: Sequence[Decision]) -> Literal["draw", "resignation"] | None:
        """Processes the next decisions of the game; returns how it has ended, or None.

        Decisions without a value neither agree to a draw nor resign; simultaneous moves reset all counts.
        """
        if list(players) == [CHANCE]:
            return None
        if len(players) > 1:
            self._level, self._losing = 0, [0, 0]
            return None
        rules = self._rules
        (player,), (decision,) = players, decisions
        value = decision.value
        self._num_moves += 1
        self._level = self._level + 1 if value is not None and abs(value) <= rules.draw_value else 0
        self._losing[player] = self._losing[player] + 1 if value is not None and value <= -rules.resign_value else 0
        if rules.draw_moves and self._num_moves // 2 >= rules.draw_from and self._level >= 2 * rules.draw_moves:
            return "draw"
        if rules.resign_moves and self._losing[player] >= rules.resign_moves:
            return "resignation"
        return None


def to_json(rules: Adjudication | None) -> dict[str, Any]:
    """Returns the entry in the header of a match's file; empty if games are played to their end."""
    return (
        {} if rules is None else {"adjudication": {name: getattr(rules, name) for name in rules.__dataclass_fields__}}
    )
