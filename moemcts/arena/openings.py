"""Where the games of a match start: from seeds, or from positions in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from moemcts.arena.verdict import counted
from moemcts.errors import GameFailure, MoemctsError, UsageError, one_line, unreadable
from moemcts.game import CHANCE, Game, Start, State, random_action
from moemcts.given import check_players

Order = Literal["sequential", "random"]

RANDOM_PLIES = 4
"""Moves at random before the games of games that always start alike: no more than half of a game's usual length."""
MEASURED_GAMES = 32
"""Games at random, gone through for twice as many plies, from which it is known how long games are."""
BOARDS_PER_SEED = 1_000_000
"""Start positions that are set aside for the games of one seed."""
MOST_IN_VAIN = 1000
"""Games in a row that may end before an opening is found."""
MOST_REPEATED = 1000
"""Positions in a row that may have been there before, until they are taken again."""

NO_LINES = "expected a file of lines of moves to take {plies} plies of, but {path} is one of positions"
"""Said of files that are not cut."""


@dataclass(frozen=True)
class Opening:
    """A start position and what it is called."""

    name: str
    start: State | int
    """The position, or the seed of one."""


@dataclass(frozen=True, kw_only=True)
class Beginnings:
    """How the games of a match begin, in words."""

    path: Path | None = None
    """A file of openings; the game's own starts without one."""
    opening_plies: int | None = None
    """Of each line of the file; all if None."""
    random_plies: int = 0

    @classmethod
    def of(
        cls, game: Game, *, path: Path | None = None, opening_plies: int | None = None, random_plies: int | None = None
    ) -> Self:
        """Returns how games begin that are told so much, as `starts` has it; raises GameFailure where the game does."""
        if path is not None:
            return cls(path=path, opening_plies=opening_plies)
        return cls(random_plies=usual_random_plies(game) if random_plies is None else random_plies)

    def __str__(self) -> str:
        if self.path is not None:
            plies = "" if self.opening_plies is None else f", {_plies(self.opening_plies)} of each line"
            return f"games begin in positions of {self.path}{plies}"
        if self.random_plies:
            return f"games begin after {_plies(self.random_plies, 'random ')} and are counted from there"
        return "games begin in the game's own start positions"

    def to_json(self) -> dict[str, Any]:
        """Returns the same as JSON values, by the names of a match's options."""
        found: dict[str, Any] = {"openings": "seeds" if self.path is None else str(self.path)}
        found |= {} if self.opening_plies is None else {"openings_plies": self.opening_plies}
        return found | {"random_plies": self.random_plies}


@dataclass(frozen=True)
class Suite:
    """The openings in a file, and what else was in it."""

    path: Path
    openings: tuple[Opening, ...]
    faults: tuple[str, ...]
    """What is wrong with each entry that is no opening, with its place."""
    num_repeated: int
    """Entries that came before and were left out."""

    @property
    def complaint(self) -> str:
        """One line on what was left out of the file; empty where nothing was."""
        repeated = f"{counted(self.num_repeated, 'position')} repeated, each taken once" if self.num_repeated else ""
        return "; ".join(filter(None, [_faults(self.path, self.faults), repeated and f"{self.path}: {repeated}"]))

    def choose(self, num_openings: int, order: Order, seed: int) -> list[Opening]:
        """Returns as many of the openings, as they stand in the file or drawn without replacement.

        Raises UsageError where there are too few.
        """
        if num_openings > len(self.openings):
            raise UsageError(
                f"expected {num_openings} openings in {self.path}, got {len(self.openings)}; play fewer games"
            )
        if order == "sequential":
            return list(self.openings[:num_openings])
        drawn = np.random.default_rng(seed).permutation(len(self.openings))[:num_openings]
        return [self.openings[int(number)] for number in drawn]


def first_board(seed: int) -> int:
    """Returns the number of the first start position of a match's seed: those of different seeds are others."""
    return seed * BOARDS_PER_SEED


def openings_from_seeds(num_openings: int, *, first: int = 0) -> list[Opening]:
    """Returns the start positions of the seeds `first, first + 1, ...`."""
    return [Opening(f"seed {seed}", seed) for seed in range(first, first + num_openings)]


def random_openings(game: Game, num_openings: int, *, num_plies: int, first: int = 0) -> list[Opening]:
    """Returns positions after so many plies at random, from the seeds `first, first + 1, ...`.

    For games with a single start position, in which agents without randomness would play one game over and over.
    Positions in which somebody is decided already are none. What the random plies pay is nobody's: games are counted
    from their openings on. Positions differ from each other as long as others are found: MOST_REPEATED repeats in a row
    say that there are no more. Fewer openings are the first of more. Raises UsageError where games are over by then or
    decided, GameFailure where the game raises.
    """
    openings: list[Opening] = []
    seen: set[int] = set()
    num_repeated = num_in_vain = 0
    seed = first
    while len(openings) < num_openings:
        if num_in_vain > MOST_IN_VAIN:
            raise UsageError(
                f"expected games of {game.spec.name} that go on after {num_plies} random plies, but {num_in_vain} in a "
                "row were over or decided for somebody; take fewer --random-plies"
            )
        state = list(_random_course(game, seed, num_plies))[-1]
        with guarded(game):
            is_open = not any(state.is_decided(player) for player in range(game.spec.num_players))
            key = state.position_key()
        num_in_vain = 0 if is_open else num_in_vain + 1
        if is_open:
            num_repeated = num_repeated + 1 if key in seen else 0
            if not 0 < num_repeated <= MOST_REPEATED:
                openings.append(Opening(f"seed {seed}", state))
                seen.add(key)
        seed += 1
    return openings


