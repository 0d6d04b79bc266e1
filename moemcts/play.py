"""The one place where games advance: tables in lock-step, whose agents are asked once per round.

With two groups of tables one is thought about while the positions of the other are evaluated.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from moemcts.agents import Agent, Decision, Seat, thought_of
from moemcts.asking import Answer, ask, asking, check_interruptible, check_patience
from moemcts.errors import AgentFailure, Failure
from moemcts.game import CHANCE, NO_REWARDS, FloatArray, Game, GameSpec, Player, State, after_step, random_action
from moemcts.given import check_final, check_length, check_players, legal_actions, per_player
from moemcts.thoughts import Flight


@dataclass(eq=False, kw_only=True)
class Table:
    """A game in progress: its position and who sits there."""

    state: State
    agents: Sequence[Agent]
    """By player."""
    seats: Sequence[Seat]
    """By player; their randomness is that of the agents."""
    chance: np.random.Generator
    """What dice and cards are drawn from."""
    players: tuple[Player, ...] = field(init=False)
    """Who moves now."""
    is_open: bool = field(default=True, init=False)
    """Whether it is played on; whoever follows the rounds may end a game early by `close`."""

    paid: FloatArray | None = field(default=None, init=False)
    """The sum of all rewards, `[P]`; None in games without."""

    def __post_init__(self) -> None:
        if len(self.agents) != len(self.seats):
            raise ValueError(f"expected an agent for each of {len(self.seats)} players, got {len(self.agents)}")
        self.players = self.state.active_players

    def returns(self) -> FloatArray:
        """Returns what the players have got so far, `[P]`: what steps have paid them, and what is decided."""
        returns = self.state.returns()
        return returns if self.paid is None else returns + self.paid

    def close(self) -> None:
        """Ends the game here: its position stays, and it takes part in no further round."""
        self.is_open = False


T = TypeVar("T", bound=Table)


class Step(NamedTuple, Generic[T]):
    """What was done at one table in one round; `table.state` is the position that it led to."""

    table: T
    state: State
    """The position that was decided in."""
    players: tuple[Player, ...]
    """Who moved in it, perhaps `CHANCE`."""
    decisions: tuple[Decision, ...]
    """By `players`; empty where an agent failed."""
    num_legal: tuple[int, ...]
    """Out of how many actions each was chosen; 1 is a forced move."""
    failures: dict[Player, Failure]
    """Of the agents that have no answer: the table is closed, its position that before."""

    def check(self) -> None:
        """Raises AgentFailure, which names the agent, where one has no answer."""
        if self.failures:
            player = next(iter(self.failures))
            raise AgentFailure({0: self.failures[player]}, [], self.table.agents[player].name)


def seats_of(num_players: int, *seed: int) -> list[Seat]:
    """Returns a game's seats, each with randomness of its own that depends on the seed and the player."""
    return [
        Seat(player, np.random.default_rng(np.random.SeedSequence((*seed, player)))) for player in range(num_players)
    ]


def chance_of(num_players: int, *seed: int) -> np.random.Generator:
    """Returns what draws a game's chance: a stream beside those of its seats."""
    return np.random.default_rng(np.random.SeedSequence((*seed, num_players)))


def play(
    game: Game,
    tables: Iterable[T],
    *,
    max_parallel: int = 256,
    patience: float | None = None,
    in_flight: int = 1,
) -> Iterator[list[Step[T]]]:
    """Yields what happened in each round, one step per table that is played, up to `max_parallel` side by side.

    In a round every agent is asked once, for all views that wait for it, and chance draws at the tables where it
    moves. A table that is over or closed gives its place to the next, which is taken from `tables` no earlier, so
    that what it depends on may be known by then. Tables that are over when they come have no step.

    An agent that raises an error, answers too little or something that is not legal fails where it does, and at no
    other table: it is asked again for one view at a time. `patience` is how many seconds a decision may take.
    Raises UsageError for a `patience` that is not in (0, LONGEST].

    With `in_flight` the tables are in so many groups that share the places and have rounds of their own: while what one
    group asks is evaluated, another goes on. Which group a table is in depends on no clock. Decisions that are limited
    in time are made in one group.
    """
    if patience is not None:
        check_patience(patience)
        check_interruptible()
    if max_parallel < 1:
        raise ValueError(f"expected room for at least one game, got max_parallel={max_parallel}")
    if in_flight < 1:
        raise ValueError(f"expected at least one group of games, got in_flight={in_flight}")
    waiting = iter(tables)
    num_groups = 1 if patience is not None else min(in_flight, max_parallel)
    if num_groups > 1:
        yield from _in_flight(game, waiting, max_parallel, num_groups)
        return
    running: list[T] = []
    while running := _seated(game.spec, running, waiting, max_parallel):
        done = _Round(game, running)
        for batch in done.batches:
            views = game.views(batch.pairs)
            done.take(batch, ask(batch.agent, views, batch.seats, patience=patience, game=game.spec.name))
        yield done.steps()


