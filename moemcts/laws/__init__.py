"""What laws are made of: how they are counted, how a broken one is said, and the games that they are checked in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from moemcts.errors import MOST_CHARACTERS
from moemcts.game import CHANCE, Game, Player, State

TOLERANCE = 1e-5
"""How far sums of float32 numbers may be off."""
LARGEST_SEED = 2**63 - 1
"""Of those that games begin with, and of those by which positions are perceived."""

T = TypeVar("T")


class BrokenLaw(AssertionError):
    """A law that does not hold."""


@dataclass(frozen=True)
class Law:
    """One law that was checked, or one that could not be."""

    name: str
    num_cases: int
    not_checked: str = ""
    """Why it was not; empty where it was."""


class Laws:
    """Laws that were checked, and how often."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._reasons: dict[tuple[str, str], None] = {}

    @property
    def checked(self) -> list[Law]:
        """What was checked so far, and behind it what could not be."""
        checked = [Law(name, count) for name, count in self._counts.items()]
        return checked + [Law(name, 0, reason) for name, reason in self._reasons]

    def expect(self, law: str, holds: bool, found: str | Callable[[], str]) -> None:
        """Counts a case of a law; raises BrokenLaw, with what was found, where it does not hold.

        What takes long to say is said by a function, which is asked only then.
        """
        self._counts[law] = self._counts.get(law, 0) + 1
        if not holds:
            raise BrokenLaw(f"{law}: {found if isinstance(found, str) else found()}")

    def leave_out(self, law: str, reason: str) -> None:
        """Notes that a law could not be checked, and why."""
        self._reasons[law, reason] = None


@contextlib.contextmanager
def placed(place: str) -> Iterator[None]:
    """Says behind a law that is broken in what follows where that is, and in a note of any other error."""
    try:
        yield
    except BrokenLaw as broken:
        raise BrokenLaw(f"{broken}; {place}") from None
    except Exception as error:
        error.add_note(place)
        raise


def written(game: Game, state: State) -> str:
    """Returns how a position is written, for errors: cut where that is long, and its type where it cannot be."""
    try:
        return f"{game.format_state(state)!r:.{MOST_CHARACTERS}}"
    except Exception:
        return f"one of type {type(state).__name__}"


def spread(items: Sequence[T], count: int) -> list[T]:
    """Returns at most so many items, at equal distances."""
    count = min(count, len(items))
    return [items[len(items) * number // count] for number in range(count)]


def random_game(game: Game, rng: np.random.Generator, seed: int) -> tuple[list[State], list[list[int]]]:
    """Returns the positions of a game at random, and what was played in each; raises BrokenLaw where it cannot be."""
    states, joints = [returned("initial_state", game.initial_state(seed), State)], list[list[int]]()
    while players := returned("active_players", states[-1].active_players, tuple):
        if len(states) > game.spec.max_plies:
            raise BrokenLaw(f"no game is longer than max_plies: {game.spec.max_plies} plies and not over")
        joints.append(random_joint(states[-1], players, rng))
        states.append(returned("play", states[-1].play(joints[-1]), State))
    return states, joints


def random_joint(state: State, players: Sequence[Player], rng: np.random.Generator) -> list[int]:
    """Returns an action at random of each of those who move; raises BrokenLaw where one has none."""
    legal = [returned("legal_actions", state.legal_actions(player), Sequence, np.ndarray) for player in players]
    if not all(len(actions) for actions in legal):
        raise BrokenLaw(f"every active player has a legal action: one of {tuple(players)} has none")
    return [_draw(state, rng)] if tuple(players) == (CHANCE,) else [int(rng.choice(actions)) for actions in legal]


def returned(method: str, found: Any, *kinds: type) -> Any:
    """Returns what a method has returned; raises BrokenLaw where it is of none of the kinds that it is declared as."""
    if not isinstance(found, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise BrokenLaw(f"methods return what is declared: expected {expected} of {method}, got {found!r:.80}")
    return found


def random_pairs(game: Game, num_games: int, seed: int) -> Iterator[tuple[State, Player]]:
    """Yields who moves in which positions of games at random."""
    for index in range(num_games):
        for state in random_game(game, np.random.default_rng([seed, index]), index)[0]:
            yield from ((state, player) for player in state.active_players if player != CHANCE)


def _draw(state: State, rng: np.random.Generator) -> int:
    """Returns an outcome where chance moves."""
    outcomes, chances = state.legal_actions(CHANCE), np.asarray(state.chances(), dtype=np.float64)
    if len(chances) != len(outcomes) or not (chances >= 0).all() or abs(chances.sum() - 1) > TOLERANCE:
        raise BrokenLaw(f"chances are a distribution: got {chances} for the outcomes {list(outcomes)}")
    return int(rng.choice(outcomes, p=chances / chances.sum()))