def usual_random_plies(game: Game) -> int:
    """Returns how many plies at random games begin with where nobody says, 0 where games differ by themselves.

    They do where starts differ by their seeds, and where chance moves within the plies that would be random. Elsewhere
    it is RANDOM_PLIES, but no more than half of the median length of games at random. Raises GameFailure where the
    game raises.
    """
    with guarded(game):
        if len({game.initial_state(number).key() for number in range(4)}) > 1:
            return 0
    courses = [list(_random_course(game, seed, 2 * RANDOM_PLIES)) for seed in range(MEASURED_GAMES)]
    if all(any(CHANCE in state.active_players for state in course[:RANDOM_PLIES]) for course in courses):
        return 0
    lengths = sorted(len(course) - 1 for course in courses)
    return min(RANDOM_PLIES, lengths[MEASURED_GAMES // 2] // 2)


def starts(
    game: Game,
    num_openings: int,
    *,
    path: Path | None = None,
    order: Order = "random",
    random_plies: int | None = None,
    seed: int = 0,
) -> list[Opening]:
    """Returns where games start: positions of a file, in an order that the seed draws, or the game's own starts.

    The game's own are those of the seeds `seed, seed + 1, ...`, after `random_plies` moves at random, by default
    as many as `usual_random_plies` says. Raises UsageError where the file has too few positions, GameFailure where the
    game raises.
    """
    if path is not None:
        return read_openings(game, path).choose(num_openings, order, seed)
    if random_plies is None:
        random_plies = usual_random_plies(game)
    if random_plies:
        return random_openings(game, num_openings, num_plies=random_plies, first=seed)
    return openings_from_seeds(num_openings, first=seed)


def read_openings(game: Game, path: Path, *, plies: int | None = None) -> Suite:
    """Returns the openings of a file in a format of the game, or of a text file with one position per line.

    Lines of text are as `game.parse_state` reads them; empty ones and those that begin with `#` are passed over.
    Entries that are no position, and positions in which the game is over, are left out and named in `faults`.
    `plies` cuts openings that are lines of moves. Raises UsageError where no entry is good, MoemctsError where the
    file cannot be read.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"expected a file of openings, but {path} is none")
    openings: dict[int, Opening] = {}
    faults = []
    num_entries = 0
    try:
        given = game.read_starts(path, plies=plies)
        if given is None and plies is not None:
            raise UsageError(NO_LINES.format(plies=plies, path=path))
        for start in _lines(game, path) if given is None else given:
            num_entries += 1
            if start.state is None:
                faults.append(f"{start.place}: {start.fault}")
            elif not start.state.active_players:
                faults.append(f"{start.place}: the game is over")
            else:
                name = f"{start.place} ({start.name})" if start.name else start.place
                openings.setdefault(start.state.position_key(), Opening(name, start.state))
    except OSError as error:
        raise unreadable(f"the openings {path}", error) from error
    except UnicodeDecodeError as error:
        raise MoemctsError(f"cannot read the openings {path}: it is no text in UTF-8") from error
    if not openings:
        raise UsageError(
            _faults(path, faults) or f"expected positions of {game.spec.name} in {path}, one per line, got none"
        )
    return Suite(path, tuple(openings.values()), tuple(faults), num_entries - len(openings) - len(faults))


@contextmanager
def guarded(game: Game) -> Iterator[None]:
    """Makes a GameFailure of what the game raises, which names game and place; errors for users stay as they are."""
    try:
        yield
    except MoemctsError:
        raise
    except Exception as error:
        raise GameFailure(f"{game.spec.name} raised {one_line(error)}") from error


def _random_course(game: Game, seed: int, num_plies: int) -> Iterator[State]:
    """Yields the positions of a game at random, so many plies of it or all that there are."""
    rng = np.random.default_rng(seed)
    with guarded(game):
        state = game.initial_state(seed)
        check_players(game.spec, state.active_players)
        yield state
        for _ in range(num_plies):
            if not (players := state.active_players):
                return
            state = state.play([random_action(state, player, rng) for player in players])
            check_players(game.spec, state.active_players)
            yield state


def _plies(number: int, kind: str = "") -> str:
    return f"{number} {kind}{'ply' if number == 1 else 'plies'}"


def _lines(game: Game, path: Path) -> Iterator[Start]:
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            yield Start(f"line {number}", game.parse_state(text))
        except ValueError as error:
            yield Start(f"line {number}", None, fault=str(error))
        except Exception as error:
            # Whatever a game raises: what users write may be anything.
            yield Start(f"line {number}", None, fault=one_line(error))


def _faults(path: Path, faults: Sequence[str]) -> str:
    if not faults:
        return ""
    shown = "; ".join(faults[:3])
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return f"{path} has {len(faults)} bad entr{'ies' if len(faults) > 1 else 'y'}: {shown}{more}"