def _in_flight(game: Game, waiting: Iterator[T], max_parallel: int, num_groups: int) -> Iterator[list[Step[T]]]:
    # Of fewer tables than there are places, each group has its share too.
    first = _seated(game.spec, (), waiting, max_parallel)
    bounds = [len(first) * group // num_groups for group in range(num_groups + 1)]
    ready = deque(_Group[T](first[start:stop], stop - start) for start, stop in itertools.pairwise(bounds))
    with Flight[tuple[_Group[T], _Batch], list[Answer]]() as flight:
        while True:
            while ready:
                group = ready.popleft()
                if group.round is not None:
                    yield group.round.steps()
                group.tables = _seated(game.spec, group.tables, waiting, group.room)
                if not group.tables:
                    continue
                group.round = _Round(game, group.tables)
                for batch in group.round.batches:
                    views = game.views(batch.pairs)
                    thought = thought_of(batch.agent, views, batch.seats)
                    answers = asking(batch.agent, views, batch.seats, thought, game=game.spec.name)
                    flight.start((group, batch), answers)
                if not group.round.batches:
                    ready.append(group)
            if not len(flight):
                return
            (group, batch), answered = flight.land()
            assert group.round is not None
            group.round.take(batch, answered)
            if not group.round.num_missing:
                ready.append(group)


@dataclass(eq=False)
class _Batch:
    """What one agent is asked in one round."""

    agent: Agent
    pairs: list[tuple[State, Player]] = field(default_factory=list)
    seats: list[Seat] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    """Of each answer: the table's number in the round and that of the player among those who move."""


class _Round(Generic[T]):
    """One decision of every player who moves at some tables."""

    def __init__(self, game: Game, tables: Sequence[T]) -> None:
        self._game = game
        self.tables = tables
        self._legal = [[legal_actions(game.spec, table.state, player) for player in table.players] for table in tables]
        self._answers: list[list[Answer]] = []
        batches: dict[int, _Batch] = {}
        for number, table in enumerate(tables):
            given: list[Answer] = [_NOBODY] * len(table.players)
            for place, player in enumerate(table.players):
                if player == CHANCE:
                    given[place] = Decision(action=random_action(table.state, CHANCE, table.chance))
                else:
                    agent = table.agents[player]
                    batch = batches.setdefault(id(agent), _Batch(agent))
                    batch.pairs.append((table.state, player))
                    batch.seats.append(table.seats[player])
                    batch.places.append((number, place))
            self._answers.append(given)
        self.batches = list(batches.values())
        self.num_missing = len(self.batches)

    def take(self, batch: _Batch, answers: Sequence[Answer]) -> None:
        """Takes in the answers to one of `batches`."""
        for (number, place), answer in zip(batch.places, answers, strict=True):
            state, legal = self.tables[number].state, self._legal[number][place]
            self._answers[number][place] = _legal(answer, state, legal)
        self.num_missing -= 1

    def steps(self) -> list[Step[T]]:
        """Does what was decided; raises UnlawfulGame for an end that the game cannot have, and for one that is late."""
        rows = zip(self.tables, self._answers, self._legal, strict=True)
        steps = [_step(self._game.spec, *row) for row in rows]
        for table in self.tables:
            if table.is_open:
                self._check(table)
        return steps

    def _check(self, table: Table) -> None:
        spec, state = self._game.spec, table.state
        check_players(spec, table.players)
        if table.players:
            check_length(spec, state)
        else:
            check_final(spec, state)


@dataclass(eq=False)
class _Group(Generic[T]):
    """Tables that have their rounds together."""

    tables: Sequence[T]
    room: int
    round: _Round[T] | None = None


def _seated(spec: GameSpec, before: Sequence[T], waiting: Iterator[T], room: int) -> list[T]:
    """Returns the tables that are played on, and those that take the places of the others."""
    running = [table for table in before if table.is_open and table.players]
    while len(running) < room and (following := next(waiting, None)) is not None:
        check_players(spec, following.players)
        if following.is_open and following.players:
            running.append(following)
    return running


def paid_by(spec: GameSpec, state: State, before: FloatArray | None = None) -> FloatArray | None:
    """Returns what the step into a position has paid the players, beside what they were paid before, `[P]`.

    None in games without rewards. Raises UnlawfulGame where that is no number per player.
    """
    if getattr(type(state), "rewards", NO_REWARDS) is NO_REWARDS:
        return before
    rewards = per_player(spec, "rewards", state.rewards())
    return rewards if before is None else before + rewards


def _step(spec: GameSpec, table: T, answers: Sequence[Answer], legal: Sequence[Sequence[int]]) -> Step[T]:
    state, players = table.state, table.players
    num_legal = tuple(map(len, legal))
    decisions = tuple(answer for answer in answers if isinstance(answer, Decision))
    if len(decisions) < len(answers):
        table.close()
        failures = {
            player: answer for player, answer in zip(players, answers, strict=True) if isinstance(answer, Failure)
        }
        return Step(table, state, players, (), num_legal, failures)
    table.state = after_step(spec, state, [decision.action for decision in decisions])
    table.players = table.state.active_players
    table.paid = paid_by(spec, table.state, table.paid)
    return Step(table, state, players, decisions, num_legal, {})


def _legal(answer: Answer, state: State, legal: Sequence[int]) -> Answer:
    if isinstance(answer, Decision) and answer.action not in legal:
        return Failure("illegal move", f"action {answer.action} is not legal at ply {state.ply}")
    return answer


_NOBODY = Decision(action=-1)
"""Stands where an answer is awaited."""
