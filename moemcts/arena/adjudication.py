"""Games that need not be played to their end: what both sides think decides them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from moemcts.agents import Decision
from moemcts.errors import UsageError, unknown_name
from moemcts.game import CHANCE, Game, Player
from moemcts.references import parse_reference


@dataclass(frozen=True, kw_only=True)
class Adjudication:
    """When a game of two players is broken off, and as what.

    Meaning and defaults are those of the M2CTS papers' matches, cutechess' `-draw movenumber=30 movecount=4 score=20
    -resign movecount=5 score=600`; their centipawns are values v here: 1 - 1.4 ** (-centipawns / 100) by the
    formula of their engine, CrazyAra.
    """

    draw_value: float = 0.065
    """A draw where |v| of both sides stays at or below this, 20 centipawns,"""
    draw_moves: int = 4
    """for this many moves of each side in a row (0: no draws),"""
    draw_from: int = 30
    """and each side has made this many in the game; an opening's do not count."""
    resign_value: float = 0.867
    """Lost for the side whose own v stays at or below minus this, 600 centipawns,"""
    resign_moves: int = 5
    """for this many of its moves in a row (0: nobody resigns)."""

    def __post_init__(self) -> None:
        for name in ("draw_value", "resign_value"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ValueError(f"expected {name} between 0 and 1, got {value!r}")
        for name in ("draw_moves", "draw_from", "resign_moves"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"expected a number of moves for {name}, got {value!r}")


def parse_adjudication(text: str) -> Adjudication | None:
    """Returns what `off`, `papers` or `papers?draw_from=40&resign_moves=0` names; raises UsageError for else."""
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
    """Raises UsageError where the game is not one of two players in turn whose returns sum to zero."""
    if game.spec.num_players != 2 or game.spec.utility_sum != 0:
        raise UsageError(f"expected a zero-sum game of two players to adjudicate, got {game.spec.name}")
    if len(game.initial_state().active_players) > 1:
        raise UsageError(f"expected a game of turns to adjudicate, but the players of {game.spec.name} move at once")


class Adjudicator:
    """Follows one game and says when it is over."""

    def __init__(self, rules: Adjudication) -> None:
        self._rules = rules
        self._num_moves = 0
        """Of both sides, from where the game started."""
        self._level = 0
        """Moves in a row, of both sides, with a value near zero."""
        self._losing = [0, 0]
        """Moves in a row of each side with a value that is lost."""

    def note(self, players: Sequence[Player], decisions: Sequence[Decision]) -> Literal["draw", "resignation"] | None:
        """Takes in the next decisions of the game, and returns how it has ended, if so.

        Who expects nothing neither agrees to a draw nor resigns; moves at once are no answers to each other.
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
    """Returns what the header of a match's file says of it; nothing where games are played out."""
    return (
        {} if rules is None else {"adjudication": {name: getattr(rules, name) for name in rules.__dataclass_fields__}}
    )
