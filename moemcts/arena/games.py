"""Many games at once, in lock-step: all positions that wait for one agent are one batch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from moemcts.agents import Agent, Seat
from moemcts.game import FloatArray, Game, Player, State

_64_BITS = 2**64 - 1

Outcome = Literal["win", "tie", "loss"]
OutcomeRule = Callable[[FloatArray, Player], Outcome | None]


def last_one_standing(returns: FloatArray, player: Player) -> Outcome | None:
    """Returns what a game was for `player`, or None where nobody has a positive return.

    A win is a positive return that no other exceeds; a loss, that only others have one. None means a tie if the
    game is over, and a loss if `player` is out (its return is negative) while others play on: this is how
    `play_games` reads it. Where the last players of a free-for-all fall together, or time runs out, all returns
    are negative and the game is a tie for those who were in it until then, as in the rules of Pommerman.
    """
    if returns[player] > 0 and returns[player] >= returns.max():
        return "win"
    return "loss" if returns.max() > 0 else None


@dataclass(frozen=True, kw_only=True)
class Lineup:
    """One game to be played: where it starts and who sits where."""

    agents: Sequence[Agent]
    """One per player."""
    opening: State | int = 0
    """A start position, or the seed of one."""
    opening_name: str = ""
    seed: int = 0
    """Decides the randomness of every seat, together with the seed of `play_games`."""
    label: str = ""
    focus: Player | None = None
    """The player whom the game is about: it stops as soon as this player's return is decided."""


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """What is kept of a game."""

    index: int
    """The position of its lineup among the lineups, from 0."""
    label: str
    agents: tuple[str, ...]
    """Names, by player."""
    opening: str
    start_key: int
    """The key of the start position, not negative."""
    focus: Player | None
    returns: tuple[float, ...]
    """What was decided when the game stopped, by player."""
    outcome: Outcome | None
    """For the focus player; None without one."""
    plies: int
    """Moves or simultaneous steps played since the opening."""
    truncated: bool
    """Whether the limit of plies ended it."""
    moves: tuple[tuple[int, ...], ...]
    """Joint actions, one per ply."""

    def to_json(self) -> dict[str, Any]:
        """Returns the record as JSON values; moves are one string, plies apart by spaces."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["start_key"] = f"{self.start_key:016x}"
        values["moves"] = " ".join(",".join(map(str, joint)) for joint in self.moves)
        return values | {"agents": list(self.agents), "returns": list(self.returns)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Returns what `to_json` wrote; raises KeyError, TypeError or ValueError for anything else."""
        fields = {name: values[name] for name in cls.__dataclass_fields__}
        fields["start_key"] = int(values["start_key"], 16)
        fields["agents"] = tuple(values["agents"])
        fields["returns"] = tuple(float(value) for value in values["returns"])
        fields["moves"] = tuple(tuple(map(int, joint.split(","))) for joint in values["moves"].split())
        return cls(**fields)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the games are, after each round."""

    num_finished: int
    num_running: int
    """That took part in the round."""
    num_plies: int
    """Played in all games so far."""


def play_games(
    game: Game,
    lineups: Iterable[Lineup],
    *,
    seed: int = 0,
    max_parallel: int = 256,
    max_plies: int | None = None,
    rule: OutcomeRule = last_one_standing,
    on_progress: Callable[[Progress], None] | None = None,
) -> Generator[GameRecord, None, None]:
    """Yields the record of each game when it ends; up to `max_parallel` are played side by side.

    In a round every agent is asked once, for all views that wait for it. Each (game, player) has a `Seat` of its
    own whose randomness comes from `(seed, lineup.seed, player)`, so a game is the same whatever runs beside it,
    as far as its agents keep what `Seat` asks of them. Actions are not checked for legality.
    Raises ValueError if a lineup does not seat every player or an agent answers with another number of actions.
    """
    if max_parallel < 1:
        raise ValueError(f"expected room for at least one game, got max_parallel={max_parallel}")
    limit = game.spec.max_plies if max_plies is None else max_plies
    waiting = enumerate(lineups)
    running: list[_Running] = []
    num_finished = num_plies = 0
    while True:
        while len(running) < max_parallel and (following := next(waiting, None)) is not None:
            one = _start(game, *following, seed)
            if one.goes_on(limit):
                running.append(one)
            else:
                num_finished += 1
                yield one.record(rule)
        if not running:
            return
        _play_round(game, running)
        num_plies += len(running)
        playing: list[_Running] = []
        finished: list[_Running] = []
        for one in running:
            (playing if one.goes_on(limit) else finished).append(one)
        running = playing
        for one in finished:
            num_finished += 1
            yield one.record(rule)
        if on_progress is not None:
            on_progress(
                Progress(num_finished=num_finished, num_running=len(playing) + len(finished), num_plies=num_plies)
            )


@dataclass(slots=True)
class _Running:
    index: int
    lineup: Lineup
    state: State
    players: tuple[Player, ...]
    """Who moves now."""
    seats: list[Seat]
    start_key: int
    moves: list[list[int]] = field(default_factory=list)

    def goes_on(self, limit: int) -> bool:
        if not self.players or len(self.moves) >= limit:
            return False
        focus = self.lineup.focus
        # A decided player is never active again, so an active one need not be asked about.
        return focus is None or focus in self.players or not self.state.returns()[focus]

    def record(self, rule: OutcomeRule) -> GameRecord:
        returns = self.state.returns()
        focus = self.lineup.focus
        is_decided = focus is not None and bool(self.players) and bool(returns[focus])
        outcome = None if focus is None else rule(returns, focus) or ("loss" if is_decided else "tie")
        return GameRecord(
            index=self.index,
            label=self.lineup.label,
            agents=tuple(agent.name for agent in self.lineup.agents),
            opening=self.lineup.opening_name,
            start_key=self.start_key,
            focus=focus,
            returns=tuple(float(value) for value in returns),
            outcome=outcome,
            plies=len(self.moves),
            truncated=bool(self.players) and not is_decided,
            moves=tuple(map(tuple, self.moves)),
        )


def _start(game: Game, index: int, lineup: Lineup, seed: int) -> _Running:
    num_players = game.spec.num_players
    if len(lineup.agents) != num_players:
        raise ValueError(f"expected an agent for each of {num_players} players, got {len(lineup.agents)}")
    opening = lineup.opening
    state = game.initial_state(opening) if isinstance(opening, int) else opening
    seats = [
        Seat(player, np.random.default_rng(np.random.SeedSequence([seed, lineup.seed, player])))
        for player in range(num_players)
    ]
    return _Running(index, lineup, state, state.active_players, seats, state.key() & _64_BITS)


class _Batch:
    """What one agent is asked in one round."""

    __slots__ = ("agent", "pairs", "places", "seats")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.pairs: list[tuple[State, Player]] = []
        self.seats: list[Seat] = []
        self.places: list[tuple[list[int], int]] = []


def _play_round(game: Game, running: Sequence[_Running]) -> None:
    batches: dict[int, _Batch] = {}
    for one in running:
        joint = [0] * len(one.players)
        one.moves.append(joint)
        agents = one.lineup.agents
        for slot, player in enumerate(one.players):
            agent = agents[player]
            batch = batches.get(id(agent))
            if batch is None:
                batch = batches[id(agent)] = _Batch(agent)
            batch.pairs.append((one.state, player))
            batch.seats.append(one.seats[player])
            batch.places.append((joint, slot))
    for batch in batches.values():
        actions = batch.agent.act(game.views(batch.pairs), batch.seats)
        if len(actions) != len(batch.places):
            raise ValueError(
                f"expected {len(batch.places)} actions, one per view, from agent {batch.agent.name!r}, "
                f"got {len(actions)}"
            )
        for (joint, slot), action in zip(batch.places, actions, strict=True):
            joint[slot] = int(action)
    for one in running:
        one.state = one.state.play(one.moves[-1])
        one.players = one.state.active_players
