"""Schedules: the games of a match, as pure functions of agents and openings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moemcts.agents import Agent
from moemcts.arena.openings import Opening, openings_from_seeds
from moemcts.arena.records import Lineup
from moemcts.errors import UsageError, unknown_name
from moemcts.game import Game, Player

Remake = Callable[[], tuple[Game, Sequence[Lineup]]]
"""Creates a game and the lineups of a schedule, including agents, in another process; must be picklable."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The games of a match, and the header of its file."""

    game: str
    lineups: Sequence[Lineup] = field(repr=False)
    header: Mapping[str, Any]
    """Header of the file of these games, in this order."""
    identity: Mapping[str, Any] = field(default_factory=dict)
    """What else determines the games, such as hashes of checkpoints."""
    remake: Remake | None = None
    """Allows other processes to play the schedule; None if only this one can."""


@dataclass(frozen=True, kw_only=True)
class MatchSchedule(Schedule):
    """Arms that play the same games against the same field."""

    arms: tuple[str, ...]
    num_seats: int


@dataclass(frozen=True, kw_only=True)
class SoloSchedule(MatchSchedule):
    """Arms in a single-player game, each alone."""

    score_unit: float
    """A return of 1 in units of the game's own score."""


@dataclass(frozen=True, kw_only=True)
class DuelSchedule(Schedule):
    """Agents that play each other."""

    names: tuple[str, ...]
    seatings: tuple[tuple[str, ...], ...]
    """The rotations of agents over seats, each by player."""
    sides: tuple[tuple[Player, ...], ...]
    """The opposing sides, see `GameSpec.sides`."""


def match_schedule(
    game: Game,
    arms: Mapping[str, Agent],
    field: Agent | Sequence[Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    identity: Mapping[str, Any] | None = None,
    remake: Remake | None = None,
) -> MatchSchedule:
    """Returns `num_games` games of every arm against the field.

    Game `i` of every arm is on opening `i // P` with the arm in seat `i % P`: each opening is played once per seat,
    with the same randomness of every seat for all arms. `field` is the agent in all other seats, or one agent for each
    seat after the arm's, in order. Without `openings`, they are from seeds starting at 0. Raises UsageError if there
    are too few openings.
    """
    num_players = game.spec.num_players
    others = _other_agents(field, num_players)
    names = tuple(arms)
    if not names:
        raise ValueError("expected at least one arm, got none")
    num_boards = -(-num_games // num_players)
    boards = openings_from_seeds(num_boards) if openings is None else openings
    if len(boards) < num_boards:
        raise UsageError(
            f"expected {num_boards} openings for {num_games} games in {num_players} seats, got {len(boards)}"
        )
    lineups = [
        Lineup(
            agents=_seat_agents(arms[name], others, seat),
            opening=boards[board].start,
            opening_name=boards[board].name,
            seed=board * num_players + seat,
            label=name,
            focus=seat,
        )
        for board, seat in (divmod(i, num_players) for i in range(num_games))
        for name in arms
    ]
    header = {
        "format": "moemcts match 1",
        "game": game.spec.name,
        "arms": list(names),
        "field": [agent.name for agent in others],
    }
    return MatchSchedule(
        game=game.spec.name,
        lineups=lineups,
        header=header,
        identity=identity or {},
        remake=remake,
        arms=names,
        num_seats=num_players,
    )


def duel_schedule(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    seating: Sequence[str] = (),
    identity: Mapping[str, Any] | None = None,
    remake: Remake | None = None,
) -> DuelSchedule:
    """Returns `num_games` games of the agents against each other.

    `seating` names the agent in each seat in the first game on an opening; following games rotate it by one side until
    it repeats. A side is a seat or, in team games, a team, whose members are one agent. By default, agents take the
    sides in turn: A B with two players, A B A B with four, each alone or in two teams. Raises UsageError if there are
    too few openings, ValueError if an agent has no seat or a team has two agents.
    """
    seatings = duel_seatings(game, tuple(agents), seating)
    num_openings = -(-num_games // len(seatings))
    starts = openings_from_seeds(num_openings) if openings is None else openings
    if len(starts) < num_openings:
        raise UsageError(f"expected {num_openings} openings for {num_games} games, got {len(starts)}")
    lineups = [
        Lineup(
            agents=[agents[name] for name in seatings[turn]],
            opening=starts[number].start,
            opening_name=starts[number].name,
            seed=number * len(seatings) + turn,
            label=" ".join(seatings[turn]),
        )
        for number, turn in (divmod(i, len(seatings)) for i in range(num_games))
    ]
    header = {
        "format": "moemcts duel 1",
        "game": game.spec.name,
        "agents": {name: agent.name for name, agent in agents.items()},
        "seating": list(seatings[0]),
    }
    return DuelSchedule(
        game=game.spec.name,
        lineups=lineups,
        header=header,
        identity=identity or {},
        remake=remake,
        names=tuple(agents),
        seatings=seatings,
        sides=game.spec.sides,
    )


def duel_seatings(game: Game, names: Sequence[str], seating: Sequence[str] = ()) -> tuple[tuple[str, ...], ...]:
    """Returns the seatings of the games on one opening, each by player; see `duel_schedule`."""
    sides = game.spec.sides
    first_seating = tuple(seating) or seating_of(game, names)
    _check_seating(first_seating, names, game.spec.num_players)
    for side in sides:
        if len({first_seating[player] for player in side}) > 1:
            raise ValueError(
                "expected the same agent for all members of a team, got "
                f"{' '.join(first_seating[player] for player in side)}"
            )
    by_side = tuple(first_seating[side[0]] for side in sides)
    # Rotated by 0, 1, ... sides, without repetitions.
    rotations = [by_side[len(sides) - shift :] + by_side[: len(sides) - shift] for shift in range(len(sides))]
    return tuple(dict.fromkeys(seating_of(game, rotation) for rotation in rotations))


def seating_of(game: Game, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the agent in each seat, by player, if agents take the sides in turn; empty without names."""
    seating = [""] * (game.spec.num_players if names else 0)
    for number, side in enumerate(game.spec.sides if names else ()):
        for player in side:
            seating[player] = names[number % len(names)]
    return tuple(seating)


def _check_seating(seating: Sequence[str], names: Sequence[str], num_players: int) -> None:
    if len(names) < 2:
        raise ValueError(f"expected at least two agents, got {len(names)}")
    for name in seating:
        if name not in names:
            raise unknown_name("agent", name, names)
    unseated = [name for name in names if name not in seating]
    if unseated or len(seating) != num_players:
        raise ValueError(
            f"expected each of the {len(names)} agents to have one of {num_players} seats, got {' '.join(seating)}"
        )


def _seat_agents(agent: Agent, others: Sequence[Agent], seat: Player) -> list[Agent]:
    # The field is ordered starting from the seat after the arm's.
    num_players = len(others) + 1
    return [agent if player == seat else others[(player - seat) % num_players - 1] for player in range(num_players)]


def _other_agents(field: Agent | Sequence[Agent], num_players: int) -> Sequence[Agent]:
    if not isinstance(field, Sequence):
        return [field] * (num_players - 1)
    if len(field) != num_players - 1:
        raise ValueError(f"expected {num_players - 1} agents in the field, one per other seat, got {len(field)}")
    return field
