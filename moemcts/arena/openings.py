"""Start positions of matches: from seeds, or from positions in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from moemcts.arena.verdict import format_count
from moemcts.errors import GameFailure, MoemctsError, UnlawfulGame, UsageError, one_line, unreadable
from moemcts.game import CHANCE, Game, Start, State, after_step, first_state, lawful_state, random_action
from moemcts.validation import check_players

Order = Literal["sequential", "random"]

RANDOM_PLIES = 4
"""Random plies before games that always start in the same position; at most half of the usual length of a game."""
MEASURED_GAMES = 32
"""Number of random games, played for up to twice as many plies, from which the usual length is estimated."""
BOARDS_PER_SEED = 1_000_000
"""Number of start positions reserved for each seed."""
MAX_FAILED_GAMES = 1000
"""Maximum number of consecutive games that end before an opening is found."""
MAX_REPEATED = 1000
"""Number of consecutive repeated positions after which repeats are accepted."""

NO_LINES = "expected a file of lines of moves to take {plies} plies of, but {path} is one of positions"
"""Message for files whose openings cannot be truncated."""


@dataclass(frozen=True)
class Opening:
    """A start position and its name."""

    name: str
    start: State | int
    """The position, or the seed for one."""


@dataclass(frozen=True, kw_only=True)
class OpeningSettings:
    """How the games of a match start; `str` describes it."""

    path: Path | None = None
    """A file of openings; None for the game's own start positions."""
    opening_plies: int | None = None
    """Plies to take of each line in the file; None for all."""
    random_plies: int = 0

    @classmethod
    def of(
        cls, game: Game, *, path: Path | None = None, opening_plies: int | None = None, random_plies: int | None = None
    ) -> Self:
        """Returns how games start for these arguments, which are those of `starts`; raises GameFailure if the game
        fails.
        """
        if path is not None:
            return cls(path=path, opening_plies=opening_plies)
        return cls(random_plies=default_random_plies(game) if random_plies is None else random_plies)

    def __str__(self) -> str:
        if self.path is not None:
            plies = "" if self.opening_plies is None else f", {_format_plies(self.opening_plies)} of each line"
            return f"games begin in positions of {self.path}{plies}"
        if self.random_plies:
            return f"games begin after {_format_plies(self.random_plies, 'random ')} and are counted from there"
        return "games begin in the game's own start positions"

    def to_json(self) -> dict[str, Any]:
        """Returns the same as JSON values, by the names of a match's options."""
        values: dict[str, Any] = {"openings": "seeds" if self.path is None else str(self.path)}
        values |= {} if self.opening_plies is None else {"openings_plies": self.opening_plies}
        return values | {"random_plies": self.random_plies}


@dataclass(frozen=True)
class Suite:
    """The openings in a file, and its faults and repetitions."""

    path: Path
    openings: tuple[Opening, ...]
    faults: tuple[str, ...]
    """The fault of each entry that is not an opening, with its place."""
    num_repeated: int
    """Number of repeated entries that were left out."""

    @property
    def warning(self) -> str:
        """One line on what was left out of the file; empty if nothing was."""
        warnings = [_describe_faults(self.path, self.faults)] if self.faults else []
        if self.num_repeated:
            warnings.append(f"{self.path}: {format_count(self.num_repeated, 'position')} repeated, each taken once")
        return "; ".join(warnings)

    def choose(self, num_openings: int, order: Order, seed: int) -> list[Opening]:
        """Returns `num_openings` of the openings, in the order of the file or drawn without replacement.

        Raises UsageError if there are too few.
        """
        if num_openings > len(self.openings):
            raise UsageError(
                f"expected {num_openings} openings in {self.path}, got {len(self.openings)}; play fewer games"
            )
        if order == "sequential":
            return list(self.openings[:num_openings])
        rows = np.random.default_rng(seed).permutation(len(self.openings))[:num_openings]
        return [self.openings[int(number)] for number in rows]


def first_board(seed: int) -> int:
    """Returns the number of the first start position for a seed; different seeds have disjoint ranges."""
    return seed * BOARDS_PER_SEED


def openings_from_seeds(num_openings: int, *, first: int = 0) -> list[Opening]:
    """Returns the start positions of the seeds `first, first + 1, ...`."""
    return [Opening(f"seed {seed}", seed) for seed in range(first, first + num_openings)]


def random_openings(game: Game, num_openings: int, *, num_plies: int, first: int = 0) -> list[Opening]:
    """Returns positions after `num_plies` random plies, from the seeds `first, first + 1, ...`.

    For games with a single start position, in which deterministic agents would repeat one game over and over. Positions
    in which a player is already decided are skipped. Rewards of the random plies are not counted: games start at their
    openings. Positions are distinct as long as new ones are found: after MAX_REPEATED consecutive repeats, repeats are
    accepted. Asking for fewer openings gives a prefix. Raises UsageError if games are over or decided by then,
    GameFailure if the game fails.
    """
    openings: list[Opening] = []
    seen: set[int] = set()
    num_repeated = num_failed = 0
    seed = first
    while len(openings) < num_openings:
        if num_failed > MAX_FAILED_GAMES:
            raise UsageError(
                f"expected games of {game.spec.name} that go on after {num_plies} random plies, but {num_failed} "
                "in a row were over or decided for a player; use fewer --random-plies"
            )
        state = list(_random_game(game, seed, num_plies))[-1]
        with convert_game_errors(game):
            is_open = not any(state.is_decided(player) for player in range(game.spec.num_players))
            key = state.position_key()
        num_failed = 0 if is_open else num_failed + 1
        if is_open:
            num_repeated = num_repeated + 1 if key in seen else 0
            if not 0 < num_repeated <= MAX_REPEATED:
                openings.append(Opening(f"seed {seed}", state))
                seen.add(key)
        seed += 1
    return openings


