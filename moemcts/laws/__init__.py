"""Tools for checking laws: counting cases, reporting violations, and random games to check them in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from moemcts.errors import MAX_CHARACTERS
from moemcts.game import CHANCE, Game, Player, State, any_of

TOLERANCE = 1e-5
"""Tolerance for sums of float32 numbers."""
MAX_SEED = 2**63 - 1
"""The largest seed, of games and of determinizations."""

T = TypeVar("T")


class BrokenLaw(AssertionError):
    """A law is violated."""


@dataclass(frozen=True)
class Law:
    """A law that was checked, or one that could not be."""

    name: str
    num_cases: int
    not_checked: str = ""
    """Why it was not checked; empty if it was."""


class Laws:
    """Laws that were checked, with the number of cases."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._reasons: dict[tuple[str, str], None] = {}

    @property
    def checked(self) -> list[Law]:
        """The laws checked so far, followed by those that could not be."""
        checked = [Law(name, count) for name, count in self._counts.items()]
        return checked + [Law(name, 0, reason) for name, reason in self._reasons]

    def expect(self, law: str, holds: bool, message: str | Callable[[], str]) -> None:
        """Counts a case of a law; raises BrokenLaw with the message if the law does not hold.

        An expensive message can be passed as a function, which is called only in that case.
        """
        self._counts[law] = self._counts.get(law, 0) + 1
        if not holds:
            raise BrokenLaw(f"{law}: {message if isinstance(message, str) else message()}")

    def skip(self, law: str, reason: str) -> None:
        """Records that a law could not be checked, and why."""
        self._reasons[law, reason] = None


@contextlib.contextmanager
def error_context(context: str) -> Iterator[None]:
    """Appends `context` to the message of a BrokenLaw raised in the block, or adds it as a note to another error."""
    try:
        yield
    except BrokenLaw as broken:
        raise BrokenLaw(f"{broken}; {context}") from None
    except Exception as error:
        error.add_note(context)
        raise


def describe_position(game: Game, state: State) -> str:
    """Returns a position's text for error messages, truncated if long; its type if it cannot be formatted."""
    try:
        return f"{game.format_state(state)!r:.{MAX_CHARACTERS}}"
    except Exception:
        return f"one of type {type(state).__name__}"


def evenly_spaced(items: Sequence[T], count: int) -> list[T]:
    """Returns at most `count` items, evenly spaced."""
    count = min(count, len(items))
    return [items[len(items) * number // count] for number in range(count)]


def random_game(game: Game, rng: np.random.Generator, seed: int) -> tuple[list[State], list[list[int]]]:
    """Returns the positions of a random game and the joint action in each; raises BrokenLaw if the game fails."""
    states, joints = [checked_type("initial_state", game.initial_state(seed), State)], list[list[int]]()
    while players := checked_type("active_players", states[-1].active_players, tuple):
        if len(states) > game.spec.max_plies:
            raise BrokenLaw(f"no game is longer than max_plies: the game is not over after {game.spec.max_plies} plies")
        joints.append(random_joint(states[-1], players, rng))
        states.append(checked_type("play", states[-1].play(joints[-1]), State))
    return states, joints


def random_joint(state: State, players: Sequence[Player], rng: np.random.Generator) -> list[int]:
    """Returns a random action for each active player; raises BrokenLaw if one of them has none."""
    legal = [checked_type("legal_actions", state.legal_actions(player), Sequence, np.ndarray) for player in players]
    if not all(len(actions) for actions in legal):
        raise BrokenLaw(f"every active player has a legal action: one of {tuple(players)} has none")
    if tuple(players) == (CHANCE,):
        return [_random_outcome(state, rng)]
    return [any_of(actions, rng) for actions in legal]


def checked_type(method: str, value: Any, *types: type) -> Any:
    """Returns the value that a method returned; raises BrokenLaw unless it is of one of the declared types."""
    if not isinstance(value, types):
        expected = " or ".join(declared.__name__ for declared in types)
        raise BrokenLaw(f"methods return what is declared: expected {expected} of {method}, got {value!r:.80}")
    return value


def random_pairs(game: Game, num_games: int, seed: int) -> Iterator[tuple[State, Player]]:
    """Yields the positions of random games with each of their active players."""
    for index in range(num_games):
        for state in random_game(game, np.random.default_rng([seed, index]), index)[0]:
            yield from ((state, player) for player in state.active_players if player != CHANCE)


def _random_outcome(state: State, rng: np.random.Generator) -> int:
    """Returns a random outcome at a chance node."""
    outcomes, chances = state.legal_actions(CHANCE), np.asarray(state.chances(), dtype=np.float64)
    if len(chances) != len(outcomes) or not (chances >= 0).all() or abs(chances.sum() - 1) > TOLERANCE:
        raise BrokenLaw(f"chances are a distribution: got {chances} for the outcomes {list(outcomes)}")
    return int(rng.choice(outcomes, p=chances / chances.sum()))