def default_random_plies(game: Game) -> int:
    """Returns the default number of random plies at the start of games; 0 for games that vary by themselves.

    These are games whose start positions depend on the seed, and games with chance nodes within the plies that would be
    random. For others it is RANDOM_PLIES, but at most half of the median length of random games. Raises GameFailure if
    the game fails.
    """
    with convert_game_errors(game):
        if len({first_state(game, number).key() for number in range(4)}) > 1:
            return 0
    games = [list(_random_game(game, seed, 2 * RANDOM_PLIES)) for seed in range(MEASURED_GAMES)]
    if all(any(CHANCE in state.active_players for state in states[:RANDOM_PLIES]) for states in games):
        return 0
    lengths = sorted(len(states) - 1 for states in games)
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
    """Returns start positions: those of a file, in an order drawn by the seed, or the game's own.

    The game's own are those of the seeds `seed, seed + 1, ...`, after `random_plies` random moves, by default
    `default_random_plies`. Raises UsageError if the file has too few positions, GameFailure if the game fails.
    """
    if path is not None:
        return read_openings(game, path).choose(num_openings, order, seed)
    if random_plies is None:
        random_plies = default_random_plies(game)
    if random_plies:
        return random_openings(game, num_openings, num_plies=random_plies, first=seed)
    return openings_from_seeds(num_openings, first=seed)


def read_openings(game: Game, path: Path, *, plies: int | None = None) -> Suite:
    """Returns the openings of a file in a format of the game, or of a text file with one position per line.

    Lines of text are parsed by `game.parse_state`; empty ones and those that start with `#` are skipped. Entries that
    are invalid, or in which the game is over, are left out and listed in `faults`. `plies` truncates openings that are
    lines of moves. Raises UsageError if no entry is valid, MoemctsError if the file cannot be read.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"expected a file of openings, but {path} is not a file")
    openings: dict[int, Opening] = {}
    faults = []
    num_entries = 0
    try:
        parsed_starts = game.read_starts(path, plies=plies)
        if parsed_starts is None and plies is not None:
            raise UsageError(NO_LINES.format(plies=plies, path=path))
        for start in _parse_lines(game, path) if parsed_starts is None else parsed_starts:
            num_entries += 1
            if start.state is None:
                faults.append(f"{start.place}: {start.fault}")
            elif not lawful_state(start.state, game.spec).active_players:
                faults.append(f"{start.place}: the game is over")
            else:
                name = f"{start.place} ({start.name})" if start.name else start.place
                openings.setdefault(start.state.position_key(), Opening(name, start.state))
    except OSError as error:
        raise unreadable(f"the openings {path}", error) from error
    except UnicodeDecodeError as error:
        raise MoemctsError(f"cannot read the openings {path}: it is not UTF-8 text") from error
    if not openings:
        if faults:
            raise UsageError(_describe_faults(path, faults))
        raise UsageError(f"expected positions of {game.spec.name} in {path}, one per line, got none")
    return Suite(path, tuple(openings.values()), tuple(faults), num_entries - len(openings) - len(faults))


@contextmanager
def convert_game_errors(game: Game) -> Iterator[None]:
    """Converts exceptions of the game to GameFailure, with name and location; MoemctsError is passed through."""
    try:
        yield
    except UnlawfulGame as error:
        raise UnlawfulGame(error.reason, game.spec.name) from error
    except MoemctsError:
        raise
    except Exception as error:
        raise GameFailure(f"{game.spec.name} raised {one_line(error)}") from error


def _random_game(game: Game, seed: int, num_plies: int) -> Iterator[State]:
    """Yields the positions of a random game, up to `num_plies` or to its end."""
    rng = np.random.default_rng(seed)
    with convert_game_errors(game):
        state = first_state(game, seed)
        check_players(game.spec, state.active_players)
        yield state
        for _ in range(num_plies):
            if not (players := state.active_players):
                return
            state = after_step(game.spec, state, [random_action(state, player, rng) for player in players])
            check_players(game.spec, state.active_players)
            yield state


def _format_plies(number: int, kind: str = "") -> str:
    return f"{number} {kind}{'ply' if number == 1 else 'plies'}"


def _parse_lines(game: Game, path: Path) -> Iterator[Start]:
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            yield Start(f"line {number}", game.parse_state(text))
        except ValueError as error:
            yield Start(f"line {number}", None, fault=str(error))
        except Exception as error:
            # Any exception of the game, as user input may be anything.
            yield Start(f"line {number}", None, fault=one_line(error))


def _describe_faults(path: Path, faults: Sequence[str]) -> str:
    shown = "; ".join(faults[:3])
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return f"{path} has {len(faults)} bad entr{'ies' if len(faults) > 1 else 'y'}: {shown}{more}"
